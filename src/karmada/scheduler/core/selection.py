"""Which of the candidates are used, by the spread constraints."""

from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from karmada.api.decision import ConstraintUnmet, Group
from karmada.scheduler.core import grouping
from karmada.scheduler.core.candidate import Candidate
from karmada.scheduler.core.candidates import Candidates, Listed, best_of
from karmada.scheduler.core.grouping import Scale
from karmada.scheduler.core.ranking import Ranking
from karmada.scheduler.core.request import Request, Strategy


class Selection(NamedTuple):
    """The candidates used, and the groups that were weighed."""

    candidates: Candidates
    groups: tuple[Group, ...] = ()
    combinations: int = 0


def ignores_spread(request: Request) -> bool:
    """Whether all candidates are used: no constraints, or fixed weights say where replicas go."""
    if not request.placement.spread_constraints:
        return True
    if request.strategy is not Strategy.STATIC_WEIGHT:
        return False
    scheduling = request.placement.replica_scheduling
    preference = scheduling.weight_preference if scheduling is not None else None
    return preference is None or bool(preference.static_weight_list)


def select(request: Request, ranking: Ranking) -> Selection | ConstraintUnmet:
    """The candidates to use, best first."""
    if ignores_spread(request):
        return Selection(ranking)
    spread = request.spread
    for by in ("region", "label"):
        if by in spread:
            return _by_group(request, ranking, by)
    if "cluster" in spread:
        # Zones and providers beside a number of clusters only say what a cluster must have.
        return _by_cluster(request, ranking)
    return _by_group(request, ranking, "zone" if "zone" in spread else "provider")


def _by_cluster(request: Request, ranking: Ranking) -> Selection | ConstraintUnmet:
    constraint = request.spread["cluster"]
    if len(ranking) < constraint.min_groups:
        return _unmet("the number of feasible clusters is less than spreadConstraint.MinGroups")
    count = min(len(ranking), max(0, constraint.max_groups))
    if request.strategy is Strategy.DUPLICATED:
        return Selection(Listed(list(islice(ranking, count))))
    need = 1 if request.places_sets else request.spec.replicas
    chosen = with_room(ranking, count, need)
    if not chosen:
        return _unmet(f"no enough resource when selecting {count} clusters")
    return Selection(Listed(chosen))


def with_room(ranking: Iterable[Candidate], count: int, need: int) -> list[Candidate]:
    """The first candidates, the worst of them exchanged for roomier ones until the need is met; empty if it cannot."""
    candidates = iter(ranking)
    chosen = list(islice(candidates, count))
    room = sum(candidate.available for candidate in chosen)
    if room >= need:
        return chosen
    rest = list(candidates)
    for index in range(count - 1, -1, -1):
        if room >= need or not rest:
            break
        roomiest = max(range(len(rest)), key=lambda place: rest[place].available)
        gain = rest[roomiest].available - chosen[index].available
        if gain > 0:
            chosen[index], rest[roomiest] = rest[roomiest], chosen[index]
            room += gain
    return chosen if room >= need else []


def _by_group(request: Request, ranking: Ranking, by: str) -> Selection | ConstraintUnmet:
    constraint = request.spread[by]
    fewest, label = constraint.min_groups, constraint.spread_by_label
    cluster_constraint = request.spread.get("cluster")
    fewest_clusters = cluster_constraint.min_groups if cluster_constraint else 0
    most_clusters = cluster_constraint.max_groups if cluster_constraint else len(ranking)
    members = ranking.grouped(by, label)
    if len(members) < fewest:
        word = by if by != "label" else f"label {label}"
        return _unmet(f"the number of feasible {word} is less than spreadConstraint.MinGroups")
    groups = members.weighed(_scale(request, fewest, fewest_clusters))
    choice = grouping.choose(groups, fewest, constraint.max_groups, fewest_clusters)
    if not choice.groups:
        return _unmet("the number of clusters is less than the cluster spreadConstraint.MinGroups")
    chosen = best_of([members.members(group.name) for group in choice.groups], most_clusters)
    names = {group.name for group in choice.groups}
    weighed = sorted([(-group.weight, group.name, group.size) for group in groups])
    return Selection(
        Listed(chosen),
        tuple([_reported(name, size, -less, name in names) for less, name, size in weighed]),
        choice.combinations,
    )


@lru_cache(maxsize=4096)
def _reported(name: str, clusters: int, weight: int, chosen: bool) -> Group:
    """A group as decisions report it; most decisions report the same ones."""
    return Group(name=name, clusters=clusters, weight=weight, chosen=chosen)


def _scale(request: Request, fewest_groups: int, fewest_clusters: int) -> Scale:
    """How groups are weighed for a request."""
    replicas = request.spec.replicas
    if request.strategy is Strategy.DUPLICATED:
        return Scale(replicas, each=True)
    return Scale(-(-replicas // max(1, fewest_groups)), max(fewest_clusters, fewest_groups))


def _unmet(message: str) -> ConstraintUnmet:
    return ConstraintUnmet(message=f"failed to select clusters: {message}")
