"""The flags of `karmada-controller-manager`, and what they ask for."""

from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterator
from typing import Any

from karmada.controllers.composition import ControllerOptions
from karmada.controllers.context import Concurrency
from karmada.controllers.detector.scope import ScopeOptions
from karmada.controllers.registry import CONTROLLERS
from karmada.controllers.selection import Selection, parse_selection
from karmada.machinery.component import component_flags
from karmada.machinery.flags import FlagParser, add_accepted, add_leader, add_shards, add_truth, checked
from karmada.machinery.options import Options, add_options, given_flags, read_options

PROGRAM = "karmada-controller-manager"
NAMES = tuple(registered.name for registered in CONTROLLERS if registered.optional)
"""The names that `--controllers` accepts."""
ACCEPTED = (
    "cluster-api-burst",
    "cluster-api-qps",
    "cluster-cache-sync-timeout",
    "cluster-lease-duration",
    "cluster-lease-renew-interval-fraction",
    "enable-taint-manager",
    "failover-eviction-timeout",
    "horizontal-pod-autoscaler-downscale-delay",
    "horizontal-pod-autoscaler-upscale-delay",
    "resync-period",
)
"""Flags of other versions, without effect: manifests that give them keep starting."""


IDLE_GATES = frozenset({"ContextualLogging", "ControllerPriorityQueue", "LoggingAlphaOptions", "LoggingBetaOptions"})
"""Feature gates that are known and change nothing here."""


def parser() -> FlagParser:
    """All flags of the program."""
    made = component_flags(PROGRAM, ":10357", "Runs the controllers of the control plane.")
    add_leader(made, PROGRAM)
    add_shards(made)
    add_controller_flags(made)
    add = made.add_argument
    add("--cluster-api-kubeconfig", default="", help="Where Cluster API runs: its clusters join by themselves.")
    add("--cluster-api-context", default="", help="Context of that kubeconfig.")
    text = "Print what lets it read a member by the tunnel of its agent, to be applied there, and end."
    add_truth(made, "--print-member-rights", False, text)
    add_accepted(made, ACCEPTED)
    return made


def add_controller_flags(parser: ArgumentParser) -> None:
    """The flags of the controllers themselves: which run, and the options of each."""
    parser.add_argument(
        "--controllers",
        type=checked(lambda text: parse_selection(text, NAMES)),
        default=Selection(),
        help="Comma-separated: * for all, name for one, -name for not. Names: " + ", ".join(NAMES),
    )
    for kind in _kinds():
        add_options(parser, kind)


def options_of(flags: Namespace) -> ControllerOptions:
    """What the flags ask for."""
    given = Options(*(read_options(kind, flags) for kind in _kinds()))
    return ControllerOptions(flags.feature_gates, flags.controllers, given)


def without_effect(flags: Namespace, running: Collection[str]) -> list[str]:
    """What was asked for and does not happen, as sentences for the log."""
    messages = [
        f"the feature gate {name} has no effect in this version"
        for name, on in flags.feature_gates.overrides.items()
        if on and name in IDLE_GATES
    ]
    for registered in CONTROLLERS:
        if registered.name not in running:
            given = (name for kind in registered.options for name in given_flags(kind, flags))
            messages.extend(f"{name} has no effect: {registered.name} does not run" for name in given)
    return messages


def _kinds() -> Iterator[type[Any]]:
    yield ScopeOptions
    yield Concurrency
    for registered in CONTROLLERS:
        yield from registered.options
