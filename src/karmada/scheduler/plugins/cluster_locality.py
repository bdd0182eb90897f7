"""Clusters that run the resource already are preferred: moving is not free."""

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.scheduler.core.request import Request

FULL_SCORE = 100


class ClusterLocality:
    """Prefers clusters that run the resource already."""

    name = "ClusterLocality"

    def score(self, cluster: Cluster, request: Request) -> int:
        return FULL_SCORE if cluster.metadata.name in request.targets else 0
