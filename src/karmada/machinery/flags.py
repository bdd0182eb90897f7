"""Command lines of components, spelled as Karmada's: `--flag=value`, Go durations, booleans that may stand alone.

A flag nobody knows ends the program with status 2 and the nearest flag there is. Words may be joined by `_` as well as
`-`. Flags that only exist so that existing manifests keep starting are declared with `add_accepted`: they have no
effect, and their help says so.
"""

import difflib
import re
import sys
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from karmada.api import duration, feature_gates
from karmada.api.version import VERSION
from karmada.machinery.logging import Format
from karmada.machinery.sharding.balance import MOST

LOGGING_OF_OLD = (
    "add-dir-header",
    "alsologtostderr",
    "log-backtrace-at",
    "log-dir",
    "log-file",
    "log-file-max-size",
    "log-flush-frequency",
    "log-json-info-buffer-size",
    "log-json-split-stream",
    "log-text-info-buffer-size",
    "log-text-split-stream",
    "logtostderr",
    "one-output",
    "skip-headers",
    "skip-log-headers",
    "stderrthreshold",
    "vmodule",
)
"""Flags of klog: logs go to the standard error stream, whatever they say."""

T = TypeVar("T")
LAST_PORT = 65535
_TRUTHS = {"1": True, "t": True, "true": True, "0": False, "f": False, "false": False}


