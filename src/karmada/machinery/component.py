"""Runs a component as a program: connection, diagnostics servers, leader election, an orderly end.

    def main(argv=None):
        flags = parser().parse(argv)
        return run_component(flags, "karmada-scheduler", body)

`body` runs while this process leads (or always, without leader election) and is given a `Process`. What it starts on
the supervisor has ended before the lease is given up, and its client writes only while the lease is safely held.
With several shards it runs in every replica, and its client writes only for keys of shards that are safely held.
Those who wait for the lease are healthy and ready: they can take over, and an update of a Deployment need not wait for
them to lead.
"""

import asyncio
import logging
import os
import socket
from argparse import Namespace
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from karmada.machinery import logging as logs
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL
from karmada.machinery.delegation import DelegatedAuthorizer
from karmada.machinery.flags import FlagParser, add_common, address
from karmada.machinery.http.kubeconfig import KubeconfigError, find_target
from karmada.machinery.http.target import Target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.leader import LEASES, LeaderElector, Timing
from karmada.machinery.process import run, serving
from karmada.machinery.serving import DiagnosticsServer
from karmada.machinery.sharding.campaign import Campaign
from karmada.machinery.sharding.layout import OtherLayouts
from karmada.machinery.sharding.ownership import Ownership, ShardedTransport
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.tracing import OFF, Spans, Tracer, spans_to
from karmada.machinery.transport import Transport

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Process:
    """What a component's main function is given."""

    client: Client
    supervisor: Supervisor
    diagnostics: DiagnosticsServer
    registry: "CollectorRegistry"
    fence: Callable[[Transport], Transport]
    """Makes a transport to another server write only while this process leads."""
    ports: Sequence[int] = ()
    """Where health and metrics are served."""
    tracer: Tracer = OFF
    shards: Campaign | None = None
    """Divides the work between replicas; None when one replica works at a time."""


Body = Callable[[Process], Awaitable[None]]
"""Runs the component until it is cancelled."""


class _Beside(NamedTuple):
    """What a process has beside its work."""

    ports: Sequence[int]
    spans: Spans | None
    program: str

    def trace(self, supervisor: Supervisor) -> Tracer:
        if self.spans is None:
            return OFF
        supervisor.start("spans", self.spans.run)
        return self.spans.tracer(self.program)


def component_flags(program: str, health: str, about: str) -> FlagParser:
    """A parser with the flags all components share."""
    parser = FlagParser(program, about)
    add_common(parser, health)
    return parser


def run_component(flags: Namespace, program: str, body: Body, *, undivided: int = 0) -> int:
    """Run a component as a program; its exit code. `undivided`: shards (the first ones) that have no keys."""
    logs.setup(flags.verbosity, logs.Format(flags.logging_format))
    target = target_of(flags)
    addresses = _addresses(flags)
    if getattr(flags, "leader_elect", False):
        _check_timing(flags)
    elif getattr(flags, "shards", 1) > 1:
        raise SystemExit("error: --shards needs --leader-elect: replicas share the work by leases")
    return run(lambda: _run(flags, program, target, addresses, body, undivided))


