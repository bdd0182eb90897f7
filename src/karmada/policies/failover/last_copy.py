"""KeepLastCopy: an eviction ends only when what replaces the copy is confirmed, and is undone when nothing does.

A copy is confirmed when its cluster is ready, so that what was reported of it is not stale, and the report says that it
is healthy with all the replicas it was given; of a kind without health rules it is enough that the copy was applied.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from karmada.api import evictions
from karmada.api.codec import tree
from karmada.api.work.v1alpha2 import (
    AggregatedStatusItem,
    GracefulEvictionTask,
    ResourceBindingSpec,
    ResourceBindingStatus,
    ResourceHealth,
    TargetCluster,
)

READY_COUNTS = ("readyReplicas", "numberReady")
"""Where kinds report how many replicas are ready."""
UNREPLACED = "KeepLastCopy: the copy stays until its replacement is confirmed healthy"
QUARANTINED = "KeepLastCopy: the copy stays until its cluster is ready again and a replacement is confirmed healthy"
Clusters = Callable[[str], bool | None]
"""Whether a cluster is ready; None when there is no such cluster."""


def is_replaced(spec: ResourceBindingSpec, status: ResourceBindingStatus, is_ready: Clusters, has_health: bool) -> bool:
    """Whether confirmed copies have all the replicas that are wanted; of what has no replicas one copy is enough."""
    items = status.aggregated_status
    confirmed = [target for target in spec.clusters if _is_confirmed(target, items, is_ready, has_health)]
    return bool(confirmed) and sum(target.replicas for target in confirmed) >= spec.replicas


def hold(
    task: GracefulEvictionTask,
    spec: ResourceBindingSpec,
    status: ResourceBindingStatus,
    is_ready: Clusters,
    has_health: bool,
    *,
    fences: bool,
) -> str:
    """Why a task that is over may not end yet; empty when it may, or when someone asked for the purge.

    `fences`: whether policies that ask for fencing are obeyed.
    """
    if task.purge_mode == evictions.PURGE_DIRECTLY or task.suppress_deletion is False:
        return ""
    here = is_ready(task.from_cluster)
    if here is None or (fences and _is_fenced(spec) and not _is_reported(task.from_cluster, status)):
        return ""
    if not here:
        return QUARANTINED
    return "" if is_replaced(spec, status, is_ready, has_health) else UNREPLACED


def returns(
    task: GracefulEvictionTask,
    spec: ResourceBindingSpec,
    status: ResourceBindingStatus,
    is_ready: Clusters,
    has_health: bool,
) -> bool:
    """Whether a copy that nothing replaces runs well again in its cluster, and there is room for it in the result."""
    if task.purge_mode == evictions.PURGE_DIRECTLY or task.suppress_deletion is not None:
        return False
    share = _share(task, spec)
    placed = sum(target.replicas for target in spec.clusters)
    fits = placed + share.replicas <= spec.replicas if spec.replicas else not spec.clusters
    return fits and _is_confirmed(share, status.aggregated_status, is_ready, has_health)


def _share(task: GracefulEvictionTask, spec: ResourceBindingSpec) -> TargetCluster:
    """What the cluster of a task gets if it is taken back: what it had, or all if that is more than is wanted now."""
    had = task.replicas or 0
    return TargetCluster(name=task.from_cluster, replicas=had if spec.clusters else min(had, spec.replicas))


def taken_back(spec: ResourceBindingSpec, tasks: Iterable[GracefulEvictionTask]) -> ResourceBindingSpec:
    """The spec in which the clusters of some tasks are targets again, with the replicas they had."""
    for task in tasks:
        others = tuple(one for one in spec.graceful_eviction_tasks if one.from_cluster != task.from_cluster)
        clusters = (*spec.clusters, _share(task, spec))
        spec = msgspec.structs.replace(spec, clusters=clusters, graceful_eviction_tasks=others)
    return spec


def _is_fenced(spec: ResourceBindingSpec) -> bool:
    """Whether a copy is stopped before another starts: then a task may outlive the copy that it was to keep."""
    return spec.failover is not None and spec.failover.fencing is not None


def _is_reported(cluster: str, status: ResourceBindingStatus) -> bool:
    return any(item.cluster_name == cluster for item in status.aggregated_status)


def _is_confirmed(
    target: TargetCluster, items: Iterable[AggregatedStatusItem], is_ready: Clusters, has_health: bool
) -> bool:
    item = next((item for item in items if item.cluster_name == target.name), None)
    if item is None or not item.applied or not is_ready(target.name):
        return False
    if not has_health:
        return True
    return item.health == ResourceHealth.HEALTHY and _ready_replicas(tree(item.status), target) >= target.replicas


def _ready_replicas(status: Any, target: TargetCluster) -> int:
    """How many replicas a status says are ready; of a kind that does not count them, all."""
    counts = status if isinstance(status, dict) else {}
    if "replicas" not in counts and not any(name in counts for name in READY_COUNTS):
        return target.replicas
    found = next((counts[name] for name in READY_COUNTS if name in counts), 0)
    return found if isinstance(found, int) else 0
