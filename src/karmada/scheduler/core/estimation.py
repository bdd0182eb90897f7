"""The general estimator: how much more fits into a cluster, by what it reports about itself.

Two sources: the summary of all its nodes, and the number of nodes by grade of what they have free. The first counts
room that may be scattered over nodes; the second knows about scattering but only by the lower bounds of grades.
A grade model with holes is not used. Results are never negative.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from karmada.api.cluster.v1alpha1 import Cluster, ResourceSummary
from karmada.api.quantity import Quantity, QuantityError
from karmada.api.work.v1alpha2 import Component, ReplicaRequirements
from karmada.scheduler.core.amounts import PODS, UNLIMITED, amount, requested
from karmada.scheduler.core.simulation import Amounts, Demand, Simulation
from karmada.scheduler.core.snapshot import AssumedWorkload

PODS_PER_NODE = 110
"""Pods a node of a grade model takes."""


class Free(NamedTuple):
    """What a cluster has left."""

    pods: int
    summary: ResourceSummary
    taken: Mapping[str, Quantity]
    """What assumed workloads take beyond the summary."""

    def of(self, resource: str) -> int:
        """The free amount of a resource; nothing of one the cluster does not have."""
        offered = self.summary.allocatable.get(resource)
        if offered is None:
            return 0
        left = Quantity.parse(offered)
        for used in (self.summary.allocated.get(resource), self.summary.allocating.get(resource)):
            if used is not None:
                left = left - Quantity.parse(used)
        if resource in self.taken:
            left = left - self.taken[resource]
        if left.value() <= 0:
            return 0
        return left.milli_value() if resource == "cpu" else left.value()


def free_of(summary: ResourceSummary, assumed: Sequence[AssumedWorkload] = ()) -> Free:
    """What is left in a cluster after everything assumed."""
    taken: dict[str, Quantity] = {}
    pods = 0
    for component in (component for workload in assumed for component in workload.components):
        pods += component.replicas
        if component.replica_requirements is None:
            continue
        for name, quantity in component.replica_requirements.resource_request.items():
            taken[name] = taken.get(name, Quantity(0)) + Quantity.parse(quantity) * component.replicas
    counts = (_pods(summary.allocated), _pods(summary.allocating), pods)
    return Free(_pods(summary.allocatable) - sum(counts), summary, taken)


def available_replicas(
    cluster: Cluster, requirements: ReplicaRequirements | None, by_model: bool, assumed: Sequence[AssumedWorkload] = ()
) -> int:
    """How many more replicas fit into a cluster."""
    summary = cluster.status.resource_summary
    if summary is None:
        return 0
    try:
        free = free_of(summary, assumed)
        if free.pods <= 0:
            return 0
        if requirements is None:
            return free.pods
        needs = requested(requirements.resource_request)
        if by_model:
            nodes = model_nodes(cluster)
            if nodes is not None:
                return min(free.pods, _in_model(nodes, Demand(0, _with_pod(needs)), assumed))
        return min([free.pods, *(free.of(name) // number for name, number in needs.items())])
    except QuantityError:
        # A cluster that reports nonsense has no room anybody could rely on.
        return 0


def available_sets(
    cluster: Cluster, components: Iterable[Component], by_model: bool, assumed: Sequence[AssumedWorkload] = ()
) -> int:
    """How many whole sets of components fit into a cluster."""
    summary = cluster.status.resource_summary
    if summary is None:
        return 0
    try:
        demands = [demand_of(component) for component in components]
        free = free_of(summary, assumed)
        if free.pods <= 0:
            return 0
        replicas = sum(demand.replicas for demand in demands)
        bound = free.pods // replicas if replicas > 0 else free.pods
        total: dict[str, int] = {}
        for demand in demands:
            for name, number in demand.needs.items():
                if name != PODS:
                    total[name] = total.get(name, 0) + number * demand.replicas
        bound = min([bound, *(free.of(name) // number for name, number in total.items() if number > 0)])
        nodes = model_nodes(cluster) if by_model and bound > 0 else None
        if nodes is None:
            return max(0, bound)
        simulation = _simulation(nodes, assumed)
        return simulation.sets(demands, min(bound, UNLIMITED))
    except QuantityError:
        return 0


def demand_of(component: Component) -> Demand:
    """What a component needs of nodes."""
    requirements = component.replica_requirements
    needs = requested(requirements.resource_request) if requirements is not None else {}
    return Demand(component.replicas, _with_pod(needs))


def model_nodes(cluster: Cluster) -> list[tuple[int, Amounts]] | None:
    """The nodes of the grade model, smallest grade first; None when there is no usable model."""
    summary = cluster.status.resource_summary
    if summary is None or not summary.allocatable_modelings or not cluster.spec.resource_models:
        return None
    grades = {
        model.grade: {entry.name: amount(entry.name, entry.min) for entry in model.ranges}
        for model in cluster.spec.resource_models
    }
    nodes = []
    for modeling in sorted(summary.allocatable_modelings, key=lambda modeling: modeling.grade):
        if modeling.count == 0:
            continue
        least = grades.get(modeling.grade)
        if least is None or modeling.count < 0:
            return None
        nodes.append((modeling.count, {**least, PODS: PODS_PER_NODE}))
    return nodes


def _in_model(nodes: list[tuple[int, Amounts]], demand: Demand, assumed: Sequence[AssumedWorkload]) -> int:
    return _simulation(nodes, assumed).room(demand)


def _simulation(nodes: list[tuple[int, Amounts]], assumed: Sequence[AssumedWorkload]) -> Simulation:
    simulation = Simulation(nodes)
    for workload in assumed:
        for component in workload.components:
            simulation.place(demand_of(component))
    return simulation


def _with_pod(needs: Amounts) -> Amounts:
    return {**needs, PODS: needs.get(PODS, 0) + 1}


def _pods(amounts: Mapping[str, str | int]) -> int:
    quantity = amounts.get(PODS)
    return amount(PODS, quantity) if quantity is not None else 0