async def _run(
    flags: Namespace, program: str, target: Target, addresses: list[tuple[str, int]], body: Body, undivided: int
) -> None:
    from prometheus_client import CollectorRegistry, ProcessCollector

    async with AsyncExitStack() as stack:
        transport = HttpTransport(target, agent=program)
        stack.push_async_callback(transport.close)
        client = Client(transport, field_manager=program)
        registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        ports: list[int] = []
        diagnostics = DiagnosticsServer(registry=registry, authorize=DelegatedAuthorizer(client))
        for host, port in addresses:
            # One diagnostics per address; they share what they show.
            opened = replace(diagnostics)
            with serving(host, port, "--health-probe-bind-address or --metrics-bind-address"):
                bound = await opened.listen(host, port)
            log.info("health and metrics at http://%s:%d", host, bound)
            ports.append(bound)
            stack.push_async_callback(opened.close)
        spans = spans_to(flags.tracing_endpoint, program) if flags.tracing_endpoint else None
        if spans is not None:
            stack.push_async_callback(spans.close)
        beside = _Beside(ports, spans, program)
        if not getattr(flags, "leader_elect", False):
            await _work(client, diagnostics, registry, lambda other: other, body, beside)
            return
        if getattr(flags, "shards", 1) > 1:
            campaign = _campaign(flags, client, undivided)
            divided = Client(ShardedTransport(transport), field_manager=program)
            await _work(divided, diagnostics, registry, ShardedTransport, body, beside, campaign)
            return
        elector = _elector(flags, client)
        fenced = Client(elector.fenced(transport), field_manager=program)

        async def lead() -> None:
            if elector.shards_before > 1:
                await _other_layouts(flags, client).gone()
            await _work(fenced, diagnostics, registry, elector.fenced, body, beside)

        await elector.run(lead)


async def _work(
    client: Client,
    diagnostics: DiagnosticsServer,
    registry: "CollectorRegistry",
    fence: Callable[[Transport], Transport],
    body: Body,
    beside: _Beside,
    shards: Campaign | None = None,
) -> None:
    """Run the body until it ends or something that must not fail does."""
    async with Supervisor() as supervisor:
        tracer = beside.trace(supervisor)
        process = Process(client, supervisor, diagnostics, registry, fence, beside.ports, tracer, shards)
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


def _elector(flags: Namespace, client: Client) -> LeaderElector:
    return LeaderElector(
        client,
        flags.leader_elect_resource_name,
        flags.leader_elect_resource_namespace,
        _identity(),
        timing=_timing(flags),
    )


def _campaign(flags: Namespace, client: Client, undivided: int) -> Campaign:
    return Campaign(
        client,
        flags.leader_elect_resource_name,
        flags.leader_elect_resource_namespace,
        _identity(),
        Ownership(flags.shards, undivided),
        timing=_timing(flags),
    )


def _other_layouts(flags: Namespace, client: Client) -> OtherLayouts:
    name, namespace = flags.leader_elect_resource_name, flags.leader_elect_resource_namespace
    return OtherLayouts(client.resource(LEASES), name, namespace, 1, _timing(flags), REAL)


def _identity() -> str:
    return f"{socket.gethostname()}_{os.getpid()}_{os.urandom(4).hex()}"


def _timing(flags: Namespace) -> Timing:
    return Timing(flags.leader_elect_lease_duration, flags.leader_elect_renew_deadline, flags.leader_elect_retry_period)


def _check_timing(flags: Namespace) -> None:
    lease, deadline, retry = (
        flags.leader_elect_lease_duration,
        flags.leader_elect_renew_deadline,
        flags.leader_elect_retry_period,
    )
    if not lease > deadline > retry > 0 or lease < 1:
        raise SystemExit(
            "error: leader election needs --leader-elect-lease-duration (at least 1s) > --leader-elect-renew-deadline"
            f" > --leader-elect-retry-period > 0, but they are {lease:g}s, {deadline:g}s and {retry:g}s"
        )


def target_of(flags: Namespace) -> Target:
    """Where the API server is that the flags name; ends the program when they name none."""
    try:
        target = find_target(flags.kubeconfig, flags.context)
    except KubeconfigError as error:
        raise SystemExit(f"error: {error}") from error
    return target._replace(server=flags.master.rstrip("/")) if flags.master else target


def _addresses(flags: Namespace) -> list[tuple[str, int]]:
    """Where the diagnostics servers are, each once."""
    health: str = flags.health_probe_bind_address
    if flags.bind_address or flags.secure_port:
        host, _, port = health.rpartition(":")
        health = f"{flags.bind_address or host}:{flags.secure_port or port}"
    found = dict.fromkeys([health, flags.metrics_bind_address])
    return [address(text) for text in found if text not in ("", "0")]
