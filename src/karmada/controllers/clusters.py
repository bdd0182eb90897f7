"""Facts about Cluster objects that several controllers ask for."""

import msgspec

from karmada.api import conditions
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.machinery.informers.cache import Change


def is_ready(cluster: Cluster) -> bool:
    """Whether the cluster accepts workloads."""
    return any(c.type == conditions.READY and c.status == "True" for c in cluster.status.conditions)


def is_back(change: Change[Cluster]) -> bool:
    """Whether a cluster accepts workloads that did not before, or is reached by another way: nobody has followed what
    happens there. What a start finds is no news."""
    if change.new is None or change.initial:
        return False
    if change.old is None:
        return is_ready(change.new.value)
    before, after = change.old.value, change.new.value
    return is_ready(after) and (not is_ready(before) or _way(before) != _way(after))


def _way(cluster: Cluster) -> object:
    """All that may decide how a cluster is reached, and by whom; taints come and go with its readiness."""
    return msgspec.structs.replace(cluster.spec, taints=())
