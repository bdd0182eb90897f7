"""The descheduling loop, and the loop of ReplicaSchedulingPolicies.

Every interval each considered binding is looked at on its own: an estimator that does not answer, or a write that
fails, concerns that binding only, and the next interval looks again.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec

from karmada.api import duration, events
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import DecodeError
from karmada.api.config.v1alpha1 import ReplicaSchedulingPolicy, RescheduledWorkload
from karmada.api.meta import Condition, set_condition
from karmada.api.work.v1alpha2 import ResourceBinding, TargetCluster
from karmada.descheduler.overload import Move, is_movable, moves
from karmada.descheduler.rules import UNKNOWN, Given, Outcome, descheduled, is_considered, undesired
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock, rfc3339
from karmada.machinery.committer import Committer, Written
from karmada.machinery.errors import ApiError
from karmada.machinery.events import EventRecorder, ObjectReference
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.throttle import ThrottledLog
from karmada.scheduler.estimators.messages import UnschedulableRequest

log = logging.getLogger(__name__)

COMPONENT = "karmada-descheduler"
AT_ONCE = 8
"""Bindings looked at at the same time."""
READ_AT_ONCE = 50
"""Bindings that are read before others may run."""
REMEMBERED = 20
"""Moves shown in the status of a policy."""
LOOK = 1.0
"""How often policies are checked for being due."""
DEFAULT_INTERVAL = 60.0
SHORTEST_INTERVAL = 1.0

AskUnschedulable = Callable[[UnschedulableRequest], Awaitable[int]]
"""How many replicas wait for a node; -1 when unknown."""


@dataclass(frozen=True, slots=True)
class DeschedulerOptions:
    """What the operator chose."""

    interval: float = 120.0
    threshold: float = 300.0


class Descheduler:
    """The descheduling loop, and the loop of ReplicaSchedulingPolicies."""

    def __init__(
        self,
        client: Client,
        informers: InformerFactory,
        recorder: EventRecorder,
        ask: AskUnschedulable,
        options: DeschedulerOptions | None = None,
        clock: Clock = REAL,
    ) -> None:
        self._options = options or DeschedulerOptions()
        self._clock = clock
        self._recorder = recorder
        self._ask = ask
        self._bindings = informers.of(ResourceBinding)
        self._clusters = informers.of(Cluster)
        self._policies = informers.of(ReplicaSchedulingPolicy)
        self._commit: Committer[ResourceBinding] = Committer(client.of(ResourceBinding))
        self._commit_policy: Committer[ReplicaSchedulingPolicy] = Committer(client.of(ReplicaSchedulingPolicy))
        self._log = ThrottledLog(log, clock.monotonic)
        self._looked: dict[str, float] = {}

    def start(self, supervisor: Supervisor) -> None:
        """Run in the background."""
        supervisor.start("descheduler", self.run)
        supervisor.start("replica scheduling policies", self.run_policies)

    async def run(self) -> None:
        """Deschedule until cancelled."""
        await self._bindings.synced()
        while True:
            await self.round()
            await self._clock.sleep(self._options.interval)

    async def round(self) -> None:
        """Look at every binding once."""
        limit = asyncio.Semaphore(AT_ONCE)

        async def look(binding: ResourceBinding) -> None:
            async with limit:
                try:
                    await self._look(binding)
                except ApiError as error:
                    log.warning("descheduling %s failed: %s", binding.metadata.name, error)

        await asyncio.gather(*(look(binding) for binding in await self._chosen(is_considered)))

    async def _chosen(self, is_chosen: Callable[[ResourceBinding], bool]) -> list[ResourceBinding]:
        """The bindings worth a look; with ten thousand of them, reading all at once would hold up everybody else. One
        that cannot be read keeps nobody from looking at the others."""
        found = []
        for number, item in enumerate(self._bindings.all_items(), 1):
            if not number % READ_AT_ONCE:
                await asyncio.sleep(0)
            try:
                if is_chosen(item.value):
                    found.append(item.value)
            except DecodeError as error:
                self._log.warning(item.key, "%s cannot be read and is not descheduled: %s", item.key, error)
        return found

    async def _look(self, binding: ResourceBinding) -> None:
        suspects = undesired(binding)
        if not suspects:
            return
        names = list(suspects)
        counts = await asyncio.gather(*(self._waiting(binding, name) for name in names))
        waiting = {name: count for name, count in zip(names, counts, strict=True) if count > 0}
        if not waiting:
            return
        made: list[Outcome] = []

        def wanted(current: ResourceBinding) -> ResourceBinding:
            outcome = descheduled(current, waiting)
            made.append(outcome)
            return _assigned(current, outcome.clusters) if outcome.given else current

        await self._write(binding, wanted, lambda: made[-1].message)

    async def _waiting(self, binding: ResourceBinding, cluster: str) -> int:
        threshold = int(self._options.threshold * 1e9)
        try:
            return await self._ask(UnschedulableRequest(cluster, binding.spec.resource, threshold))
        except Exception:
            log.exception("the estimator of %s failed", cluster)
            return UNKNOWN

    async def _write(
        self, binding: ResourceBinding, wanted: Callable[[ResourceBinding], ResourceBinding], message: Callable[[], str]
    ) -> bool:
        """Write an assignment and record an event; whether it was written."""
        try:
            outcome = await self._commit.commit(binding, wanted)
        except ApiError as error:
            self._record(binding, events.WARNING, events.DESCHEDULE_BINDING.failed, str(error))
            raise
        if not isinstance(outcome, Written):
            return False
        self._record(binding, events.NORMAL, events.DESCHEDULE_BINDING.succeeded, message())
        return True

    def _record(self, binding: ResourceBinding, kind: str, reason: str, message: str) -> None:
        resource = binding.spec.resource
        template = ObjectReference(resource.api_version, resource.kind, resource.name, resource.namespace, resource.uid)
        for about in (ObjectReference.to(binding), template):
            self._recorder.event(about, kind, reason, message)

    # ReplicaSchedulingPolicies.

    async def run_policies(self) -> None:
        """Obey policies until cancelled."""
        for informer in (self._policies, self._clusters, self._bindings):
            await informer.synced()
        while True:
            for policy in self._policies.values():
                if self._is_due(policy):
                    try:
                        await self.obey(policy)
                    except ApiError as error:
                        log.warning("ReplicaSchedulingPolicy %s failed: %s", policy.metadata.name, error)
            await self._clock.sleep(LOOK)

    def _is_due(self, policy: ReplicaSchedulingPolicy) -> bool:
        last = self._looked.get(policy.metadata.name)
        return last is None or self._clock.monotonic() - last >= _interval(policy)

    async def obey(self, policy: ReplicaSchedulingPolicy) -> None:
        """Look at all clusters once for a policy, and note what was done."""
        self._looked[policy.metadata.name] = self._clock.monotonic()
        rules = policy.spec.reschedule_policy
        too_full: list[str] = []
        done: list[Move] = []
        if rules.enabled is not False:
            movable = await self._chosen(is_movable)
            too_full, planned = moves(self._clusters.values(), movable, rules.threshold)
            done = [move for move in planned if await self._carry_out(move)]
        await self._note(policy, too_full, done)

    async def _carry_out(self, move: Move) -> bool:
        seen = move.binding

        def wanted(current: ResourceBinding) -> ResourceBinding:
            # A move planned on another state of the binding is not made; the next round plans anew.
            return _assigned(current, move.clusters) if current.spec.clusters == seen.spec.clusters else current

        given = Outcome(move.clusters, (Given(move.from_cluster, move.replicas),))
        try:
            return await self._write(seen, wanted, lambda: given.message)
        except ApiError as error:
            log.warning("moving replicas of %s failed: %s", seen.metadata.name, error)
            return False

    async def _note(self, policy: ReplicaSchedulingPolicy, too_full: list[str], done: list[Move]) -> None:
        now = rfc3339(self._clock.now())
        fresh = tuple(
            RescheduledWorkload(
                api_version=move.binding.spec.resource.api_version,
                kind=move.binding.spec.resource.kind,
                namespace=move.binding.spec.resource.namespace,
                name=move.binding.spec.resource.name,
                from_cluster=move.from_cluster,
                replicas=move.replicas,
                time=now,
            )
            for move in done
        )

        def wanted(current: ReplicaSchedulingPolicy) -> ReplicaSchedulingPolicy:
            enabled = current.spec.reschedule_policy.enabled is not False
            status = msgspec.structs.replace(
                current.status,
                observed_generation=current.metadata.generation,
                last_evaluation_time=now,
                overloaded_clusters=tuple(too_full),
                rescheduled=(*fresh, *current.status.rescheduled)[:REMEMBERED],
                conditions=_in_force(current.status.conditions, enabled, now),
            )
            return msgspec.structs.replace(current, status=status)

        await self._commit_policy.commit(policy, wanted)


def _assigned(binding: ResourceBinding, clusters: tuple[TargetCluster, ...]) -> ResourceBinding:
    return msgspec.structs.replace(binding, spec=msgspec.structs.replace(binding.spec, clusters=clusters))


def _interval(policy: ReplicaSchedulingPolicy) -> float:
    text = policy.spec.reschedule_policy.interval
    try:
        return max(SHORTEST_INTERVAL, duration.seconds(text)) if text else DEFAULT_INTERVAL
    except ValueError:
        return DEFAULT_INTERVAL


def _in_force(conditions: tuple[Condition, ...], enabled: bool, now: str) -> tuple[Condition, ...]:
    new = Condition(
        type="Active",
        status="True" if enabled else "False",
        reason="Evaluated" if enabled else "Disabled",
        message="Clusters are looked at every interval." if enabled else "reschedulePolicy.enabled is false.",
        last_transition_time=now,
    )
    return set_condition(conditions, new)
