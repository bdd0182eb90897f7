"""The copies of a resource that run now, by the Works of a binding and what members report of them."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from karmada.api import names
from karmada.api.codec import tree
from karmada.api.work.v1alpha1 import Work
from karmada.api.work.v1alpha2 import ResourceBindingSpec, ResourceHealth, TargetCluster
from karmada.works.build import is_workload, manifest_of
from karmada.works.status import is_applied, manifest_status

READY_COUNTS = ("readyReplicas", "numberReady")
"""Where kinds report how many replicas are ready."""


class Facts(NamedTuple):
    """What is known beyond a binding and its Works."""

    is_ready: Callable[[str], bool | None]
    """Whether a cluster is ready; None when there is no such cluster."""
    now: float
    has_health: bool = True
    """Whether the kind has health rules; of one without, what was applied is healthy."""
    overridden: Mapping[str, int] = {}
    """Replicas that override policies set, by cluster: nobody else can choose them there."""


class Copy(NamedTuple):
    """One copy that is not being deleted."""

    work: Work
    replicas: int | None
    """How many its Work asks for; None when the kind keeps that elsewhere."""
    ready: int
    """How many of them are ready, as far as a cluster that is ready itself has reported."""
    at_stake: int
    """How many ready ones may go with it: where a cluster does not answer, or the manifest could not be applied
    lately, those reported before. They may still run, and come back with their cluster."""


def copies_of(spec: ResourceBindingSpec, works: Iterable[Work], facts: Facts) -> dict[str, Copy]:
    """The copies by cluster. What a report says beyond what the Work asks for is out of date, and does not count."""
    shares = {target.name: target for target in spec.clusters}
    found: dict[str, Copy] = {}
    for work in works:
        if work.metadata.deletion_timestamp is None:
            cluster = names.cluster_of_execution_space(work.metadata.namespace)
            replicas = _requested(work) if counts_replicas(spec) else None
            share = replicas if replicas is not None else share_of(spec, shares.get(cluster))
            at_stake = min(share, _reported(spec, work, share, facts)) if facts.is_ready(cluster) is not None else 0
            is_known = facts.is_ready(cluster) and is_applied(work)
            found[cluster] = Copy(work, replicas, at_stake if is_known else 0, at_stake)
    return found


def counts_replicas(spec: ResourceBindingSpec) -> bool:
    """Whether the copies of a resource are counted in replicas; one that has none counts as one."""
    return is_workload(spec) and not spec.components


def share_of(spec: ResourceBindingSpec, target: TargetCluster | None) -> int:
    """How much of a resource a cluster is to run."""
    return target.replicas if target is not None and counts_replicas(spec) else 1


def _requested(work: Work) -> int | None:
    if not work.spec.workload.manifests:
        return None
    replicas = (manifest_of(work).get("spec") or {}).get("replicas")
    return replicas if isinstance(replicas, int) and not isinstance(replicas, bool) else None


def _reported(spec: ResourceBindingSpec, work: Work, share: int, facts: Facts) -> int:
    """The ready replicas of the last report."""
    found = manifest_status(work, spec.resource)
    if found is None:
        return share if is_applied(work) and not facts.has_health else 0
    status: Any = tree(found.status) if found.status else None
    counts = status if isinstance(status, dict) else {}
    if "replicas" in counts or any(name in counts for name in READY_COUNTS):
        count = next((counts[name] for name in READY_COUNTS if name in counts), 0)
        return count if isinstance(count, int) else 0
    return share if found.health == ResourceHealth.HEALTHY or not facts.has_health else 0
