"""ReplicaSchedulingPolicy: clusters that are too full give up replicas that fit elsewhere.

A cluster is too full when more than a share of what it offers is taken. It gives up replicas of workloads that are
divided by room: no more than bring it under the threshold, and only as many as have room in other clusters that fit the
placement and are not too full themselves. The replicas are handed to those clusters in the same write, in proportion to
their room, so that nothing is ever missing and the scheduler has no reason to send them back.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.config.v1alpha1 import UtilizationThreshold
from karmada.api.feature_gates import DEFAULTS, FeatureGates
from karmada.api.policy.v1alpha1 import RescheduleTrigger
from karmada.api.quantity import QuantityError
from karmada.api.work.v1alpha2 import Component, ComponentReplicaRequirements, ResourceBinding, TargetCluster
from karmada.policies import webster
from karmada.scheduler.core.amounts import amount, requested
from karmada.scheduler.core.assumptions import AssumedWorkload
from karmada.scheduler.core.decide import fits_anywhere
from karmada.scheduler.core.facts import estimate
from karmada.scheduler.core.framework import DEFAULT
from karmada.scheduler.core.request import Settings, Strategy, strategy_of
from karmada.scheduler.core.snapshot import Snapshot
from karmada.scheduler.core.trigger import may_move

_SETTINGS = Settings(FeatureGates({"SchedulingOvercommitProtection": True}))
_DYNAMIC = (Strategy.DYNAMIC_WEIGHT, Strategy.AGGREGATED)


class Move(NamedTuple):
    """Replicas that leave a cluster, and the assignment that makes them do so."""

    binding: ResourceBinding
    from_cluster: str
    replicas: int
    clusters: tuple[TargetCluster, ...]


def excess(cluster: Cluster, threshold: UtilizationThreshold) -> dict[str, int]:
    """By how much a cluster is too full, by resource; empty when it is not."""
    summary = cluster.status.resource_summary
    if summary is None:
        return {}
    found = {}
    limits = {"cpu": threshold.cpu_utilization, "memory": threshold.memory_utilization}
    for resource, percent in limits.items():
        if percent is None or resource not in summary.allocatable:
            continue
        try:
            offered = amount(resource, summary.allocatable[resource])
            taken = amount(resource, summary.allocated.get(resource, 0))
        except QuantityError:
            continue
        over = taken - offered * percent // 100
        if offered > 0 and over > 0:
            found[resource] = over
    return found


def moves(
    clusters: Iterable[Cluster], bindings: Iterable[ResourceBinding], threshold: UtilizationThreshold
) -> tuple[list[str], list[Move]]:
    """The clusters that are too full, and what they give up. The least important workloads move first."""
    known = [cluster for cluster in clusters if cluster.metadata.deletion_timestamp is None]
    too_full = {cluster.metadata.name: over for cluster in known if (over := excess(cluster, threshold))}
    if not too_full:
        return [], []
    assumed: dict[str, tuple[AssumedWorkload, ...]] = {}
    snapshot = Snapshot(known, assumed=assumed)
    found: list[Move] = []
    for binding in sorted(bindings, key=_importance):
        for name in [target.name for target in binding.spec.clusters if target.name in too_full]:
            move = _move(snapshot, binding, name, too_full)
            if move is not None:
                found.append(move)
                _account(assumed, too_full, move)
                # One move per binding and round: the next is decided on what is there then.
                break
    return sorted(too_full), found


def _move(
    snapshot: Snapshot, binding: ResourceBinding, name: str, too_full: Mapping[str, Mapping[str, int]]
) -> Move | None:
    needs = _needs(binding)
    over = too_full[name]
    relevant = [(over[resource], needs[resource]) for resource in over if needs.get(resource, 0) > 0]
    held = next(target.replicas for target in binding.spec.clusters if target.name == name)
    wanted = min(held, max((-(-more // each) for more, each in relevant), default=0))
    if wanted <= 0:
        return None
    request, fitting = fits_anywhere(snapshot, binding, _SETTINGS, DEFAULT)
    if request is None:
        return None
    others = [cluster for cluster in fitting if cluster.metadata.name not in too_full]
    room = {other: count for other, count in estimate(snapshot, request, others, {}).items() if count > 0}
    count = min(wanted, sum(room.values()))
    if count <= 0:
        return None
    ascending = webster.ties_ascend(binding.spec.resource.uid)
    gained = {share.name: share.seats for share in webster.divide(count, room.items(), ascending=ascending)}
    return Move(binding, name, count, _reassigned(binding.spec.clusters, name, count, gained))


def _reassigned(
    clusters: Sequence[TargetCluster], name: str, count: int, gained: Mapping[str, int]
) -> tuple[TargetCluster, ...]:
    left = dict(gained)
    changed = []
    for target in clusters:
        replicas = target.replicas + left.pop(target.name, 0) - (count if target.name == name else 0)
        if replicas > 0:
            changed.append(msgspec.structs.replace(target, replicas=replicas))
    changed += [TargetCluster(name=other, replicas=more) for other, more in sorted(left.items()) if more > 0]
    return tuple(changed)


def _account(assumed: dict[str, tuple[AssumedWorkload, ...]], too_full: dict[str, dict[str, int]], move: Move) -> None:
    """Count a move as done for the ones after it."""
    before = {target.name: target.replicas for target in move.binding.spec.clusters}
    requirements = move.binding.spec.replica_requirements
    asks = requirements.resource_request if requirements is not None else {}
    for target in move.clusters:
        more = target.replicas - before.get(target.name, 0)
        if more > 0:
            one = ComponentReplicaRequirements(resource_request=asks)
            part = Component(name="", replicas=more, replica_requirements=one)
            workload = AssumedWorkload(move.binding.metadata.namespace, (part,))
            assumed[target.name] = (*assumed.get(target.name, ()), workload)
    needs = _needs(move.binding)
    over = {
        resource: left
        for resource, more in too_full[move.from_cluster].items()
        if (left := more - needs.get(resource, 0) * move.replicas) > 0
    }
    # A cluster stays out of the running even when it gives up enough: it must not get anything in the same round.
    too_full[move.from_cluster] = over


def _needs(binding: ResourceBinding) -> Mapping[str, int]:
    requirements = binding.spec.replica_requirements
    try:
        return requested(requirements.resource_request) if requirements is not None else {}
    except QuantityError:
        return {}


def is_movable(binding: ResourceBinding) -> bool:
    """Whether the replicas of a binding are divided by room."""
    placement = binding.spec.placement
    return (
        placement is not None
        and binding.metadata.deletion_timestamp is None
        and binding.spec.replicas > 0
        and not binding.spec.graceful_eviction_tasks
        and strategy_of(placement) in _DYNAMIC
        and may_move(binding, DEFAULTS, RescheduleTrigger.CAPACITY)
    )


def _importance(binding: ResourceBinding) -> tuple[int, str, str]:
    wish = binding.spec.schedule_priority
    return (wish.priority if wish is not None else 0), binding.metadata.namespace, binding.metadata.name
