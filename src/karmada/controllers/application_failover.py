"""Application failover: evicts a workload from clusters in which it has been unhealthy for longer than tolerated.

When a copy was first seen unhealthy is kept in the binding's status, so that a restart of this controller neither
forgets a toleration nor starts it anew. While it runs, tolerations are timed by a clock that never jumps. Under a
policy with `applicationMigrationPolicy` a cluster that is not ready counts like an unhealthy copy. Evictions wait while
too many clusters are unhealthy at once.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from karmada.api import conditions, evictions
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.meta import find_condition
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.bindings import Binding, BindingKey, Bindings, clusters_of, key_of
from karmada.controllers.context import Context
from karmada.controllers.eviction_storm import PAUSED, EvictionStorm, StormOptions
from karmada.controllers.evictions import record_eviction, requeue
from karmada.interpreter.model import Operation, gvk
from karmada.machinery.clock import parse_rfc3339, rfc3339_micro
from karmada.machinery.controller import DONE, Controller, Result, Retry
from karmada.machinery.errors import ApiError
from karmada.machinery.informers.cache import Change, Item
from karmada.machinery.informers.informer import Informer
from karmada.policies.failover.application import PurgeModeRefused, Verdict, judge
from karmada.policies.failover.state import StateUnavailable

WATCHED = "watched-cluster"


class ApplicationFailoverController:
    """Moves workloads away from clusters in which they stay unhealthy."""

    def __init__(self, context: Context, storm: EvictionStorm | None = None) -> None:
        self._storm = storm or EvictionStorm(context, StormOptions())
        self._gates = context.gates
        self._clock = context.clock
        self._interpreter = context.interpreter
        self._bindings = Bindings(context)
        self._since: dict[BindingKey, dict[str, float]] = {}
        """When copies were first seen unhealthy, on the monotonic clock."""
        self._clusters: Informer[Cluster] = context.informers.of(Cluster)
        for informer in self._bindings.informers:
            informer.add_index(WATCHED, _watched)
        self._recorders = {
            True: context.recorder(evictions.PRODUCER_BINDING_FAILOVER),
            False: context.recorder(evictions.PRODUCER_CLUSTER_BINDING_FAILOVER),
        }
        self.controller: Controller[BindingKey] = Controller(
            evictions.PRODUCER_BINDING_FAILOVER,
            self.reconcile,
            workers=5,
            needs=(*self._bindings.informers, self._clusters),
            lane=lambda key: key.namespace,
            clock=context.clock,
        )
        for informer in self._bindings.informers:
            self.controller.watch(informer, _concerned)
        self.controller.watch(self._clusters, self._readiness_changed)

    async def reconcile(self, key: BindingKey) -> Result:
        """Evict one binding from clusters in which it has been unhealthy for too long."""
        binding = self._bindings.get(key)
        if binding is None or binding.metadata.deletion_timestamp is not None:
            self._since.pop(key, None)
            return DONE
        if not self._is_watched(binding):
            self._since.pop(key, None)
            if binding.status.unhealthy_since:
                await self._bindings.commit(binding, lambda current: _remembering(current, {}))
            return DONE
        recorder = self._recorders[isinstance(binding, ResourceBinding)]
        try:
            verdict = self._judge(binding)
            if verdict.evicted:
                await self._bindings.commit(binding, self._evicted)
        except (ApiError, StateUnavailable, PurgeModeRefused) as error:
            for cluster in binding.status.unhealthy_since:
                record_eviction(recorder, binding, cluster, succeeded=False)
            return Retry(error if isinstance(error, ApiError) else str(error))
        self._since[key] = dict(verdict.unhealthy_since)
        if self._since[key].keys() != binding.status.unhealthy_since.keys():
            ahead = self._clock.now() - self._clock.monotonic()
            since = {cluster: rfc3339_micro(first + ahead) for cluster, first in self._since[key].items()}
            await self._bindings.commit(binding, lambda current: _remembering(current, since))
        return requeue(verdict.requeue_after)

    def _evicted(self, binding: Binding) -> Binding:
        if not self._is_watched(binding):
            return binding
        return msgspec.structs.replace(binding, spec=self._judge(binding).spec)

    def _judge(self, binding: Binding) -> Verdict:
        is_namespaced = isinstance(binding, ResourceBinding)
        producer = evictions.PRODUCER_BINDING_FAILOVER if is_namespaced else evictions.PRODUCER_CLUSTER_BINDING_FAILOVER
        now, since = self._clock.monotonic(), self._since.get(key_of(binding))
        if since is None:
            ages = ((name, self._clock.now() - parse_rfc3339(first)) for name, first in self._recorded(binding))
            since = {cluster: now - max(0.0, age) for cluster, age in ages}
        pause = PAUSED if self._storm.rages() else None
        return judge(binding.spec, binding.status, since, now, producer, self._gates, self._unavailable(binding), pause)

    @staticmethod
    def _recorded(binding: Binding) -> Iterable[tuple[str, str]]:
        """What an earlier run of this controller left in the status."""
        return binding.status.unhealthy_since.items()

    def _is_watched(self, binding: Binding) -> bool:
        """Whether the health of a binding's workload decides where it runs."""
        spec = binding.spec
        if spec.failover is None or spec.failover.application is None or not binding.status.aggregated_status:
            return False
        if isinstance(binding, ResourceBinding) and not spec.propagate_deps:
            return False
        kind = gvk(spec.resource.api_version, spec.resource.kind)
        return self._interpreter.enabled(kind, Operation.HEALTH)

    def _unavailable(self, binding: Binding) -> list[str]:
        failover = binding.spec.failover
        if failover is None or failover.application_migration_policy is None:
            return []
        targets = [self._clusters.get(target.name) for target in binding.spec.clusters]
        return [cluster.metadata.name for cluster in targets if cluster is not None and not _is_ready(cluster)]

    def _readiness_changed(self, change: Change[Cluster]) -> list[BindingKey]:
        if change.new is None or change.old is None or _is_ready(change.old.value) == _is_ready(change.new.value):
            return []
        return [BindingKey(*item.key) for item in self._bindings.loaded(WATCHED, change.key.name)]


def _concerned(change: Change[Any]) -> list[BindingKey]:
    """A binding that has, or had, an application failover."""
    states = [item.value for item in (change.old, change.new) if item is not None]
    if not any(binding.spec.failover is not None and binding.spec.failover.application for binding in states):
        return []
    return [BindingKey(*change.key)]


def _watched(item: Item[Any]) -> Iterable[str]:
    """Index function of bindings: the clusters whose readiness decides about their workloads."""
    failover = item.value.spec.failover
    return clusters_of(item) if failover is not None and failover.application_migration_policy is not None else ()


def _is_ready(cluster: Cluster) -> bool:
    """Whether a cluster is ready; one that has not reported yet is not held against its workloads."""
    ready = find_condition(cluster.status.conditions, conditions.READY)
    return ready is None or ready.status == "True"


def _remembering(binding: Binding, since: dict[str, str]) -> Binding:
    return msgspec.structs.replace(binding, status=msgspec.structs.replace(binding.status, unhealthy_since=since))
