"""A cluster that the resource is being withdrawn from does not get it back meanwhile."""

from collections.abc import Hashable

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.scheduler.core.request import Request

REASON = "cluster(s) is in the process of eviction"


class ClusterEviction:
    """Filters out clusters from which the resource is being evicted."""

    name = "ClusterEviction"
    spares_targets = False

    def aspect(self, request: Request) -> Hashable:
        return request.leaving

    def reject(self, cluster: Cluster, request: Request) -> str | None:
        return REASON if cluster.metadata.name in request.leaving else None
