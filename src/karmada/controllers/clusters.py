"""Facts about Cluster objects that several controllers ask for."""

from collections.abc import Callable

import msgspec

from karmada.api import conditions
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.meta import is_true
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.informer import Informer


def is_ready(cluster: Cluster) -> bool:
    """Whether the cluster accepts workloads."""
    return is_true(cluster.status.conditions, conditions.READY)


def stays(cluster: Cluster | None) -> bool:
    """Whether a cluster is there and does not leave: one that leaves is emptied, and nothing is made anew for it."""
    return cluster is not None and cluster.metadata.deletion_timestamp is None


def readiness(clusters: Informer[Cluster]) -> Callable[[str], bool | None]:
    """By name whether a cluster accepts workloads; None where there is no such cluster."""

    def look(name: str) -> bool | None:
        cluster = clusters.get(name)
        return None if cluster is None else is_ready(cluster)

    return look


def is_back(change: Change[Cluster]) -> bool:
    """Whether a cluster accepts workloads that did not before, or is reached by another way: nobody has followed what
    happens there. What a start finds is no change."""
    if change.new is None or change.initial:
        return False
    if change.old is None:
        return is_ready(change.new.value)
    before, after = change.old.value, change.new.value
    return is_ready(after) and (not is_ready(before) or _way(before) != _way(after))


def offers_changed(change: Change[Cluster]) -> bool:
    """Whether what decides about offering a cluster's endpoints to others may have changed, or whether it can take
    those of others: it came or goes, its readiness, its remedy actions, or what it serves."""
    if change.old is None or change.new is None:
        return True
    return _offer(change.old.value) != _offer(change.new.value)


def _offer(cluster: Cluster) -> object:
    enablements = cluster.status.api_enablements
    leaving = cluster.metadata.deletion_timestamp
    ready = [(c.status, c.last_transition_time) for c in cluster.status.conditions if c.type == conditions.READY]
    return leaving, ready, cluster.status.remedy_actions, enablements


def _way(cluster: Cluster) -> object:
    """All that may decide how a cluster is reached, and by whom; taints come and go with its readiness."""
    return msgspec.structs.replace(cluster.spec, taints=())
