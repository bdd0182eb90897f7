"""The answers of an estimator, from what it knows of its member.

The result is the least that any plugin allows; one that has nothing to say does not count. Workloads that are assumed
to be on their way take their room first. A quota that is exceeded gives a negative figure: by how much too many there
are already. Whoever answers over the wire makes it 0, because there negative numbers mean something else.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

from karmada.api.feature_gates import FeatureGates
from karmada.api.native import Pod, ResourceQuota
from karmada.api.quantity import QuantityError
from karmada.api.work.v1alpha2 import Component, ComponentReplicaRequirements, NodeClaim
from karmada.estimator.metrics import EstimatorMetrics
from karmada.estimator.nodes import Nodes
from karmada.estimator.pods import amounts, is_counted
from karmada.estimator.quotas import Assumed, allowed, counts, room
from karmada.estimator.unschedulable import unschedulable_replicas
from karmada.estimator.workloads import Workload, current_pods
from karmada.machinery.extras import has_numpy
from karmada.scheduler.core.amounts import PODS, UNLIMITED
from karmada.scheduler.core.assumptions import AssumedWorkload
from karmada.scheduler.core.simulation import Demand, Simulation
from karmada.scheduler.estimators.messages import ReplicasRequest, SetsRequest, UnschedulableRequest

if TYPE_CHECKING:
    from karmada.estimator.columns import NodeColumns

MANY = 256
"""From so many nodes on columns pay."""
REPLICAS, SETS = "EstimateReplicas", "EstimateComponents"
"""What plugins are asked, as metrics call it."""
NODE_PLUGIN, QUOTA_PLUGIN = "NodeResourceEstimator", "ResourceQuotaEstimator"


class EstimateError(Exception):
    """A question that cannot be answered; the message says why."""


class Member:
    """What is known of a member."""

    def __init__(self) -> None:
        self.nodes = Nodes()
        self.quotas: dict[str, dict[str, ResourceQuota]] = {}
        """By namespace and name."""


class Answers:
    """Answers the scheduler's questions from what is known of one member."""

    def __init__(
        self,
        cluster: str,
        member: Member,
        gates: FeatureGates,
        is_enabled: Callable[[str], bool] = lambda name: True,
        metrics: EstimatorMetrics | None = None,
    ) -> None:
        self._cluster = cluster
        self._member = member
        self._protects = gates.enabled("SchedulingOvercommitProtection")
        self._metrics = metrics or EstimatorMetrics()
        self._columns: NodeColumns | None = None
        self._by_nodes = is_enabled(NODE_PLUGIN)
        self._by_quotas = is_enabled(QUOTA_PLUGIN) and gates.enabled("ResourceQuotaEstimate")

    def replicas(self, request: ReplicasRequest) -> int:
        """How many more replicas fit."""
        self._check(request.cluster)
        needs = request.requirements
        claim = needs.node_claim if needs is not None else None
        requested = _needs(needs.resource_request if needs is not None else {})
        found = UNLIMITED
        with self._point(REPLICAS):
            if self._by_nodes:
                with self._plugin(NODE_PLUGIN, REPLICAS):
                    found = self._on_nodes(requested, claim, request.assumed if self._protects else ())
            if found and self._by_quotas and needs is not None:
                with self._plugin(QUOTA_PLUGIN, REPLICAS):
                    assumed = self._assumed(request.assumed, needs.namespace)
                    quotas = self._quotas(needs.namespace)
                    found = min(found, allowed(quotas, requested, needs.priority_class_name, assumed))
        return found

    def sets(self, request: SetsRequest) -> int:
        """How many whole sets of components fit."""
        self._check(request.cluster)
        bound = UNLIMITED
        with self._point(SETS):
            if self._by_quotas:
                with self._plugin(QUOTA_PLUGIN, SETS):
                    bound = self._by_quota_of_sets(request)
            if not self._by_nodes:
                return bound
            with self._plugin(NODE_PLUGIN, SETS):
                places, simulation = self._simulation(request.assumed if self._protects else ())
                demands = [self._demand(component, places) for component in request.components]
                found = simulation.sets(demands, max(1, bound))
        return min(found, bound) if found else 0

    @contextmanager
    def _point(self, point: str) -> Iterator[None]:
        started, result = perf_counter(), "error"
        try:
            yield
            result = "success"
        finally:
            self._metrics.passed(point, result, perf_counter() - started)

    @contextmanager
    def _plugin(self, plugin: str, point: str) -> Iterator[None]:
        started = perf_counter()
        try:
            yield
        finally:
            self._metrics.ran(plugin, point, perf_counter() - started)

    def _on_nodes(
        self, requested: Mapping[str, int], claim: NodeClaim | None, assumed: tuple[AssumedWorkload, ...]
    ) -> int:
        nodes = self._member.nodes
        if assumed:
            places, simulation = self._simulation(assumed)
            allowed_places = frozenset(places[name] for name in nodes.admitting(claim))
            return min(UNLIMITED, simulation.room(Demand(0, {**requested, PODS: 1}, allowed_places)))
        if len(nodes) < MANY or not has_numpy():
            return min(UNLIMITED, nodes.room(requested, claim))
        if self._columns is None:
            from karmada.estimator.columns import NodeColumns

            self._columns = NodeColumns(nodes)
        return min(UNLIMITED, self._columns.room(requested, claim))

    def _simulation(self, assumed: Iterable[AssumedWorkload]) -> tuple[dict[str, int], Simulation]:
        nodes = self._member.nodes
        names = [offer.name for offer in nodes.offers()]
        places = {name: place for place, name in enumerate(names)}
        simulation = Simulation((1, nodes.free_amounts(name)) for name in names)
        for workload in assumed:
            simulation.place_set(self._demand(component, places) for component in workload.components)
        return places, simulation

    def _demand(self, component: Component, places: Mapping[str, int]) -> Demand:
        needs = component.replica_requirements or ComponentReplicaRequirements()
        requested = _needs(needs.resource_request)
        allowed_places = frozenset(places[name] for name in self._member.nodes.admitting(needs.node_claim))
        return Demand(component.replicas, {**requested, PODS: 1}, allowed_places)

    def _by_quota_of_sets(self, request: SetsRequest) -> int:
        found = UNLIMITED
        assumed = self._assumed(request.assumed, request.namespace)
        parts = [_taken(component) for component in request.components]
        for quota in self._quotas(request.namespace):
            counted = [part.amounts for part in parts if counts(quota, part.priority_class)]
            if counted:
                total = {name: sum(amounts.get(name, 0) for amounts in counted) for name in set().union(*counted)}
                found = min(found, room(quota, total, assumed))
        return found

    def _assumed(self, workloads: Iterable[AssumedWorkload], namespace: str) -> list[Assumed]:
        """What workloads on their way take of the quotas of a namespace."""
        found = (workload.components for workload in workloads if workload.namespace == namespace)
        return [_taken(component) for components in found for component in components] if self._protects else []

    def _quotas(self, namespace: str) -> Iterable[ResourceQuota]:
        return self._member.quotas.get(namespace, {}).values() if namespace else ()

    def _check(self, cluster: str) -> None:
        check_cluster(cluster, self._cluster)


