"""Workloads of one affinity group go where the others of the group already are."""

from collections.abc import Hashable

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.scheduler.core.request import Request

REASON = "ResourceBinding with the same affinity group does not target this cluster"


class WorkloadAffinity:
    """Filters out clusters without the other workloads of the affinity group."""

    name = "WorkloadAffinity"
    spares_targets = True
    gate = "WorkloadAffinity"

    def aspect(self, request: Request) -> Hashable:
        return request.attracted

    def reject(self, cluster: Cluster, request: Request) -> str | None:
        name = cluster.metadata.name
        return None if all(name in clusters for clusters in request.attracted) else REASON