class FlagParser(ArgumentParser):
    """A parser whose complaints help."""

    def __init__(self, program: str, about: str) -> None:
        super().__init__(program, usage=f"{program} [flags]", description=about, allow_abbrev=False)
        self.add_argument("--version", action="version", version=f"{program} {VERSION}", help="Print the version.")
        self.further: Sequence[str] = ()
        """Flags of who passes on what is none of its own: one of those may be meant as well."""

    def parse(self, argv: Sequence[str] | None = None) -> Namespace:
        """The flags of a command line, or the end of the program."""
        given = sys.argv[1:] if argv is None else argv
        flags, unknown = self.parse_known_args([_dashed(argument) for argument in given])
        if unknown:
            self.error(self._unknown(unknown[0]))
        return flags

    def _unknown(self, argument: str) -> str:
        if not argument.startswith("-"):
            return f"unexpected argument {argument!r}: {self.prog} takes flags only"
        name = argument.partition("=")[0]
        near = difflib.get_close_matches(name, [*self.further, *self._option_string_actions], n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; {self.prog} --help lists all flags"
        return f"unknown flag: {name}{hint}"


def add_truth(parser: ArgumentParser, flag: str, default: bool, help: str) -> None:
    """A boolean flag that stands alone or has a value."""
    parser.add_argument(flag, type=truth, nargs="?", const=True, default=default, metavar="BOOL", help=help)


def add_accepted(parser: ArgumentParser, names: Sequence[str]) -> None:
    """Flags without effect, left out of the help."""
    for name in names:
        parser.add_argument(f"--{name}", nargs="?", action="append", help=SUPPRESS)


def add_common(parser: ArgumentParser, health: str) -> None:
    """The flags that all components share; `health` is where the health of this one is by default."""
    add = parser.add_argument
    add("--kubeconfig", default="", help="File that says how to reach the API server; the pod's own account if absent.")
    add("--context", default="", help="Context of the kubeconfig; the current one if absent.")
    add("--master", default="", help="Address of the API server, in place of the kubeconfig's.")
    add("--health-probe-bind-address", default=health, help="Address of /healthz and /readyz; 0 for none.")
    add("--metrics-bind-address", default=":8080", help="Address of /metrics; 0 for none.")
    add("--bind-address", default="", help="Host of the health address, as older manifests give it.")
    add("--secure-port", default="", help="Port of the health address, as older manifests give it.")
    add(
        "--feature-gates",
        type=checked(feature_gates.parse),
        default=feature_gates.DEFAULTS,
        help=feature_gates.choices(),
    )
    add("--kube-api-qps", type=float, default=40.0, help="Accepted; the server's own fairness limits requests.")
    add("--kube-api-burst", type=int, default=60, help="Accepted; see --kube-api-qps.")
    add("--rate-limiter-base-delay", type=seconds, default=0.005, help="Accepted; retries pause by themselves.")
    add("--rate-limiter-max-delay", type=seconds, default=1000.0, help="Accepted; see --rate-limiter-base-delay.")
    add("--rate-limiter-qps", type=int, default=10, help="Accepted; see --rate-limiter-base-delay.")
    add("--rate-limiter-bucket-size", type=int, default=100, help="Accepted; see --rate-limiter-base-delay.")
    add("--v", "-v", dest="verbosity", type=int, default=0, help="How much to log.")
    add("--logging-format", choices=[form.value for form in Format], default="text", help="Form of log lines.")
    add_tracing(parser)
    add_truth(parser, "--enable-pprof", False, "Accepted; profiles are at /debug/profile.")
    add("--profiling-bind-address", default=":6060", help="Accepted; see --enable-pprof.")
    add_accepted(parser, LOGGING_OF_OLD)


def add_tracing(parser: ArgumentParser) -> None:
    """Where traces go."""
    text = "OTLP/HTTP collector of traces, such as http://127.0.0.1:4318; none by default."
    parser.add_argument("--tracing-endpoint", type=checked(collector), metavar="URL", help=text)


def collector(text: str) -> str:
    """A collector's address; raises ValueError."""
    if not re.fullmatch(r"https?://[^/\s]+(?:/\S*)?", text):
        raise ValueError(f"{text!r} is no address of a collector: write it as http://127.0.0.1:4318")
    return text


def add_leader(parser: ArgumentParser, name: str) -> None:
    """The flags of leader election; `name` is that of the lease."""
    add_truth(parser, "--leader-elect", True, "Let one of several replicas work at a time.")
    add = parser.add_argument
    add("--leader-elect-resource-namespace", default="karmada-system", help="Namespace of the lease.")
    add("--leader-elect-resource-name", default=name, help="Name of the lease.")
    add("--leader-elect-lease-duration", type=seconds, default=15.0, help="How long a lease lasts.")
    add("--leader-elect-renew-deadline", type=seconds, default=10.0, help="How long a leader may go without renewing.")
    add("--leader-elect-retry-period", type=seconds, default=2.0, help="How often candidates try.")
    add_accepted(parser, ("leader-elect-resource-lock",))


def add_shards(parser: ArgumentParser) -> None:
    """The flag of components whose replicas can share the work."""
    text = f"Parts into which replicas divide the work, 1 to {MOST}; with 1 one replica works at a time."
    parser.add_argument("--shards", type=_shards, default=1, help=text)


def _shards(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST:
        raise ArgumentTypeError(f"{text!r} is no number of shards: write one from 1 to {MOST}")
    return int(text)


def seconds(text: str) -> float:
    """A duration such as 3s."""
    try:
        return duration.seconds(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{error}; write a number with a unit, such as 10s or 1m30s") from error


def directory(text: str) -> Path:
    """A directory; an empty word, of a variable that is not set, would be the present one."""
    if not text:
        raise ArgumentTypeError("the name of the directory is empty: write one, or leave the flag out")
    return Path(text)


def port(text: str) -> int:
    """A port to serve on; 0 is any free one."""
    if not text.isdecimal() or int(text) > LAST_PORT:
        raise ArgumentTypeError(f"{text!r} is no port: write a number from 0 (any free one) to {LAST_PORT}")
    return int(text)


def truth(text: str) -> bool:
    """A boolean, as Go programs take it."""
    if text.lower() not in _TRUTHS:
        raise ArgumentTypeError(f"{text!r} is neither true nor false")
    return _TRUTHS[text.lower()]


def items(text: str) -> tuple[str, ...]:
    """A list separated by commas."""
    return tuple(item.strip() for item in text.split(",") if item.strip())


def checked(function: Callable[[str], T]) -> Callable[[str], T]:
    """A type of flags from a function whose `ValueError` says what is wrong."""

    def convert(text: str) -> T:
        try:
            return function(text)
        except ValueError as error:
            raise ArgumentTypeError(str(error)) from error

    return convert


def address(text: str) -> tuple[str, int]:
    """Host and port of `host:port` or `:port`."""
    host, colon, number = text.rpartition(":")
    if not colon or not number.isdecimal() or int(number) > LAST_PORT:
        raise SystemExit(f"error: {text!r} is no address: write host:port or :port, ports go up to {LAST_PORT}")
    return host.strip("[]") or "0.0.0.0", int(number)


def _dashed(argument: str) -> str:
    if not argument.startswith("--"):
        return argument
    name, equals, value = argument.partition("=")
    return name.replace("_", "-") + equals + value