def check_cluster(name: str, mine: str) -> None:
    """An estimator answers for its own member only."""
    if name != mine:
        raise EstimateError(f"cluster name does not match, got: {name}, desire: {mine}")


def unschedulable(
    request: UnschedulableRequest,
    mine: str,
    deployment: Workload | None,
    replica_sets: Iterable[Workload],
    pods: Iterable[Pod],
    now: float,
) -> int:
    """How many replicas of a Deployment wait for a node for longer than the threshold."""
    check_cluster(request.cluster, mine)
    resource = request.resource
    if resource is None:
        raise EstimateError("resource is nil")
    if deployment is None or resource.kind != "Deployment":
        group = resource.api_version.rpartition("/")[0]
        plural = f"{resource.kind.lower()}s"
        raise EstimateError(f'{plural}.{group} "{resource.name}" not found'.replace('. "', ' "'))
    return unschedulable_replicas(current_pods(deployment, replica_sets, pods), now, request.threshold / 1e9)


def _taken(component: Component) -> Assumed:
    """What all replicas of a component take."""
    needs = component.replica_requirements or ComponentReplicaRequirements()
    amounts_ = {name: number * component.replicas for name, number in _needs(needs.resource_request).items()}
    return Assumed(needs.priority_class_name, amounts_)


def _needs(request: Mapping[str, str | int]) -> dict[str, int]:
    try:
        return {name: number for name, number in amounts(request).items() if number > 0 and is_counted(name)}
    except QuantityError as error:
        raise EstimateError(f"the replica asks for no amount: {error}") from error
