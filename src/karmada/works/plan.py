"""What is to be done with the Works of a binding: which are deleted, which are written, and what has to wait."""

from collections.abc import Iterable
from typing import NamedTuple

from karmada.api import names
from karmada.api.work.v1alpha1 import Work
from karmada.api.work.v1alpha2 import ResourceBindingSpec, TargetCluster
from karmada.works.build import keep_set, targets


class WriteWork(NamedTuple):
    """The Work of a target is created, or the one it has is brought up to date."""

    target: TargetCluster
    existing: Work | None


class Plan(NamedTuple):
    """Deletions come first; nothing is written while a cluster is being purged."""

    delete: list[Work]
    write: list[WriteWork]
    purging: set[str]
    """Clusters whose copy must be gone before its replacement starts: both must not run at the same time."""


def plan(spec: ResourceBindingSpec, works: Iterable[Work], name: str) -> Plan:
    """Decide from a binding's spec and the Works made for it; `name` is the one that its Works have today."""
    own = {work.metadata.namespace: work for work in sorted(works, key=lambda work: work.metadata.name == name)}
    kept = {names.execution_space(cluster) for cluster in keep_set(spec)}
    purged = {task.from_cluster for task in spec.graceful_eviction_tasks if task.purge_mode == "Directly"}
    purging = {cluster for cluster in purged if names.execution_space(cluster) in own}
    return Plan(
        delete=[work for work in works if work.metadata.namespace not in kept],
        write=[WriteWork(target, own.get(names.execution_space(target.name))) for target in targets(spec)],
        purging=purging,
    )
