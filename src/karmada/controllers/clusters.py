"""Facts about Cluster objects that several controllers ask for."""

from karmada.api import conditions
from karmada.api.cluster.v1alpha1 import Cluster


def is_ready(cluster: Cluster) -> bool:
    """Whether the cluster accepts workloads."""
    return any(c.type == conditions.READY and c.status == "True" for c in cluster.status.conditions)
