"""Which bindings give replicas back, from which clusters, and how many."""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from karmada.api import annotations
from karmada.api.codec import DecodeError, decode
from karmada.api.policy.v1alpha1 import Placement
from karmada.api.work.v1alpha2 import AggregatedStatusItem, ResourceBinding, TargetCluster
from karmada.scheduler.core.request import Strategy, strategy_of

UNKNOWN = -1
"""Replicas nobody reported."""
_DYNAMIC = (Strategy.DYNAMIC_WEIGHT, Strategy.AGGREGATED)


class _Ready(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    ready_replicas: int | None = None


class Given(NamedTuple):
    """Replicas a cluster gives back."""

    cluster: str
    replicas: int


class Outcome(NamedTuple):
    """The new assignment, and what was given back for it."""

    clusters: tuple[TargetCluster, ...]
    given: tuple[Given, ...]

    @property
    def message(self) -> str:
        """What the event says."""
        parts = "".join(f"{one.replicas} replica(s) in cluster({one.cluster}), " for one in self.given)
        total = sum(one.replicas for one in self.given)
        return f"Binding has been descheduled, {parts}{total} total descheduled replica(s)"


def is_considered(binding: ResourceBinding) -> bool:
    """Deployments whose replicas were divided by what clusters have room for."""
    resource = binding.spec.resource
    if (resource.api_version, resource.kind) != ("apps/v1", "Deployment"):
        return False
    if binding.metadata.deletion_timestamp is not None:
        return False
    applied = binding.metadata.annotations.get(annotations.APPLIED_PLACEMENT, "")
    if not applied:
        return False
    try:
        return strategy_of(decode(applied, Placement)) in _DYNAMIC
    except DecodeError:
        return False


def undesired(binding: ResourceBinding) -> dict[str, int]:
    """The clusters with fewer ready replicas than assigned, with the ready ones."""
    ready = ready_replicas(binding)
    found = {}
    for target in binding.spec.clusters:
        count = ready.get(target.name, UNKNOWN)
        if count < target.replicas:
            found[target.name] = count
    return found


def ready_replicas(binding: ResourceBinding) -> dict[str, int]:
    """Ready replicas by cluster, as far as they are reported."""
    return {item.cluster_name: _ready(item) for item in binding.status.aggregated_status}


def descheduled(binding: ResourceBinding, unschedulable: Mapping[str, int]) -> Outcome:
    """Take back what waits for a node in vain, but nothing that is ready; more than is assigned is no answer."""
    ready = undesired(binding)
    clusters: list[TargetCluster] = []
    given: list[Given] = []
    for target in binding.spec.clusters:
        waiting = unschedulable.get(target.name, UNKNOWN)
        if target.name in ready and 0 < waiting <= target.replicas:
            left = max(target.replicas - waiting, ready[target.name])
            given.append(Given(target.name, target.replicas - left))
            target = msgspec.structs.replace(target, replicas=left)
        clusters.append(target)
    return Outcome(tuple(clusters), tuple(given))


def _ready(item: AggregatedStatusItem) -> int:
    if not item.status:
        return UNKNOWN
    try:
        found = msgspec.json.decode(item.status, type=_Ready).ready_replicas
    except msgspec.MsgspecError:
        return UNKNOWN
    return UNKNOWN if found is None else found
