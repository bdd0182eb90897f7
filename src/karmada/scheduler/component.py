"""What the scheduler, the descheduler and the estimator have in common as programs: flags, connection, side doors,
leader election.
"""

import asyncio
import os
import socket
from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from karmada.api import duration, feature_gates
from karmada.machinery import logging as logs
from karmada.machinery.client import Client
from karmada.machinery.http.kubeconfig import KubeconfigError, find_target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.leader import LeaderElector, Timing
from karmada.machinery.process import run
from karmada.machinery.serving import SideDoor
from karmada.machinery.supervisor import Supervisor

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


@dataclass(slots=True)
class Process:
    """What a component's main function is given."""

    client: Client
    supervisor: Supervisor
    door: SideDoor
    registry: "CollectorRegistry"


Body = Callable[[Process], Awaitable[None]]
"""Runs the component until it is cancelled."""


def seconds(text: str) -> float:
    """A flag's duration such as 3s."""
    return duration.seconds(text)


def gates(text: str) -> feature_gates.FeatureGates:
    """A flag's feature gates."""
    return feature_gates.parse(text)


def truth(text: str) -> bool:
    """A flag's boolean, as Go programs take it."""
    words = {"1": True, "t": True, "true": True, "0": False, "f": False, "false": False}
    if text.lower() not in words:
        raise ValueError(text)
    return words[text.lower()]


def add_truth(parser: ArgumentParser, flag: str, default: bool, help: str) -> None:
    """A boolean flag that stands alone or has a value."""
    parser.add_argument(flag, type=truth, nargs="?", const=True, default=default, help=help)


def common_flags(program: str, health: str, about: str) -> ArgumentParser:
    """A parser with the flags all components share."""
    parser = ArgumentParser(program, description=about, allow_abbrev=False)
    add = parser.add_argument
    add("--kubeconfig", default="", help="File that says how to reach the API server; the pod's own account if absent.")
    add("--health-probe-bind-address", default=health, help="Address of /healthz and /readyz; 0 for none.")
    add("--metrics-bind-address", default=":8080", help="Address of /metrics; 0 for none.")
    add("--bind-address", default="", help="Host of the health address, as older manifests give it.")
    add("--secure-port", default="", help="Port of the health address, as older manifests give it.")
    add("--feature-gates", type=gates, default=feature_gates.DEFAULTS, help="Pairs such as Failover=true.")
    add("--kube-api-qps", type=float, default=40.0, help="Accepted; the server's own fairness limits requests.")
    add("--kube-api-burst", type=int, default=60, help="Accepted; see --kube-api-qps.")
    add("--rate-limiter-base-delay", type=seconds, default=0.005, help="Accepted; retries pause by themselves.")
    add("--rate-limiter-max-delay", type=seconds, default=1000.0, help="Accepted; see --rate-limiter-base-delay.")
    add("--rate-limiter-qps", type=int, default=10, help="Accepted; see --rate-limiter-base-delay.")
    add("--rate-limiter-bucket-size", type=int, default=100, help="Accepted; see --rate-limiter-base-delay.")
    add("--v", "-v", dest="verbosity", type=int, default=0, help="How much to log.")
    add("--logging-format", choices=[form.value for form in logs.Format], default="text", help="Form of log lines.")
    add_truth(parser, "--enable-pprof", False, "Accepted; profiles are at /debug/profile.")
    add("--profiling-bind-address", default=":6060", help="Accepted; see --enable-pprof.")
    return parser


def add_leader_flags(parser: ArgumentParser, name: str) -> None:
    """The flags of leader election."""
    add_truth(parser, "--leader-elect", True, "Let one of several replicas work at a time.")
    add = parser.add_argument
    add("--leader-elect-resource-namespace", default="karmada-system", help="Namespace of the lease.")
    add("--leader-elect-resource-name", default=name, help="Name of the lease.")
    add("--leader-elect-lease-duration", type=seconds, default=15.0, help="How long a lease lasts.")
    add("--leader-elect-renew-deadline", type=seconds, default=10.0, help="How long a leader may go without renewing.")
    add("--leader-elect-retry-period", type=seconds, default=2.0, help="How often candidates try.")


def run_component(flags: Namespace, agent: str, body: Body) -> int:
    """Run a component as a program; its exit code."""
    logs.setup(flags.verbosity, logs.Format(flags.logging_format))
    try:
        target = find_target(flags.kubeconfig)
    except KubeconfigError as error:
        raise SystemExit(f"error: {error}") from error

    async def main() -> None:
        from prometheus_client import CollectorRegistry

        transport = HttpTransport(target, agent=agent)
        registry = CollectorRegistry()
        door = SideDoor(registry=registry)
        try:
            async with Supervisor() as supervisor:
                for host, port in _addresses(flags):
                    # One door per address; they share what they show.
                    await replace(door).listen(host, port)
                await _lead(flags, transport, supervisor, Process(Client(transport), supervisor, door, registry), body)
        finally:
            await transport.close()

    return run(main)


async def _lead(
    flags: Namespace, transport: HttpTransport, supervisor: Supervisor, process: Process, body: Body
) -> None:
    async def work() -> None:
        ended = asyncio.ensure_future(body(process))
        failed = asyncio.ensure_future(supervisor.wait())
        try:
            done, _ = await asyncio.wait({ended, failed}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            ended.cancel()
            failed.cancel()
            await asyncio.gather(ended, failed, return_exceptions=True)

    if not getattr(flags, "leader_elect", False):
        await work()
        return
    timing = Timing(
        flags.leader_elect_lease_duration, flags.leader_elect_renew_deadline, flags.leader_elect_retry_period
    )
    elector = LeaderElector(
        process.client,
        flags.leader_elect_resource_name,
        flags.leader_elect_resource_namespace,
        f"{socket.gethostname()}_{os.getpid()}",
        timing=timing,
    )
    process.client = Client(elector.fenced(transport), field_manager=process.client.field_manager)
    process.door.readiness["leader"] = lambda: elector.leads
    await elector.run(work)


def _addresses(flags: Namespace) -> list[tuple[str, int]]:
    """Where the side doors are, each once."""
    health: str = flags.health_probe_bind_address
    if flags.bind_address or flags.secure_port:
        host, _, port = health.rpartition(":")
        health = f"{flags.bind_address or host}:{flags.secure_port or port}"
    found: Mapping[str, None] = dict.fromkeys([health, flags.metrics_bind_address])
    return [address(text) for text in found if text not in ("", "0")]


def address(text: str) -> tuple[str, int]:
    """Host and port of `host:port` or `:port`."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal():
        raise SystemExit(f"error: {text!r} is no address: write host:port or :port")
    return host.strip("[]") or "0.0.0.0", int(port)
