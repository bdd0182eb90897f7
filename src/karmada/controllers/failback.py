"""Failback: asks the scheduler to take replicas back to preferred clusters that have been healthy for long enough.

Of the workloads of one policy no more than `maxMoves` go back at a time. One that does has the condition FailingBack
until all of its replicas are confirmed healthy where they went: a restart goes on where it was. The old copies stay
until then, as the binding controller keeps to a budget of 0 under policies with `failback`.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from karmada.api import conditions, events, labels
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.decision import Placed
from karmada.api.meta import find_condition, is_true
from karmada.api.policy.v1alpha1 import FailbackBehavior
from karmada.api.timestamps import parse
from karmada.controllers.bindings import Binding, BindingKey, Bindings, key_of
from karmada.controllers.clusters import is_ready, readiness
from karmada.controllers.context import Context
from karmada.controllers.objects import with_status_condition
from karmada.interpreter.model import Operation, gvk
from karmada.machinery.clock import rfc3339
from karmada.machinery.controller import DONE, Controller, RequeueAfter, Result
from karmada.machinery.events import ObjectReference
from karmada.machinery.informers.cache import Change, Item
from karmada.machinery.informers.informer import Informer
from karmada.policies.failover.failback import gained, is_settled, max_moves, wait
from karmada.policies.failover.last_copy import is_replaced
from karmada.scheduler.core.decide import NoPlacement, decide
from karmada.scheduler.core.request import Settings
from karmada.scheduler.core.snapshot import Snapshot
from karmada.scheduler.core.trigger import is_edited
from karmada.scheduler.writing import same_clusters

COMPONENT = "failback-controller"
BY_POLICY = "failing-back-by-policy"
LOOK = 10.0
"""Seconds between two looks at a failback under way, or at one that waits for its turn."""
ROOM_LOOK = 60.0
"""The same for a workload that a preferred cluster may have no room for yet."""


class FailbackController:
    """Takes workloads back to the clusters that their placement prefers, a few at a time."""

    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._interpreter = context.interpreter
        self._settings = Settings(context.gates)
        self._recorder = context.recorder(COMPONENT)
        self._bindings = Bindings(context)
        self._clusters: Informer[Cluster] = context.informers.of(Cluster)
        self._is_ready = readiness(self._clusters)
        self._snapshot = Snapshot()
        self._begun: dict[BindingKey, str] = {}
        """Bindings that were sent back here, with their policy: the cache may not show it yet."""
        self._policy_of: dict[BindingKey, str] = {}
        self._shown: dict[str, set[BindingKey]] = {}
        """Bindings that the cache shows on their way back, by policy: each that waits for its turn asks how many."""
        self.controller: Controller[BindingKey] = Controller(
            COMPONENT,
            self.reconcile,
            workers=1,
            needs=(*self._bindings.informers, self._clusters),
            lane=lambda key: key.namespace,
            clock=context.clock,
        )
        for informer in self._bindings.informers:
            informer.add_index(BY_POLICY, _policies)
            self.controller.watch(informer, self._concerned)
        self._clusters.add_handler(self._clusters_changed)

    async def reconcile(self, key: BindingKey) -> Result:
        """Begin, follow or end the failback of one binding."""
        binding = self._bindings.get(key)
        if binding is None or binding.metadata.deletion_timestamp is not None:
            self._begun.pop(key, None)
            return DONE
        behaviour, under_way = _behaviour(binding), find_condition(binding.status.conditions, conditions.FAILING_BACK)
        if under_way is not None and under_way.status == "True":
            if behaviour is None:
                return await self._end(binding, conditions.REASON_FAILBACK_ENDED, "the policy has no failback any more")
            return await self._follow(binding, parse(under_way.last_transition_time).timestamp())
        self._begun.pop(key, None)
        return DONE if behaviour is None else await self._consider(binding, behaviour)

    async def _consider(self, binding: Binding, behaviour: FailbackBehavior) -> Result:
        spec, status = binding.spec, binding.status
        halted = spec.suspension is not None and bool(spec.suspension.scheduling)
        if halted or is_edited(binding) or not is_settled(spec, status, binding.metadata.generation):
            return DONE
        now = self._clock.now()
        try:
            decision = decide(self._snapshot, _triggered(binding, now), {}, self._settings)
        except NoPlacement:
            return DONE
        placed = decision.outcome.clusters if isinstance(decision.outcome, Placed) else spec.clusters
        if same_clusters(placed, spec.clusters):
            return RequeueAfter(ROOM_LOOK) if _has_better_terms(binding) else DONE
        where = gained(spec.clusters, placed)
        pause = wait(behaviour, where, self._snapshot.clusters, status, now)
        if pause is None:
            return DONE
        if pause > 0:
            return RequeueAfter(pause)
        if self._moving(binding) >= max_moves(behaviour):
            return RequeueAfter(LOOK)
        return await self._begin(binding, where)

    async def _begin(self, binding: Binding, where: list[str]) -> Result:
        """Claim a turn in the status first: whoever dies in between goes on from there."""
        self._begun[key_of(binding)] = _policy(binding)
        text = f"goes back to {', '.join(where)}, healthy for long enough"
        await self._say(binding, True, conditions.REASON_PREFERRED_HEALTHY, text)
        self._recorder.event(ObjectReference.to(binding), events.NORMAL, events.FAILBACK_STARTED, f"It {text}.")
        now = self._clock.now()
        await self._bindings.commit(binding, lambda current: _triggered(current, now))
        return RequeueAfter(LOOK)

    async def _follow(self, binding: Binding, begun: float) -> Result:
        spec, status = binding.spec, binding.status
        triggered = spec.failback_triggered_at
        if triggered is None or parse(triggered).timestamp() < begun:
            await self._bindings.commit(binding, lambda current: _triggered(current, self._clock.now()))
            return RequeueAfter(LOOK)
        done = status.last_scheduled_time
        if done is None or parse(done) < parse(triggered):
            return RequeueAfter(LOOK)
        lost = sorted(target.name for target in spec.clusters if self._is_ready(target.name) is False)
        if lost:
            return await self._end(binding, conditions.REASON_FAILBACK_ENDED, f"{', '.join(lost)} is not ready")
        kind = gvk(spec.resource.api_version, spec.resource.kind)
        has_health = self._interpreter.enabled(kind, Operation.HEALTH)
        settled = is_settled(spec, status, binding.metadata.generation)
        if settled and is_replaced(spec, status, self._is_ready, has_health):
            where = ", ".join(target.name for target in spec.clusters)
            return await self._end(binding, conditions.REASON_FAILED_BACK, f"all replicas are healthy in {where}")
        return RequeueAfter(LOOK)

    async def _end(self, binding: Binding, reason: str, text: str) -> Result:
        await self._say(binding, False, reason, text)
        self._begun.pop(key_of(binding), None)
        self._recorder.event(ObjectReference.to(binding), events.NORMAL, events.FAILBACK_ENDED, f"It ended: {text}.")
        return DONE

    async def _say(self, binding: Binding, status: bool, reason: str, text: str) -> None:
        decide = with_status_condition(conditions.FAILING_BACK, status, reason, text, self._clock.now())
        await self._bindings.commit(binding, decide)

    def _moving(self, binding: Binding) -> int:
        """How many workloads of the policy are on their way back."""
        policy = _policy(binding)
        begun = {key for key, named in self._begun.items() if named == policy}
        return len(self._shown.get(policy, set()) | begun)

    def _concerned(self, change: Change[Any]) -> list[BindingKey]:
        """A binding that has, or had, a failback."""
        key = BindingKey(*change.key)
        if (left := self._policy_of.pop(key, None)) is not None:
            self._shown[left].discard(key)
            if not self._shown[left]:
                del self._shown[left]
        if (policy := _failing_back(change.new)) is not None:
            self._policy_of[key] = policy
            self._shown.setdefault(policy, set()).add(key)
        states = [item.value for item in (change.old, change.new) if item is not None]
        return [key] if any(_behaviour(state) is not None for state in states) else []

    def _clusters_changed(self, changes: list[Change[Cluster]]) -> None:
        looked_for = False
        for change in changes:
            if change.new is None:
                self._snapshot.remove(change.key.name)
            else:
                self._snapshot.put(change.new.value)
            looked_for = looked_for or _may_matter(change)
        if looked_for:
            for informer in self._bindings.informers:
                for policy in informer.index_values(BY_POLICY) if informer.has_synced else ():
                    for item in informer.indexed_items(BY_POLICY, policy):
                        self.controller.enqueue(BindingKey(*item.key))


def _behaviour(binding: Binding) -> FailbackBehavior | None:
    return binding.spec.failover.failback if binding.spec.failover is not None else None


def _policy(binding: Binding) -> str:
    marks = binding.metadata.labels
    own = marks.get(labels.PROPAGATION_POLICY_PERMANENT_ID)
    return own or marks.get(labels.CLUSTER_PROPAGATION_POLICY_PERMANENT_ID, "")


def _policies(item: Item[Any]) -> Iterable[str]:
    """Index function of bindings with a failback: their policy."""
    return [_policy(item.value)] if _behaviour(item.value) is not None else []


def _failing_back(item: Item[Any] | None) -> str | None:
    """The policy of a binding with a failback that is on its way back."""
    binding = item.value if item is not None else None
    if binding is None or _behaviour(binding) is None:
        return None
    return _policy(binding) if is_true(binding.status.conditions, conditions.FAILING_BACK) else None


def _has_better_terms(binding: Binding) -> bool:
    """Whether there are affinity terms before the one in use."""
    terms = binding.spec.placement.cluster_affinities if binding.spec.placement is not None else ()
    return bool(terms) and terms[0].affinity_name != binding.status.scheduler_observing_affinity_name


def _triggered(binding: Any, now: float) -> Any:
    spec = msgspec.structs.replace(binding.spec, failback_triggered_at=rfc3339(now))
    return msgspec.structs.replace(binding, spec=spec)


def _may_matter(change: Change[Cluster]) -> bool:
    """Whether a cluster came, went, or changed its readiness, taints or labels."""
    if change.old is None or change.new is None:
        return True
    before, after = change.old.value, change.new.value
    return (
        is_ready(before) != is_ready(after)
        or before.metadata.generation != after.metadata.generation
        or before.metadata.labels != after.metadata.labels
    )
