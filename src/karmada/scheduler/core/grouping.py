"""Choosing groups of clusters (regions, zones, providers, label values) for a spread constraint.

Every combination of groups that satisfies the constraints competes by its summed weight, then by its number of
clusters, then by the order in which the search meets it; a combination that begins the winner and satisfies the
constraints alone is preferred. Combinations grow exponentially: where any `fewest` groups will do the best ones are
taken directly, and a search that exceeds its budget ends with the best combination met so far.
"""

from collections.abc import Sequence
from math import comb
from typing import NamedTuple

from karmada.scheduler.core.ranking import Members

WEIGHT_UNIT = 1000
SEARCH_BUDGET = 100_000
"""Steps of the search before it settles for what it has."""


class ClusterGroup(NamedTuple):
    """Candidates with a common value."""

    name: str
    size: int
    weight: int


class Choice(NamedTuple):
    """The groups chosen, and how many combinations there were to choose from."""

    groups: tuple[ClusterGroup, ...]
    combinations: int


def duplicated_weight(members: Members, replicas: int) -> int:
    """How well a group serves when each cluster holds all replicas: by the clusters that have the room."""
    able, scores = members.able(replicas)
    return able * WEIGHT_UNIT + scores // able if able else 0


def divided_weight(members: Members, share: int, fewest_clusters: int) -> int:
    """How well a group serves when it must hold a share of the replicas in at least so many clusters."""
    room, score, walked = members.reach(share, fewest_clusters)
    if room < share:
        return room * WEIGHT_UNIT + score // len(members)
    return share * WEIGHT_UNIT + score // walked


def choose(groups: Sequence[ClusterGroup], fewest: int, most: int, clusters: int) -> Choice:
    """The best combination of `fewest` to `most` groups with at least so many clusters; none if there is none."""
    ordered = sorted(groups, key=lambda group: (group.size, -group.weight, group.name))
    if 0 < fewest <= most and fewest < len(ordered) and sum(group.size for group in ordered[:fewest]) >= clusters:
        best = sorted(ordered, key=lambda group: (-group.weight, -group.size, group.name))[:fewest]
        return Choice(_by_weight(best), comb(len(ordered), fewest))
    found = _search(ordered, fewest, most, clusters)
    if not found:
        return Choice((), 0)
    ranked = sorted(found, key=lambda path: (-sum(g.weight for g in path), -sum(g.size for g in path)))
    best_path = ranked[0]
    for path in ranked[1:]:
        if len(path) < len(best_path) and path == best_path[: len(path)]:
            best_path = path
    return Choice(best_path, len(found))


def _search(ordered: Sequence[ClusterGroup], fewest: int, most: int, clusters: int) -> list[tuple[ClusterGroup, ...]]:
    """All minimal combinations in depth-first order, each by weight."""
    found: list[tuple[ClusterGroup, ...]] = []
    path: list[ClusterGroup] = []
    budget = SEARCH_BUDGET
    # With exactly as many groups as needed only the combination of all of them is looked at.
    only_all = len(ordered) == fewest

    def extend(begin: int, size: int) -> None:
        nonlocal budget
        if size >= clusters and fewest <= len(path) <= most:
            found.append(_by_weight(path))
            return
        if len(path) >= most:
            return
        for index in range(begin, len(ordered)):
            budget -= 1
            if budget < 0:
                return
            path.append(ordered[index])
            extend(index + 1, size + ordered[index].size)
            path.pop()
            if only_all:
                return

    extend(0, 0)
    return found


def _by_weight(groups: Sequence[ClusterGroup]) -> tuple[ClusterGroup, ...]:
    return tuple(sorted(groups, key=lambda group: (-group.weight, group.name)))
