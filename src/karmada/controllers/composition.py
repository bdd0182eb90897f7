"""Puts the controllers of the control plane together, on whatever transport: the embedded process and
`karmada-controller-manager` run the same ones.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.feature_gates import DEFAULTS, FeatureGates
from karmada.controllers.context import Concurrency, Context
from karmada.controllers.detector.backlog import TemplateBacklog
from karmada.controllers.detector.scope import ScopeOptions
from karmada.controllers.interpretation import COMPONENT, interpretation
from karmada.controllers.manager import ControllerManager
from karmada.controllers.metrics import PipelineMetrics
from karmada.controllers.resumption.group import Records
from karmada.controllers.selection import Selection
from karmada.machinery.client import Client
from karmada.machinery.clock import Clock
from karmada.machinery.controller import Controller
from karmada.machinery.events import EventRecorder, Pace
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.options import Options
from karmada.machinery.sharding.campaign import Campaign
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.tracing import OFF, Tracer
from karmada.membership.members import Members


@dataclass(frozen=True, slots=True)
class ControllerOptions:
    """Which controllers run, and how."""

    gates: FeatureGates = DEFAULTS
    selection: Selection = field(default_factory=Selection)
    options: Options = field(default_factory=Options)
    tracer: Tracer = OFF
    records: Records | None = None
    """Where is kept over a restart what it need not look at. Not with shards: nobody knows what other replicas do."""
    backlog: TemplateBacklog | None = None
    """Where the detector counts what waits for it. Not with shards: what another replica works on would stay there."""


@dataclass(slots=True)
class Recorders:
    """One event recorder per component, so that its events are folded together; all write at one pace."""

    client: Client
    supervisor: Supervisor
    clock: Clock
    pace: Pace | None = None
    space: str = ""
    """Where all events are written; empty for the namespace of what each is about."""
    _known: dict[str, EventRecorder] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.pace = self.pace or Pace(self.clock)

    def __call__(self, component: str) -> EventRecorder:
        """The recorder of a component, running."""
        recorder = self._known.get(component)
        if recorder is None:
            recorder = EventRecorder(self.client, component, clock=self.clock, pace=self.pace, space=self.space)
            self._known[component] = recorder
            self.supervisor.start(f"events of {component}", recorder.run)
        return recorder


@asynccontextmanager
async def controllers(
    client: Client,
    informers: InformerFactory,
    supervisor: Supervisor,
    recorders: Recorders,
    members: Members,
    options: ControllerOptions,
    clock: Clock,
    metrics: PipelineMetrics,
    shards: Campaign | None = None,
    beside: Callable[[Supervisor], None] = lambda _: None,
    readable: Members | None = None,
) -> AsyncIterator[list[Controller[Any]]]:
    """Run the controllers on the supervisor, which is stopped at the end; those with queues to look at.

    With `shards` those that can be divided work on this replica's keys, and the others run while it holds the first
    shard. `beside` starts what else cannot be divided. `readable` are the members for controllers that only read;
    `members` if absent.
    """
    recorder = recorders(COMPONENT)
    async with interpretation(informers, supervisor, recorder, options.gates, clock, metrics) as interpreter:
        given = options.options
        clusters = informers.of(Cluster)
        metrics.clusters = lambda: clusters.values() if clusters.has_synced else ()
        scope, concurrency = given.of(ScopeOptions).scope(), given.of(Concurrency)
        context = Context(client, informers, recorders, options.gates, interpreter, clock, scope, concurrency, metrics)
        context = replace(context, tracer=options.tracer, backlog=options.backlog)
        manager = ControllerManager(context, members, options.selection, given, readable, options.records)
        if shards is None:
            started = manager.start(supervisor)
            beside(supervisor)
        else:
            started = manager.start_divided(supervisor, shards.ownership)

            def undivided(own: Supervisor) -> None:
                started.extend(manager.start_undivided(own))
                beside(own)

            supervisor.start("shards", partial(hold_shards, shards, list(started), undivided, clock), restart=False)
        try:
            yield started
        finally:
            if manager.resumption is not None:
                await manager.resumption.save()
            # Who asks the interpreter ends before it does: otherwise kinds would lose their customisations at the end.
            await supervisor.stop()


async def hold_shards(
    shards: Campaign, divided: list[Controller[Any]], start: Callable[[Supervisor], object], clock: Clock
) -> None:
    """Take shards once their keys are known; `start` starts what cannot be divided."""
    for controller in divided:
        await controller.synced()

    async def lead() -> None:
        async with Supervisor(clock) as undivided:
            start(undivided)
            await undivided.wait()

    await shards.run(lead)
