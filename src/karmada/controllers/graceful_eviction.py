"""Graceful eviction: ends the eviction tasks of a binding when the replacement is healthy or their time is up.

This controller is the one that stamps and removes tasks; others only add them. The binding controller deletes the Work
of a cluster once no task keeps it. With the gate KeepLastCopy a task outlives its time until a replacement is confirmed
healthy and its own cluster is ready; one whose copy runs well again while nothing replaces it is taken back.
"""

from dataclasses import dataclass
from typing import Any

import msgspec

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.work.v1alpha2 import GracefulEvictionTask, ResourceBinding
from karmada.controllers.bindings import Binding, BindingKey, Bindings
from karmada.controllers.clusters import is_ready, readiness
from karmada.controllers.context import Context
from karmada.controllers.evictions import record_eviction, record_return, requeue
from karmada.interpreter.model import Operation, gvk
from karmada.machinery.committer import Written
from karmada.machinery.controller import DONE, Controller, Result
from karmada.machinery.flags import seconds
from karmada.machinery.informers.cache import Change, Item
from karmada.machinery.informers.informer import Informer
from karmada.machinery.options import flag
from karmada.policies.cluster_affinity import placement_matches
from karmada.policies.failover.graceful import Assessment, assess
from karmada.policies.failover.last_copy import hold, returns, taken_back
from karmada.policies.failover.taints import remaining_toleration

NAMESPACED = "resource-binding-graceful-eviction-controller"
WIDE = "cluster-resource-binding-graceful-eviction-controller"
BY_EVICTION = "by-eviction"


@dataclass(frozen=True, slots=True)
class GracefulEvictionOptions:
    """How long an evicted copy waits for its replacement."""

    timeout: float = flag(600.0, seconds, "How long a replacement may take.", "--graceful-eviction-timeout")


class GracefulEvictionController:
    """Keeps evicted copies until their replacement is healthy, within their grace period."""

    def __init__(self, context: Context, options: GracefulEvictionOptions) -> None:
        self._clock = context.clock
        self._timeout = options.timeout
        self._interpreter = context.interpreter
        self._bindings = Bindings(context)
        self._recorders = {True: context.recorder(NAMESPACED), False: context.recorder(WIDE)}
        self._keeps_last_copy = context.gates.enabled("KeepLastCopy")
        self._fences = context.gates.enabled("ControlledMoves")
        self._clusters: Informer[Cluster] = context.informers.of(Cluster)
        self._is_ready = readiness(self._clusters)
        needs = (*self._bindings.informers, *((self._clusters,) if self._keeps_last_copy else ()))
        self.controller: Controller[BindingKey] = Controller(
            NAMESPACED,
            self.reconcile,
            workers=5,
            needs=needs,
            lane=lambda key: key.namespace,
            clock=context.clock,
        )
        for informer in self._bindings.informers:
            self.controller.watch(informer, _with_tasks)
            if self._keeps_last_copy:
                informer.add_index(BY_EVICTION, _concerned_clusters)
        if self._keeps_last_copy:
            self.controller.watch(self._clusters, self._cluster_changed)

    async def reconcile(self, key: BindingKey) -> Result:
        """Assess the tasks of one binding."""
        binding = self._bindings.get(key)
        if binding is None or binding.metadata.deletion_timestamp is not None:
            return DONE
        assessment, returned = self._assess(binding)

        def decide(current: Binding) -> Binding:
            nonlocal assessment, returned
            assessment, returned = self._assess(current)
            return _with(current, assessment.kept, returned)

        outcome = await self._bindings.commit(binding, decide)
        if isinstance(outcome, Written):
            recorder = self._recorders[isinstance(binding, ResourceBinding)]
            for cluster in assessment.evicted:
                record_eviction(recorder, binding, cluster, succeeded=True)
            for task in returned:
                record_return(recorder, binding, task.from_cluster)
        return requeue(assessment.requeue_after)

    def _assess(self, binding: Binding) -> tuple[Assessment, list[GracefulEvictionTask]]:
        """What becomes of the tasks, and those whose cluster is taken back."""
        spec, status, now = binding.spec, binding.status, self._clock.now()
        if not self._keeps_last_copy:
            return assess(spec, status, binding.metadata.generation, self._timeout, now), []
        kind = gvk(spec.resource.api_version, spec.resource.kind)
        facts = (spec, status, self._is_ready, self._interpreter.enabled(kind, Operation.HEALTH))

        def held(task: GracefulEvictionTask) -> str:
            return hold(task, *facts, fences=self._fences)

        assessment = assess(spec, status, binding.metadata.generation, self._timeout, now, held)
        back = [task for task in assessment.kept if self._is_welcome(binding, task) and returns(task, *facts)]
        return assessment, back[:1]

    def _is_welcome(self, binding: Binding, task: GracefulEvictionTask) -> bool:
        """Whether the placement still means the task's cluster, and none of its taints would evict the copy again."""
        cluster, placement = self._clusters.get(task.from_cluster), binding.spec.placement
        tolerations = placement.cluster_tolerations if placement is not None else ()
        if cluster is None or cluster.metadata.deletion_timestamp is not None:
            return False
        if placement is not None and not placement_matches(placement, cluster):
            return False
        return remaining_toleration(cluster.spec.taints, tolerations, self._clock.now()) is None

    def _cluster_changed(self, change: Change[Cluster]) -> list[BindingKey]:
        """Bindings with tasks that leave a cluster, or wait for it, when its readiness or its taints changed."""
        if change.old is not None and change.new is not None:
            before, after = change.old.value, change.new.value
            if is_ready(before) == is_ready(after) and before.spec.taints == after.spec.taints:
                return []
        return [BindingKey(*item.key) for item in self._bindings.loaded(BY_EVICTION, change.key.name)]


def _with(binding: Binding, tasks: tuple[Any, ...], returned: list[GracefulEvictionTask]) -> Binding:
    if tasks == binding.spec.graceful_eviction_tasks and not returned:
        return binding
    spec = msgspec.structs.replace(binding.spec, graceful_eviction_tasks=tasks)
    return msgspec.structs.replace(binding, spec=taken_back(spec, returned))


def _with_tasks(change: Change[Any]) -> list[BindingKey]:
    if change.new is None or not change.new.value.spec.graceful_eviction_tasks:
        return []
    return [BindingKey(*change.key)]


def _concerned_clusters(item: Item[Any]) -> list[str]:
    """Index function of bindings: clusters that are left, and those that replace them."""
    spec = item.value.spec
    if not spec.graceful_eviction_tasks:
        return []
    left = {task.from_cluster for task in spec.graceful_eviction_tasks}
    return sorted(left | {target.name for target in spec.clusters})
