"""The cluster must be one that the affinity means; replicas that can be divided may also overflow."""

from collections.abc import Hashable

import msgspec

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.policies.cluster_affinity import cluster_matches
from karmada.scheduler.core.request import Request

REASON = "cluster(s) did not match the placement cluster affinity constraint"


class ClusterAffinity:
    """Filters out clusters that the affinity does not select. As a score it is neutral."""

    name = "ClusterAffinity"
    spares_targets = False

    def aspect(self, request: Request) -> Hashable:
        return msgspec.json.encode(request.tiers)

    def reject(self, cluster: Cluster, request: Request) -> str | None:
        if not request.tiers or any(cluster_matches(affinity, cluster) for affinity in request.tiers):
            return None
        return REASON

    def score(self, cluster: Cluster, request: Request) -> int:
        return 0
