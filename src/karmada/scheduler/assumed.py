"""What was placed recently and may not show in the figures of clusters yet.

A placement is assumed from the decision until the copy is reported healthy, the binding leaves the cluster or is
deleted, or `LIFETIME` has passed.
"""

from collections.abc import Mapping

from karmada.api.work.v1alpha2 import Component, ComponentReplicaRequirements, ResourceBindingSpec
from karmada.scheduler.core.assumptions import AssumedWorkload
from karmada.scheduler.core.request import Binding
from karmada.scheduler.keys import BindingKey

LIFETIME = 300.0


class AssumedWorkloads:
    """Assumed placements by cluster."""

    def __init__(self) -> None:
        self._by_cluster: dict[str, dict[BindingKey, tuple[float, AssumedWorkload]]] = {}
        self._clusters_of: dict[BindingKey, set[str]] = {}

    def assume(self, key: BindingKey, binding: Binding, now: float) -> None:
        """A result was written: count what is new in it."""
        before = self._clusters_of.get(key, set())
        wanted = {target.name for target in binding.spec.clusters}
        for name in before - wanted:
            self._release(key, name)
        healthy = _healthy(binding)
        for target in binding.spec.clusters:
            if target.name in healthy:
                self._release(key, target.name)
                continue
            workload = AssumedWorkload(binding.metadata.namespace, _components(binding.spec, target.replicas))
            if any(component.replicas for component in workload.components):
                self._by_cluster.setdefault(target.name, {})[key] = (now, workload)
                self._clusters_of.setdefault(key, set()).add(target.name)

    def observe(self, key: BindingKey, binding: Binding) -> None:
        """The binding changed: what is healthy or gone is no longer assumed."""
        known = self._clusters_of.get(key)
        if known:
            wanted = {target.name for target in binding.spec.clusters}
            for name in (known & _healthy(binding)) | (known - wanted):
                self._release(key, name)

    def discard(self, key: BindingKey) -> None:
        """The binding is gone."""
        for name in list(self._clusters_of.get(key, ())):
            self._release(key, name)

    def view(self, now: float, asking: BindingKey) -> Mapping[str, tuple[AssumedWorkload, ...]]:
        """What is assumed per cluster at this moment, apart from the asking binding's own."""
        for name, entries in list(self._by_cluster.items()):
            for key in [key for key, (since, _) in entries.items() if now - since > LIFETIME]:
                self._release(key, name)
        return {
            name: tuple(workload for key, (_, workload) in entries.items() if key != asking)
            for name, entries in self._by_cluster.items()
        }

    def _release(self, key: BindingKey, name: str) -> None:
        entries = self._by_cluster.get(name)
        if entries is not None and entries.pop(key, None) is not None and not entries:
            del self._by_cluster[name]
        clusters = self._clusters_of.get(key)
        if clusters is not None:
            clusters.discard(name)
            if not clusters:
                del self._clusters_of[key]


def _healthy(binding: Binding) -> set[str]:
    return {item.cluster_name for item in binding.status.aggregated_status if item.health == "Healthy"}


def _components(spec: ResourceBindingSpec, replicas: int) -> tuple[Component, ...]:
    if spec.components:
        return spec.components
    needs = spec.replica_requirements
    one = (
        ComponentReplicaRequirements(
            node_claim=needs.node_claim,
            resource_request=needs.resource_request,
            priority_class_name=needs.priority_class_name,
        )
        if needs is not None
        else None
    )
    return (Component(name="", replicas=replicas, replica_requirements=one),)
