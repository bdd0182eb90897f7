"""What is to be done with the Works of a binding: which are deleted, which are written, and what has to wait."""

from collections.abc import Iterable
from typing import NamedTuple

from karmada.api import names
from karmada.api.work.v1alpha1 import Work
from karmada.api.work.v1alpha2 import ResourceBindingSpec, TargetCluster
from karmada.works.build import keep_set, targets
from karmada.works.copies import Facts
from karmada.works.limits import Limited, Waiting, has_limits, limited, purges_directly, resized


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
    waiting: Waiting | None = None
    """What the policy's limits hold back for now."""


def plan(spec: ResourceBindingSpec, works: Iterable[Work], name: str, facts: Facts | None = None) -> Plan:
    """Decide from a binding's spec and the Works made for it; `name` is the one that its Works have today.

    Without `facts` the limits of the policy are not looked at.
    """
    works = list(works)
    own = {work.metadata.namespace: work for work in sorted(works, key=lambda work: work.metadata.name == name)}
    kept = {names.execution_space(cluster) for cluster in keep_set(spec)}
    unwanted = [work for work in works if work.metadata.namespace not in kept]
    write = [WriteWork(target, own.get(names.execution_space(target.name))) for target in targets(spec)]
    if facts is None or spec.failover is None or not has_limits(spec.failover):
        return Plan(unwanted, write, _purging(spec, own))
    purging = _purging(spec, own) if purges_directly(spec.failover) else set()
    purged = {names.execution_space(cluster) for cluster in purging}
    purged_works = [work for work in unwanted if work.metadata.namespace in purged]
    judged = limited(spec, works, [work for work in unwanted if work.metadata.namespace not in purged], facts)
    return Plan([*purged_works, *judged.delete], _allowed(write, own, judged), purging, judged.waiting)


def _purging(spec: ResourceBindingSpec, own: dict[str, Work]) -> set[str]:
    purged = {task.from_cluster for task in spec.graceful_eviction_tasks if task.purge_mode == "Directly"}
    return {cluster for cluster in purged if names.execution_space(cluster) in own}


def _allowed(write: list[WriteWork], own: dict[str, Work], judged: Limited) -> list[WriteWork]:
    """What may be written, with the replicas that may be; copies that are left shrink as well."""
    named = {one.target.name for one in write}
    found = [
        one._replace(target=resized(one.target, judged.replicas.get(one.target.name, one.target.replicas)))
        for one in write
        if one.target.name not in judged.unwritten
    ]
    return found + [
        WriteWork(TargetCluster(name=name, replicas=count), own[names.execution_space(name)])
        for name, count in judged.replicas.items()
        if name not in named
    ]
