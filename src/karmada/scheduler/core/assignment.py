"""How many replicas each selected cluster runs.

Steady: what runs stays where it is as far as possible, and only the difference is shared. Fresh: everything is shared
anew. With tiers of affinities each tier takes what it has room for and the rest overflows to the next.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from karmada.api.decision import ConstraintUnmet, Division, NotEnoughRoom
from karmada.api.work.v1alpha2 import TargetCluster, TargetComponent
from karmada.policies import webster
from karmada.scheduler.core.candidates import Candidates, Listed
from karmada.scheduler.core.capacity import needs_of
from karmada.scheduler.core.request import Request, Strategy
from karmada.scheduler.core.snapshot import Snapshot
from karmada.scheduler.core.weights import rules_of, static_weights


class Assignment(NamedTuple):
    """The clusters with their replicas, and the arithmetic behind it."""

    clusters: tuple[TargetCluster, ...]
    divisions: tuple[Division, ...] = ()


class _Shares(NamedTuple):
    replicas: Mapping[str, int]
    divisions: tuple[Division, ...]


_Failure = ConstraintUnmet | NotEnoughRoom


def assign(snapshot: Snapshot, request: Request, candidates: Candidates) -> Assignment | _Failure:
    """Share the replicas among the selected candidates; clusters that get none are left out."""
    if not len(candidates):
        return ConstraintUnmet(message="failed to assign replicas: no clusters available to schedule")
    if not request.is_workload:
        return Assignment(tuple([_whole(request, name) for name in candidates.names()]))
    shares = _share(snapshot, request, candidates)
    if not isinstance(shares, _Shares):
        return shares
    found = [TargetCluster(name=name, replicas=count) for name, count in shares.replicas.items() if count > 0]
    if request.settings.empty_workload_propagation:
        placed = {target.name for target in found}
        found += [TargetCluster(name=name) for name in candidates.names() if name not in placed]
    return Assignment(tuple(found), shares.divisions)


def _whole(request: Request, name: str) -> TargetCluster:
    components = request.spec.components
    if len(components) > 1 and request.places_sets:
        parts = tuple(TargetComponent(name=part.name, replicas=part.replicas) for part in components)
        return TargetCluster(name=name, components=parts)
    return TargetCluster(name=name)


def _share(snapshot: Snapshot, request: Request, candidates: Candidates) -> _Shares | _Failure:
    if len(request.tiers) > 1:
        return _by_tiers(snapshot, request, candidates)
    return _by_strategy(snapshot, request, candidates, request.spec.replicas)


def _by_strategy(snapshot: Snapshot, request: Request, candidates: Candidates, replicas: int) -> _Shares | _Failure:
    match request.strategy:
        case Strategy.DUPLICATED:
            shares = dict.fromkeys(candidates.names(), replicas)
            return _Shares(shares, (Division(strategy="Duplicated", mode="whole", replicas=replicas),))
        case Strategy.STATIC_WEIGHT:
            weights = static_weights(snapshot, rules_of(request.placement), candidates)
            room = _room(snapshot, request, candidates, replicas) if request.settings.heeds_room else None
            return _by_static_weight(request, weights, replicas, room)
        case Strategy.DYNAMIC_WEIGHT | Strategy.AGGREGATED:
            return _dynamically(request, candidates, replicas)
        case Strategy.UNKNOWN:
            scheduling = request.placement.replica_scheduling
            preference = scheduling.replica_division_preference if scheduling is not None else ""
            kind = scheduling.replica_scheduling_type if scheduling is not None else ""
            return ConstraintUnmet(
                message="failed to assign replicas: unsupported replica scheduling strategy, replicaSchedulingType: "
                f"{kind}, replicaDivisionPreference: {preference}, please try another scheduling strategy"
            )


def _by_static_weight(
    request: Request, weights: Mapping[str, int], replicas: int, room: Mapping[str, int] | None
) -> _Shares:
    ascending = webster.ties_ascend(request.spec.resource.uid)
    if room is None:
        shares = {share.name: share.seats for share in webster.divide(replicas, weights.items(), ascending=ascending)}
    else:
        shares = within_room(replicas, weights, room, ascending)
    mode = "whole" if room is None else "within room"
    return _Shares(shares, (Division(strategy="StaticWeight", mode=mode, replicas=replicas, weights=weights),))


def _room(snapshot: Snapshot, request: Request, candidates: Candidates, replicas: int) -> dict[str, int]:
    """What each candidate holds and still has room for.

    Estimates are the least that clusters have room for: where that is not enough for all, the sum over their nodes.
    """
    room = {one.name: one.available for one in candidates}
    if sum(room.values()) >= replicas:
        return room
    needs = needs_of(request.spec.replica_requirements)
    return {
        name: max(least, request.targets.get(name, 0) + snapshot.capacity(name).replicas(needs, by_model=False))
        for name, least in room.items()
    }


def within_room(
    replicas: int, weights: Mapping[str, int], room: Mapping[str, int], ascending: bool = True
) -> dict[str, int]:
    """Shares by weight of which none exceeds its room; what nobody has room for comes on top, by weight."""
    full: dict[str, int] = {}
    open_ = dict(weights)
    while True:
        left = replicas - sum(full.values())
        shares = {share.name: share.seats for share in webster.divide(left, open_.items(), ascending=ascending)}
        over = [name for name, count in shares.items() if count > room.get(name, 0)]
        if not over:
            break
        for name in over:
            full[name] = room.get(name, 0)
            del open_[name]
    if open_ or left <= 0:
        return full | shares
    return {share.name: share.seats for share in webster.divide(left, weights.items(), full, ascending)}


def _dynamically(request: Request, candidates: Candidates, replicas: int) -> _Shares | _Failure:
    """Share by what clusters have room for."""
    held = {name: count for name, count in request.targets.items() if candidates.holds(name)}
    assigned = sum(held.values())
    wanted = replicas if request.fresh else replicas - assigned
    ascending = request.strategy is Strategy.AGGREGATED or webster.ties_ascend(request.spec.resource.uid)
    room = {candidate.name: candidate.estimate for candidate in candidates.roomiest(wanted, ascending)}
    if request.fresh:
        room = {name: count + held.get(name, 0) for name, count in room.items()}
        return _divide(request, replicas, room, {}, "fresh", "failed to do fresh scale")
    if assigned > replicas:
        return _divide(request, replicas, held, {}, "scale down", "failed to scale down")
    if assigned < replicas:
        return _divide(request, replicas - assigned, room, held, "scale up", "failed to scale up")
    keep = Division(strategy=request.strategy.value, mode="keep", replicas=replicas, held=held)
    return _Shares(held, (keep,))


def _divide(
    request: Request, replicas: int, room: Mapping[str, int], held: Mapping[str, int], mode: str, failure: str
) -> _Shares | _Failure:
    total = sum(room.values())
    if total < replicas:
        text = f"Clusters available replicas {total} are not enough to schedule."
        return NotEnoughRoom(message=f"failed to assign replicas: {failure}: {text}")
    weights = sorted(room.items(), key=lambda item: -item[1])
    if request.strategy is Strategy.AGGREGATED:
        weights = _fewest(weights, replicas, held)
    shares = webster.divide(replicas, weights, ascending=webster.ties_ascend(request.spec.resource.uid))
    result = {share.name: share.seats + held.get(share.name, 0) for share in shares}
    for name, count in held.items():
        result.setdefault(name, count)
    division = Division(
        strategy=request.strategy.value, mode=mode, replicas=replicas, weights=dict(weights), held=dict(held)
    )
    return _Shares(result, (division,))


def _fewest(room: Sequence[tuple[str, int]], replicas: int, held: Mapping[str, int]) -> list[tuple[str, int]]:
    """The shortest beginning that has room for all, clusters that hold replicas first."""
    order = sorted(room, key=lambda item: held.get(item[0], 0) <= 0)
    total = 0
    for index, (_, count) in enumerate(order):
        total += count
        if total >= replicas:
            return order[: index + 1]
    return order


def _by_tiers(snapshot: Snapshot, request: Request, candidates: Candidates) -> _Shares | _Failure:
    left = request.spec.replicas
    shares: dict[str, int] = {}
    divisions: list[Division] = []
    for tier in range(len(request.tiers)):
        members = [candidate for candidate in candidates if candidate.tier == tier]
        if not members:
            continue
        part = min(left, sum(candidate.available for candidate in members))
        found = _by_strategy(snapshot, request, Listed(members), part)
        if not isinstance(found, _Shares):
            return found
        shares.update(found.replicas)
        divisions += found.divisions
        left -= part
    if left > 0:
        text = "Clusters available replicas are not enough to schedule."
        return NotEnoughRoom(message=f"failed to assign replicas: {text}")
    return _Shares(shares, tuple(divisions))
