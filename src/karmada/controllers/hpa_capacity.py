"""What the clusters that a workload may go to have left for it, by what they report of themselves."""

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.feature_gates import FeatureGates
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.machinery.informers.informer import Informer
from karmada.policies.autoscaling.capacity import Room
from karmada.scheduler.core.amounts import PODS
from karmada.scheduler.core.capacity import needs_of
from karmada.scheduler.core.decide import fits_anywhere
from karmada.scheduler.core.estimation import Capacity
from karmada.scheduler.core.framework import DEFAULT
from karmada.scheduler.core.request import Settings, Strategy, strategy_of
from karmada.scheduler.core.snapshot import Snapshot


class HpaRoom:
    """Answers as the scheduler's general estimator does, for the clusters that its filters let pass."""

    def __init__(self, clusters: Informer[Cluster], gates: FeatureGates) -> None:
        self._clusters = clusters
        self._settings = Settings(gates)

    def of(self, binding: ResourceBinding) -> list[Room]:
        """The room of every cluster that the binding may go to, by name; empty unless replicas are divided."""
        placement = binding.spec.placement
        if placement is None or binding.spec.components or strategy_of(placement) is Strategy.DUPLICATED:
            return []
        _, fitting = fits_anywhere(Snapshot(self._clusters.values()), binding, self._settings, DEFAULT)
        running = {target.name for target in binding.spec.clusters}
        found = [self._room(cluster, binding, cluster.metadata.name in running) for cluster in fitting]
        return sorted(found, key=lambda room: room.cluster)

    def _room(self, cluster: Cluster, binding: ResourceBinding, runs: bool) -> Room:
        name = cluster.metadata.name
        if cluster.status.resource_summary is None:
            return Room(name, None, "", runs)
        capacity = Capacity(cluster)
        # By the sum over its nodes, not by grade models: those count the least that nodes may have, and a workload that
        # could grow must not be held back by an estimate that is too low.
        needs = needs_of(binding.spec.replica_requirements) or {}
        counts = {PODS: capacity.pods} | {one: capacity.free(one) // need for one, need in needs.items()}
        scarce = min(counts, key=lambda one: counts[one])
        return Room(name, max(0, counts[scarce]), scarce, runs)
