"""The general estimator: how much more fits into a cluster, by what it reports about itself.

Two sources: the summary of all its nodes, and the number of nodes by grade of what they have free. The first counts
room that may be scattered over nodes; the second knows about scattering but only by the lower bounds of grades.
A grade model with holes is not used. Results are never negative; a cluster that reports nonsense has no room that
anybody could rely on.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from karmada.api.cluster.v1alpha1 import Cluster, ResourceSummary
from karmada.api.quantity import Quantity, QuantityError
from karmada.api.work.v1alpha2 import Component
from karmada.scheduler.core.amounts import PODS, UNLIMITED, amount, requested
from karmada.scheduler.core.assumptions import AssumedWorkload
from karmada.scheduler.core.simulation import Amounts, Demand, Simulation

PODS_PER_NODE = 110
"""Pods a node of a grade model takes."""
Nodes = Sequence[tuple[int, Amounts]]
"""Numbers of equal nodes with what each has free, smallest grade first."""


class Capacity:
    """What a cluster has left. Amounts are worked out when first asked for and kept."""

    __slots__ = ("_assumed", "_cluster", "_free", "_nodes", "pods")

    def __init__(self, cluster: Cluster, assumed: Sequence[AssumedWorkload] = ()) -> None:
        self._cluster = cluster
        self._assumed = assumed
        self._free: dict[str, int] = {}
        self._nodes: Nodes | bool | None = False
        self.pods = self._guarded(self._count_pods)
        """How many more pods it takes."""

    def free(self, resource: str) -> int:
        """The free amount of a resource; nothing of one the cluster does not have."""
        known = self._free.get(resource)
        if known is None:
            known = self._free[resource] = self._guarded(lambda: self._work_out(resource))
        return known

    @property
    def nodes(self) -> Nodes | None:
        """The nodes of the grade model; None when there is no usable model."""
        if isinstance(self._nodes, bool):
            try:
                self._nodes = model_nodes(self._cluster)
            except QuantityError:
                self._nodes = ()
        return self._nodes

    def replicas(self, needs: Mapping[str, int] | None, by_model: bool) -> int:
        """How many more replicas fit; None needs nothing but a pod each."""
        if self.pods <= 0:
            return 0
        if needs is None:
            return self.pods
        nodes = self.nodes if by_model else None
        if nodes is not None:
            return min(self.pods, self._simulation(nodes).room(Demand(0, with_pod(needs))))
        return min([self.pods, *(self.free(name) // number for name, number in needs.items())])

    def sets(self, demands: Sequence[Demand], by_model: bool) -> int:
        """How many whole sets of components fit."""
        if self.pods <= 0:
            return 0
        replicas = sum(demand.replicas for demand in demands)
        bound = self.pods // replicas if replicas > 0 else self.pods
        total: dict[str, int] = {}
        for demand in demands:
            for name, number in demand.needs.items():
                if name != PODS:
                    total[name] = total.get(name, 0) + number * demand.replicas
        bound = min([bound, *(self.free(name) // number for name, number in total.items() if number > 0)])
        nodes = self.nodes if by_model and bound > 0 else None
        if nodes is None:
            return max(0, bound)
        return self._simulation(nodes).sets(demands, min(bound, UNLIMITED))

    def _simulation(self, nodes: Nodes) -> Simulation:
        simulation = Simulation(nodes)
        for workload in self._assumed:
            simulation.place_set(demand_of(component) for component in workload.components)
        return simulation

    def _count_pods(self) -> int:
        summary = self._cluster.status.resource_summary
        if summary is None:
            return 0
        assumed = sum(component.replicas for workload in self._assumed for component in workload.components)
        return _pods(summary.allocatable) - _pods(summary.allocated) - _pods(summary.allocating) - assumed

    def _work_out(self, resource: str) -> int:
        summary = self._cluster.status.resource_summary
        left = _unused(summary, resource) if summary is not None else None
        if left is None:
            return 0
        for component in (component for workload in self._assumed for component in workload.components):
            if component.replica_requirements is not None:
                requested = component.replica_requirements.resource_request.get(resource)
                if requested is not None:
                    left = left - Quantity.parse(requested) * component.replicas
        if left.value() <= 0:
            return 0
        return left.milli_value() if resource == "cpu" else left.value()

    @staticmethod
    def _guarded(work_out: Callable[[], int]) -> int:
        try:
            return work_out()
        except QuantityError:
            return 0


def demand_of(component: Component) -> Demand:
    """What a component needs of nodes; an invalid quantity is an unsatisfiable request."""
    requirements = component.replica_requirements
    try:
        needs = requested(requirements.resource_request) if requirements is not None else {}
    except QuantityError:
        needs = {"": UNLIMITED}
    return Demand(component.replicas, with_pod(needs))


def demands_of(components: Iterable[Component]) -> list[Demand]:
    """What all components need."""
    return [demand_of(component) for component in components]


def with_pod(needs: Mapping[str, int]) -> Amounts:
    """Needs of a replica with the pod it is."""
    return {**needs, PODS: needs.get(PODS, 0) + 1}


def model_nodes(cluster: Cluster) -> Nodes | None:
    """The nodes of the grade model; None when there is no usable model. Raises `QuantityError`."""
    summary = cluster.status.resource_summary
    if summary is None or not summary.allocatable_modelings or not cluster.spec.resource_models:
        return None
    grades = {
        model.grade: {entry.name: amount(entry.name, entry.min) for entry in model.ranges}
        for model in cluster.spec.resource_models
    }
    counts: dict[int, int] = {}
    for modeling in summary.allocatable_modelings:
        if modeling.count < 0 or (modeling.count and modeling.grade not in grades):
            return None
        counts[modeling.grade] = counts.get(modeling.grade, 0) + modeling.count
    return [(count, {**grades[grade], PODS: PODS_PER_NODE}) for grade, count in sorted(counts.items()) if count]


def _unused(summary: ResourceSummary, resource: str) -> Quantity | None:
    offered = summary.allocatable.get(resource)
    if offered is None:
        return None
    left = Quantity.parse(offered)
    for used in (summary.allocated.get(resource), summary.allocating.get(resource)):
        if used is not None:
            left = left - Quantity.parse(used)
    return left


def _pods(amounts: Mapping[str, str | int]) -> int:
    quantity = amounts.get(PODS)
    return amount(PODS, quantity) if quantity is not None else 0
