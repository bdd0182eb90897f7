"""Choosing groups of clusters (regions, zones, providers, label values) for a spread constraint.

Every combination of groups that satisfies the constraints competes by its summed weight, then by its number of
clusters, then by the order in which the search meets it; a combination that begins the winner and satisfies the
constraints alone is preferred. Combinations grow exponentially: where any `fewest` groups will do the best ones are
taken directly, otherwise those that cannot win are skipped, and a search that still exceeds its budget ends with the
best combination met so far.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import comb
from typing import NamedTuple, Protocol

from karmada.scheduler.core.candidate import Candidate
from karmada.scheduler.core.candidates import Candidates, Listed, group_of

WEIGHT_UNIT = 1000
SEARCH_BUDGET = 20_000
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


class Scale(NamedTuple):
    """How groups are weighed: by how well they hold so many replicas."""

    replicas: int
    clusters: int = 0
    """In at least so many clusters."""
    each: bool = False
    """Whether every cluster holds all of them, so that only the clusters that have the room count."""

    def weigh(self, members: Candidates) -> int:
        """The weight of a group."""
        replicas = self.replicas
        if self.each:
            able, scores = members.able(replicas)
            return able * WEIGHT_UNIT + scores // able if able else 0
        room, score, walked = members.reach(replicas, self.clusters)
        if room < replicas:
            return room * WEIGHT_UNIT + score // len(members)
        return replicas * WEIGHT_UNIT + score // walked


class Groups(Protocol):
    """The candidates of a request by a common value; no group is empty."""

    def __len__(self) -> int: ...
    def weighed(self, scale: Scale) -> Sequence[ClusterGroup]:
        """All groups, in no particular order."""
        ...

    def members(self, name: str) -> Candidates:
        """The candidates of a group."""
        ...


class ListedGroups:
    """Groups of candidates that were worked out one by one."""

    def __init__(self, candidates: Iterable[Candidate], by: str, label: str) -> None:
        found: dict[str, list[Candidate]] = {}
        for candidate in candidates:
            found.setdefault(group_of(candidate.cluster, by, label), []).append(candidate)
        self._members = {name: Listed(members) for name, members in found.items()}

    def __len__(self) -> int:
        return len(self._members)

    def weighed(self, scale: Scale) -> Sequence[ClusterGroup]:
        """See `Groups`."""
        return [ClusterGroup(name, len(members), scale.weigh(members)) for name, members in self._members.items()]

    def members(self, name: str) -> Candidates:
        """See `Groups`."""
        return self._members[name]


def choose(groups: Sequence[ClusterGroup], fewest: int, most: int, clusters: int) -> Choice:
    """The best combination of `fewest` to `most` groups with at least so many clusters; none if there is none."""
    if (
        0 < fewest <= most
        and fewest < len(groups)
        and sum(sorted([group.size for group in groups])[:fewest]) >= clusters
    ):
        ranked = sorted([(-group.weight, -group.size, group.name, group) for group in groups])
        return Choice(_by_weight([group for *_, group in ranked[:fewest]]), comb(len(groups), fewest))
    ordered = sorted(groups, key=lambda group: (group.size, -group.weight, group.name))
    search = _Search(ordered, fewest, most, clusters)
    search.run()
    return Choice(search.shortest(_by_weight(search.best)), search.met)


class _Search:
    """Looks at minimal combinations in depth-first order and skips those that cannot win.

    A combination is complete as soon as it satisfies the constraints: what is longer is another combination's matter.
    """

    def __init__(self, ordered: Sequence[ClusterGroup], fewest: int, most: int, clusters: int) -> None:
        self._ordered = ordered
        self._fewest = fewest
        self._most = most
        self._clusters = clusters
        # With exactly as many groups as needed only the combination of all of them is looked at.
        self._only_all = len(ordered) == fewest
        self._budget = SEARCH_BUDGET
        self._heaviest: dict[int, list[int]] = {}
        self._sizes = list(accumulate((group.size for group in reversed(ordered)), initial=0))
        """How many clusters so many groups have at most."""
        self._path: list[ClusterGroup] = []
        self._rank = (-1, -1)
        self.best: tuple[ClusterGroup, ...] = ()
        self.met = 0

    def run(self) -> None:
        """Find the best combination."""
        self._extend(0, 0, 0)

    def shortest(self, best: tuple[ClusterGroup, ...]) -> tuple[ClusterGroup, ...]:
        """The shortest beginning of the best combination that is a combination itself."""
        return next((best[:length] for length in range(1, len(best)) if self._is_minimal(best[:length])), best)

    def _extend(self, begin: int, size: int, weight: int) -> None:
        path = self._path
        if self._satisfied(size, len(path)):
            self.met += 1
            if (weight, size) > self._rank:
                self._rank, self.best = (weight, size), tuple(path)
            return
        if len(path) >= self._most:
            return
        for index in range(begin, len(self._ordered)):
            self._budget -= 1
            if self._budget < 0 or not self._can_win(index, size, weight):
                return
            group = self._ordered[index]
            path.append(group)
            self._extend(index + 1, size + group.size, weight + group.weight)
            path.pop()
            if self._only_all:
                return

    def _satisfied(self, size: int, length: int) -> bool:
        return size >= self._clusters and self._fewest <= length <= self._most

    def _can_win(self, begin: int, size: int, weight: int) -> bool:
        """Whether going on with groups from here may give more than the best so far; an equal comes too late."""
        length = len(self._path)
        left = min(self._most - length, len(self._ordered) - begin)
        if length + left < self._fewest or size + self._sizes[left] < self._clusters:
            return False
        smallest = max(1, self._ordered[begin].size)
        more = min(left, max(self._fewest - length, -(-(self._clusters - size) // smallest)))
        heaviest = self._heaviest.get(begin)
        if heaviest is None:
            weights = sorted((group.weight for group in self._ordered[begin:]), reverse=True)
            heaviest = self._heaviest[begin] = list(accumulate(weights, initial=0))
        return (weight + heaviest[more], size + self._sizes[more]) > self._rank

    def _is_minimal(self, groups: tuple[ClusterGroup, ...]) -> bool:
        """Whether groups satisfy the constraints together, and no beginning of them in search order does."""
        chosen = set(groups)
        size, sizes = 0, []
        for group in self._ordered:
            if group in chosen:
                size += group.size
                sizes.append(size)
        *before, last = (self._satisfied(size, length) for length, size in enumerate(sizes, 1))
        return last and not any(before)


def _by_weight(groups: Sequence[ClusterGroup]) -> tuple[ClusterGroup, ...]:
    return tuple(sorted(groups, key=lambda group: (-group.weight, group.name)))
