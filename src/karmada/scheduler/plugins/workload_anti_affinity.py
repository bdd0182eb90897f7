"""Workloads of one anti-affinity group stay away from each other's clusters."""

from collections.abc import Hashable

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.scheduler.core.request import Request

REASON = "cluster already has workload with the same anti-affinity group"


class WorkloadAntiAffinity:
    """Filters out clusters with other workloads of the anti-affinity group."""

    name = "WorkloadAntiAffinity"
    spares_targets = True
    gate = "WorkloadAffinity"

    def aspect(self, request: Request) -> Hashable:
        return request.repelled

    def reject(self, cluster: Cluster, request: Request) -> str | None:
        return REASON if cluster.metadata.name in request.repelled else None
