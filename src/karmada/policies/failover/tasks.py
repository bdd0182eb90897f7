"""Moves a cluster of a binding from its schedule result to its graceful eviction tasks."""

from collections.abc import Iterable

import msgspec

from karmada.api.work.v1alpha2 import GracefulEvictionTask, ResourceBindingSpec


def is_target(spec: ResourceBindingSpec, cluster: str) -> bool:
    """Whether a cluster is in the schedule result."""
    return any(target.name == cluster for target in spec.clusters)


def is_evicting(spec: ResourceBindingSpec, cluster: str) -> bool:
    """Whether a cluster is being evicted already."""
    return any(task.from_cluster == cluster for task in spec.graceful_eviction_tasks)


def evict(spec: ResourceBindingSpec, tasks: Iterable[GracefulEvictionTask]) -> ResourceBindingSpec:
    """The spec without the clusters of the tasks; each task is added with the replicas its cluster had.

    A cluster that is no target is left alone; one that is being evicted already keeps the task it has.
    """
    clusters, pending = list(spec.clusters), list(spec.graceful_eviction_tasks)
    for task in tasks:
        target = next((target for target in clusters if target.name == task.from_cluster), None)
        if target is None:
            continue
        clusters.remove(target)
        if not any(known.from_cluster == task.from_cluster for known in pending):
            pending.append(msgspec.structs.replace(task, replicas=target.replicas or None))
    return msgspec.structs.replace(spec, clusters=tuple(clusters), graceful_eviction_tasks=tuple(pending))
