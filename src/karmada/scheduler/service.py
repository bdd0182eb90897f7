"""The scheduling loop: follows bindings and clusters, decides, writes, reports.

Decisions are made one at a time on the facts at that moment; only writing overlaps. What the scheduler itself wrote
does not make it look again.
"""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from time import perf_counter
from typing import Any, NamedTuple, Protocol

from karmada.api import conditions, labels
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.decision import Decision, NoClusterFits, Placed
from karmada.api.work.v1alpha2 import ClusterResourceBinding, ResourceBinding
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.controller import SLICE
from karmada.machinery.errors import ApiError
from karmada.machinery.events import EventRecorder
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.sharding.ownership import Ownership
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.tracing import OFF, Tracer
from karmada.scheduler.affected import AffinityIndex
from karmada.scheduler.assumed import AssumedWorkloads
from karmada.scheduler.cluster_looks import ClusterLooks
from karmada.scheduler.core.decide import decide, fitting_names, requests
from karmada.scheduler.core.facts import Estimates
from karmada.scheduler.core.framework import DEFAULT, Framework
from karmada.scheduler.core.label_changes import is_steady, steady
from karmada.scheduler.core.request import DEFAULT_SETTINGS, Binding, Settings
from karmada.scheduler.core.snapshot import Snapshot
from karmada.scheduler.core.trigger import Need, is_ours, need, versions_to_check
from karmada.scheduler.decision_history import DecisionHistory, Noted
from karmada.scheduler.keys import BindingKey
from karmada.scheduler.lost_clusters import LostClusters
from karmada.scheduler.metrics import SchedulerMetrics
from karmada.scheduler.parked_release import ParkedRelease
from karmada.scheduler.peers import PeerIndex, place
from karmada.scheduler.queue import SchedulingQueue
from karmada.scheduler.spec_checks import complaint, has_negative
from karmada.scheduler.status_events import OutcomeReporter
from karmada.scheduler.writing import Writer, WrittenStatus, with_clusters

log = logging.getLogger(__name__)

DEFAULT_NAME = "default-scheduler"
WRITERS = 16
"""Attempts under way at the same time; they wait for the API server, not for each other."""
MANY = 1_000
"""Bindings that are enqueued in one go."""
DEADLINE = 60.0
SAMPLED = 64
"""Every so many attempts each plugin is timed once."""


@dataclass(frozen=True, slots=True)
class SchedulerOptions:
    """What the operator chose."""

    name: str = DEFAULT_NAME
    settings: Settings = DEFAULT_SETTINGS
    framework: Framework = field(default_factory=lambda: DEFAULT)
    tracer: Tracer = OFF


class Unreported(NamedTuple):
    """A result that was written, and why it was decided."""

    generation: int
    decision: Decision
    reason: Need


class AccurateEstimator(Protocol):
    """Asks the clusters themselves how much room they have."""

    async def estimate(self, snapshot: Snapshot, binding: Binding, clusters: Sequence[str], sets: bool) -> Estimates:
        """The answers by cluster; empty when they cannot be had."""
        ...

    def forget(self, cluster: str) -> None:
        """The cluster is gone."""
        ...


