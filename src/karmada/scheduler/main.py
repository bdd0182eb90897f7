"""karmada-scheduler as a program."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from karmada.machinery.component import Process, component_flags, run_component
from karmada.machinery.events import EventRecorder
from karmada.machinery.extras import require
from karmada.machinery.flags import FlagParser, add_leader, add_shards, add_truth, seconds
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.sharding.campaign import Campaign
from karmada.scheduler.core.request import Settings
from karmada.scheduler.decisions_route import PREFIX, by_review, decisions_route
from karmada.scheduler.estimators.accurate import GrpcEstimator
from karmada.scheduler.estimators.connections import Connections, EstimatorAddress
from karmada.scheduler.plugins.given_score import LabelScore, resource_score
from karmada.scheduler.plugins.registry import choose, installed
from karmada.scheduler.service import DEFAULT_NAME, Scheduler, SchedulerOptions

UNDIVIDED = ("WorkloadAffinity", "SchedulingOvercommitProtection")
WHY = "decisions count what other decisions placed before it is written, which one scheduler has to know"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the scheduler; its exit code."""
    flags = parser().parse(argv)
    options = options_of(flags)
    if flags.shards > 1 and (gates := [gate for gate in UNDIVIDED if flags.feature_gates.enabled(gate)]):
        raise SystemExit(f"error: --shards {flags.shards} cannot be combined with the feature gate {gates[0]}: {WHY}")
    if flags.enable_scheduler_estimator:
        require("--enable-scheduler-estimator", "grpc")

    async def body(process: Process) -> None:
        informers = InformerFactory(process.client, process.supervisor)
        recorder = EventRecorder(process.client, options.name)
        process.supervisor.start("events", recorder.run)
        estimator = None
        if flags.enable_scheduler_estimator:
            estimator = GrpcEstimator(connections_of(flags), flags.disable_scheduler_estimator_in_pull_mode)
        for given in flags.score_resource:
            informers.resource(given.type).add_handler(given.changed)
        chosen = replace(options, tracer=process.tracer)
        scheduler = Scheduler(process.client, informers, recorder, chosen, estimator=estimator)
        process.registry.register(scheduler.metrics)
        process.diagnostics.routes[PREFIX] = decisions_route(scheduler.decisions, by_review(process.client))
        if process.shards is not None:
            scheduler.divide(process.shards.ownership)
            process.supervisor.start("shards", partial(hold_shards, process.shards, scheduler), restart=False)
        await scheduler.run()

    return run_component(flags, "karmada-scheduler", body)


async def hold_shards(shards: Campaign, scheduler: Scheduler) -> None:
    """Take shards once the bindings are known; nothing is left undivided."""
    await scheduler.synced()
    await shards.run(_nothing)


async def _nothing() -> None:
    """What the holder of the first shard does beside its keys."""


def parser() -> FlagParser:
    """The flags of the scheduler."""
    made = component_flags("karmada-scheduler", ":10351", "Decides where resources go and how many replicas run where.")
    add_leader(made, "karmada-scheduler")
    add_shards(made)
    add = made.add_argument
    add("--scheduler-name", default=DEFAULT_NAME, help="Bindings that name this scheduler (or none) are its own.")
    add("--plugins", default="*", help="Comma-separated: * for all, Name for one, -Name for all but one.")
    add("--score-label", type=LabelScore, action="append", default=[], help="Label of clusters that is a score.")
    add(
        "--score-resource",
        type=resource_score,
        action="append",
        default=[],
        help="group/version/plural=path of a field that is the score of the cluster of the object's name.",
    )
    add_truth(made, "--enable-empty-workload-propagation", False, "Also send resources to clusters without replicas.")
    add_estimator_flags(made)
    add_truth(made, "--enable-scheduler-estimator", False, "Ask the estimators of member clusters.")
    add_truth(made, "--disable-scheduler-estimator-in-pull-mode", False, "Do not ask those of pull-mode clusters.")
    return made


def add_estimator_flags(made: ArgumentParser) -> None:
    """How estimators are reached."""
    add = made.add_argument
    add("--scheduler-estimator-timeout", type=seconds, default=3.0, help="How long to wait for all estimators.")
    add("--scheduler-estimator-service-namespace", default="karmada-system", help="Namespace of their Services.")
    add("--scheduler-estimator-service-prefix", default="karmada-scheduler-estimator", help="Prefix of their names.")
    add("--scheduler-estimator-port", type=int, default=10352, help="Port of their Services.")
    add("--scheduler-estimator-ca-file", default="", help="Authority that signed their certificates.")
    add("--scheduler-estimator-cert-file", default="", help="Certificate to show them.")
    add("--scheduler-estimator-key-file", default="", help="Key of that certificate.")
    add_truth(made, "--insecure-skip-estimator-verify", False, "Do not check their certificates.")


def connections_of(flags: Namespace) -> Connections:
    """The connections to estimators that the flags describe."""
    address = EstimatorAddress(
        flags.scheduler_estimator_service_prefix,
        flags.scheduler_estimator_service_namespace,
        flags.scheduler_estimator_port,
        flags.scheduler_estimator_ca_file,
        flags.scheduler_estimator_cert_file,
        flags.scheduler_estimator_key_file,
        flags.insecure_skip_estimator_verify,
    )
    return Connections(address, flags.scheduler_estimator_timeout)


def options_of(flags: Namespace) -> SchedulerOptions:
    """What the flags ask for."""
    return SchedulerOptions(
        flags.scheduler_name,
        Settings(flags.feature_gates, flags.enable_empty_workload_propagation),
        choose(flags.plugins, [*installed(), *flags.score_label, *flags.score_resource]),
    )