class Scheduler:
    """One scheduler of one control plane."""

    def __init__(
        self,
        client: Client,
        informers: InformerFactory,
        recorder: EventRecorder,
        options: SchedulerOptions | None = None,
        clock: Clock = REAL,
        estimator: AccurateEstimator | None = None,
    ) -> None:
        self.options = options or SchedulerOptions()
        self._clock = clock
        self._clusters = informers.of(Cluster)
        self._namespaced = informers.of(ResourceBinding)
        self._wide = informers.of(ClusterResourceBinding)
        gates = self.options.settings.gates
        self._by_priority = gates.enabled("PriorityBasedScheduling")
        self._writer = Writer(client, gates.enabled("KeepLastCopy"))
        self.queue: SchedulingQueue[BindingKey] = SchedulingQueue(clock, lane=lambda key: key.namespace)
        self._reporter = OutcomeReporter(self._writer, recorder, clock, lambda: self.snapshot.clusters)
        self._affinities = AffinityIndex()
        self._peers = PeerIndex() if gates.enabled("WorkloadAffinity") else None
        self._assumed = AssumedWorkloads() if gates.enabled("SchedulingOvercommitProtection") else None
        self._estimator = estimator
        self.snapshot = Snapshot(peers=self._peers)
        """The facts now."""
        self._lost = LostClusters(client.of(Cluster), self.snapshot)
        self.decisions = DecisionHistory()
        self.metrics = SchedulerMetrics(self.queue)
        self._attempts = 0
        self._settled: dict[BindingKey, tuple[str, int]] = {}
        """The uid and generation each binding had after the scheduler's own last write."""
        self._unreported: dict[BindingKey, Unreported] = {}
        """Results that were written, and are not reported in a status yet."""
        self._own: dict[BindingKey, tuple[str, str]] = {}
        """The revisions of the scheduler's last two writes of a binding, result and status, until their events come."""
        self._release = ParkedRelease(self.queue, clock)
        self._looks = ClusterLooks(self._look_again, clock)
        self._ownership: Ownership | None = None
        """Which bindings this scheduler decides about; None for all."""
        self._disturbed: set[BindingKey] = set()
        """The bindings that a cluster's change concerns since they were last looked at."""
        self._nowhere: set[BindingKey] = set()
        """The bindings that no cluster fits: they wait for clusters to enable their API."""
        self._clusters.add_handler(self._clusters_changed)
        self._namespaced.add_handler(self._bindings_changed)
        self._wide.add_handler(self._bindings_changed)

    def start(self, supervisor: Supervisor) -> None:
        """Run in the background."""
        supervisor.start("scheduler", self.run)

    def divide(self, ownership: Ownership) -> None:
        """Decide only about bindings of shards that this process holds."""
        self._ownership = ownership
        ownership.on_acquired(self._shard_acquired)

    async def synced(self) -> None:
        """Wait for clusters and bindings."""
        for informer in (self._clusters, self._namespaced, self._wide):
            await informer.synced()

    async def run(self) -> None:
        """Schedule until cancelled."""
        await self.synced()
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(WRITERS):
                    group.create_task(self._work(), name=f"scheduler {number}")
        finally:
            self.queue.close()
            self._release.cancel()
            self._looks.close()

    # What happens to clusters and bindings.

    def _clusters_changed(self, changes: list[Change[Cluster]]) -> None:
        for change in changes:
            if change.new is None:
                self.snapshot.remove(change.key.name)
                self._looks.forget(change.key.name)
                for key in sorted(self._affinities.going_to(change.key.name)):
                    self._disturbed.add(key)
                    self._enqueue(key, "ClusterChanged")
                if self._estimator is not None:
                    self._estimator.forget(change.key.name)
                continue
            self.snapshot.put(change.new.value)
            if change.initial:
                continue
            versions = versions_to_check(change.old.value if change.old else None, change.new.value)
            if versions:
                self._looks.changed(versions)
                continue
            if change.old is None:
                continue
            before, after = change.old.value.status, change.new.value.status
            if before.resource_summary != after.resource_summary:
                self._release.room_changed()
            if before.api_enablements != after.api_enablements:
                for key in list(self._nowhere):
                    self._disturbed.add(key)
                    self._enqueue(key, "ClusterChanged")

    def _look_again(self, versions: tuple[Cluster, ...]) -> None:
        """Have the bindings decided that a change of a cluster concerns."""
        name = versions[-1].metadata.name
        own = self._affinities.going_to(name)
        concerned = dict.fromkeys(self._affinities.concerned(versions))
        if self.snapshot.is_leaving(name):
            # What runs there has to leave, also where the affinity has not meant the cluster for a while.
            concerned |= dict.fromkeys(sorted(own))
        self._disturbed.update(concerned)
        self._enqueue_concerned(name, iter(concerned))

    def _enqueue_concerned(self, cluster: str, keys: Iterator[BindingKey]) -> None:
        """Have them decided; they are enqueued some at a time, so that others have their turn in between."""
        own, some = self._affinities.going_to(cluster), list(islice(keys, MANY))
        for key in some:
            self._enqueue(key, "ClusterChanged", background=key not in own)
        if len(some) == MANY:
            asyncio.get_running_loop().call_soon(self._enqueue_concerned, cluster, keys)

    def _bindings_changed(self, changes: list[Change[Any]]) -> None:
        for change in changes:
            key = BindingKey(*change.key)
            if self._peers is not None:
                self._peers_moved(key, change)
            if change.new is None:
                self._affinities.discard(key)
                self._forget(key)
                continue
            if key in self._own and self._is_own(key, change.new.resource_version):
                continue
            binding = change.new.value
            if self._peers is not None:
                self._peers.put(key, binding)
            if self._assumed is not None:
                self._assumed.observe(key, binding)
            if not self._in_charge(binding):
                self._affinities.discard(key)
                self._settled.pop(key, None)
                continue
            self._affinities.put(key, binding)
            # One that was somebody else's is as good as new: changes of clusters did not concern it meanwhile.
            before = change.old.value if change.old is not None and self._in_charge(change.old.value) else None
            if before is not None and before.metadata.generation == binding.metadata.generation:
                continue
            self._enqueue(key, "BindingUpdate" if before else "BindingAdd", binding, background=change.initial)

    def _peers_moved(self, key: BindingKey, change: Change[Any]) -> None:
        """A binding came to other clusters or groups, or left them: those that no cluster fitted because of it may fit
        now."""
        before, after = (place(item.value) if item is not None else None for item in (change.old, change.new))
        if before == after:
            return
        for other in sorted(other for other in self._nowhere if other.namespace == key.namespace and other != key):
            self._disturbed.add(other)
            self._enqueue(other, "BindingUpdate")

    def _shard_acquired(self, shard: int) -> None:
        """Look at the bindings of a shard as after a start: another scheduler may have decided about them."""
        assert self._ownership is not None
        for informer in (self._namespaced, self._wide):
            for item in informer.all_items():
                key = BindingKey(*item.key)
                if self._ownership.shard(str(key)) == shard:
                    self._settled.pop(key, None)
                    self._unreported.pop(key, None)
                    if self._in_charge(item.value):
                        self._enqueue(key, "BindingAdd", item.value, background=True)

    def _is_own(self, key: BindingKey, revision: str) -> bool:
        """Whether an event is of the scheduler's own write: it knows, and has acted on it."""
        result, status = self._own[key]
        if revision != status:
            if revision != result:
                return False
            self.metrics.incoming["BindingUpdate"] += 1
        else:
            del self._own[key]
        return True

    def _forget(self, key: BindingKey) -> None:
        self._settled.pop(key, None)
        self._unreported.pop(key, None)
        self._own.pop(key, None)
        self._disturbed.discard(key)
        self.queue.forget(key)
        self.decisions.forget(key)
        self._nowhere.discard(key)
        if self._peers is not None:
            self._peers.discard(key)
        if self._assumed is not None:
            self._assumed.discard(key)

    def _in_charge(self, binding: Binding) -> bool:
        marks = binding.metadata.labels
        return is_ours(binding, self.options.name) and any(mark in marks for mark in labels.SCHEDULED)

    def _enqueue(
        self, key: BindingKey, event: str, binding: Binding | None = None, *, background: bool = False
    ) -> None:
        """Have a binding decided; in the background where nothing happened to it or to its clusters."""
        if self._ownership is not None and self._ownership.of(str(key)) is None:
            return
        self.metrics.incoming[event] += 1
        priority = 0
        if self._by_priority and (binding := binding or self._get(key)) is not None:
            wish = binding.spec.schedule_priority
            priority = wish.priority if wish is not None else 0
        self.queue.add(key, priority, background=background)

    # One attempt.

    async def _work(self) -> None:
        yielded = self._clock.monotonic()
        while True:
            key = await self.queue.take()
            if self._clock.monotonic() - yielded > SLICE:
                await asyncio.sleep(0)
                yielded = self._clock.monotonic()
            try:
                async with asyncio.timeout(DEADLINE):
                    ended = await (self._attempt(key) if self._ownership is None else self._attempt_own(key))
            except Exception as error:
                pause = self.queue.failed(key)
                expected = isinstance(error, ApiError | TimeoutError)
                log.warning("scheduling %s failed, again in %.0f s: %s", key, pause, error, exc_info=not expected)
            else:
                (self.queue.succeeded if ended else self.queue.park)(key)

    async def _attempt_own(self, key: BindingKey) -> bool:
        """Decide about a binding if it is this scheduler's."""
        assert self._ownership is not None
        tenure = self._ownership.of(str(key))
        if tenure is None:
            return True
        with tenure.working():
            return await self._attempt(key)

    async def _attempt(self, key: BindingKey) -> bool:
        """Decide about a binding as it is now; False when it is unschedulable and is parked until a cluster changes."""
        binding = self._get(key)
        if binding is None or not self._in_charge(binding) or self._is_settled(key, binding):
            return True
        # Settled again when this attempt ends well: until then whoever looks again has to decide.
        self._settled.pop(key, None)
        await self._lost.look_for(binding)
        disturbed = key in self._disturbed
        self._disturbed.discard(key)
        reason = need(binding, self.options.settings.gates, self.snapshot.is_leaving)
        match reason:
            case Need.DELETING:
                return True
            case Need.NO_PLACEMENT:
                log.error("binding %s has no placement, it cannot be scheduled", key)
                return True
            case Need.NONE:
                await self._report_the_rest(key, binding)
                return True
        with self.options.tracer.span("schedule", binding.metadata.annotations, reason=reason.value):
            return await self._schedule(key, binding, reason, disturbed)

    async def _report_the_rest(self, key: BindingKey, binding: Binding) -> None:
        """There is nothing to decide; the report of a former decision may be missing."""
        unreported = self._unreported.get(key)
        if unreported is not None and unreported.generation == binding.metadata.generation:
            await self._reporter.concluded(binding, unreported.decision, unreported.reason, disturbed=False)
        else:
            await self._reporter.nothing_to_decide(binding)
        self._unreported.pop(key, None)

    async def _schedule(self, key: BindingKey, binding: Binding, reason: Need, disturbed: bool) -> bool:
        started = self._clock.monotonic()
        kind = "scale" if reason is Need.REPLICAS_CHANGED else "reconcile"
        result = "error"
        try:
            if has_negative(binding.spec):
                await self._reporter.failed(
                    binding, conditions.REASON_SCHEDULER_ERROR, complaint(binding.spec, self.snapshot.clusters)
                )
                return True
            estimates = await self._estimates(key, binding)

            def decided(current: Binding) -> Decision | None:
                # What was seen may lack the scheduler's own last result: deciding anew would move what just settled.
                return self._decide(key, current, estimates) if current is binding or self._needs(current) else None

            written = await self._writer.result(binding, decided)
            if written is None:
                return True
            current, decision = written
            if decision is None:
                result = "scheduled"
                await self._report_the_rest(key, current)
                return True
            self._affinities.placed(key, current)
            self.decisions.note(key, Noted(self._clock.now(), reason.value, decision))
            if isinstance(decision.outcome, Placed):
                self._unreported[key] = Unreported(current.metadata.generation, decision, reason)
            reported = await self._reporter.concluded(current, decision, reason, disturbed)
            self._unreported.pop(key, None)
            ended = isinstance(decision.outcome, Placed | NoClusterFits)
            if ended:
                self._settled[key] = (current.metadata.uid, current.metadata.generation)
                self._wrote(key, binding, current, reported)
            result = "scheduled" if isinstance(decision.outcome, Placed) else "error"
        except ApiError as error:
            self._retract(key)
            if not error.transient:
                await self._reporter.refused(binding, error)
            raise
        except Exception as error:
            # A plugin of somebody else, or a defect of ours: the binding says so, the others go on.
            self._retract(key)
            await self._reporter.failed(binding, conditions.REASON_SCHEDULER_ERROR, f"{type(error).__name__}: {error}")
            raise
        finally:
            self.metrics.attempts[result, kind] += 1
            self.metrics.whole.observe(self._clock.monotonic() - started, result, kind)
        return ended

    def _wrote(self, key: BindingKey, before: Binding, result: Binding, reported: WrittenStatus | None) -> None:
        """Note which events need no look, where nothing that is kept depends on what was written."""
        placement = result.spec.placement
        if reported is None or not reported.alone or self._peers is not None or self._assumed is not None:
            return
        if placement is not None and not placement.cluster_affinities:
            first = result.metadata.resource_version if result is not before else ""
            self._own[key] = first, reported.revision

    async def _estimates(self, key: BindingKey, binding: Binding) -> Estimates:
        """What accurate estimators say about the clusters that fit."""
        if self._estimator is None:
            return {}
        self._count_assumed(key)
        names, sets = fitting_names(self.snapshot, binding, self.options.settings, self.options.framework)
        return await self._estimator.estimate(self.snapshot, binding, names, sets) if names else {}

    def _needs(self, binding: Binding) -> bool:
        needed = need(binding, self.options.settings.gates, self.snapshot.is_leaving)
        return needed not in (Need.NONE, Need.DELETING, Need.NO_PLACEMENT)

    def _decide(self, key: BindingKey, binding: Binding, estimates: Estimates) -> Decision:
        self._count_assumed(key)
        started = perf_counter()
        decision = decide(self.snapshot, binding, estimates, self.options.settings, self.options.framework)
        gates = self.options.settings.gates
        if is_steady(binding, gates):
            decision = steady(binding, decision, need(binding, gates, self.snapshot.is_leaving))
        self.metrics.steps.observe(perf_counter() - started, "Schedule")
        self._sample(binding)
        # What it waits for may come while the outcome is still being written.
        (self._nowhere.add if isinstance(decision.outcome, NoClusterFits) else self._nowhere.discard)(key)
        if isinstance(decision.outcome, Placed) and (self._peers is not None or self._assumed is not None):
            self._anticipate(key, with_clusters(binding, decision.outcome.clusters))
        return decision

    def _sample(self, binding: Binding) -> None:
        """Time the plugins now and then, on one cluster: answers are kept, so they run too rarely to time always."""
        self._attempts += 1
        cluster = next(iter(self.snapshot.clusters.values()), None)
        if self._attempts % SAMPLED != 1 or cluster is None:
            return
        request = next(iter(requests(self.snapshot, binding, self.options.settings)), None)
        if request is not None:
            self.metrics.sample(self.options.framework, cluster, request)

    def _count_assumed(self, key: BindingKey) -> None:
        if self._assumed is not None:
            self.snapshot.assumed = self._assumed.view(self._clock.monotonic(), key)

    def _anticipate(self, key: BindingKey, placed: Binding) -> None:
        """A result counts for the next decisions before it is written."""
        if self._peers is not None:
            self._peers.decided(key, placed, placed.metadata.generation + 1)
        if self._assumed is not None:
            self._assumed.assume(key, placed, self._clock.monotonic())

    def _retract(self, key: BindingKey) -> None:
        """A result was not written after all."""
        binding = self._get(key)
        if self._peers is not None:
            self._peers.discard(key)
            if binding is not None:
                self._peers.put(key, binding)
        if self._assumed is not None:
            self._assumed.discard(key)

    # What is known.

    def _get(self, key: BindingKey) -> Binding | None:
        informer = self._namespaced if key.namespace else self._wide
        return informer.get(key.name, key.namespace) if informer.has_synced else None

    def _is_settled(self, key: BindingKey, binding: Binding) -> bool:
        known = self._settled.get(key)
        return known == (binding.metadata.uid, binding.metadata.generation) and key not in self._disturbed
