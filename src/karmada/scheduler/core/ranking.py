"""Candidates in the order in which they are preferred, as the choice of clusters reads them.

`Listed` holds candidates that were worked out one by one. `Kept` stands on an order that is kept between requests:
without own clusters, all candidates score the same, so the order is by room and name, and the few clusters a binding
already goes to come before it. Both give the same answers.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import islice
from operator import itemgetter
from typing import NamedTuple, Protocol

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.policies.cluster_affinity import zones_of
from karmada.scheduler.core.amounts import UNLIMITED
from karmada.scheduler.core.candidates import Candidate, in_order, preference
from karmada.scheduler.core.snapshot import Snapshot

Entry = tuple[int, str]
"""Negative room and name: the order of candidates that score the same."""
_room_of = itemgetter(0)


def group_of(cluster: Cluster, by: str, label: str = "") -> str:
    """The value a cluster is grouped by."""
    match by:
        case "region":
            return cluster.spec.region
        case "provider":
            return cluster.spec.provider
        case "zone":
            return min(zones_of(cluster), default="")
    return cluster.metadata.labels.get(label, "")


class Reach(NamedTuple):
    """How far a walk over candidates went, and the room and the scores met on the way."""

    room: int
    score: int
    walked: int


class Members(Protocol):
    """Candidates, best first."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Candidate]: ...
    def names(self) -> list[str]:
        """The names, best first."""
        ...

    def told(self) -> Sequence[str]:
        """The same in a form that can be kept."""
        ...

    def holds(self, name: str) -> bool:
        """Whether a cluster is among them."""
        ...

    def roomiest(self, count: int, ascending: bool) -> list[Candidate]:
        """Enough of them to share so many replicas by room, in order: nobody left out could get any.

        Among those with equal room names decide, in the given direction.
        """
        ...

    def able(self, replicas: int) -> tuple[int, int]:
        """How many have room for so many replicas, and the sum of their scores."""
        ...

    def reach(self, share: int, fewest: int) -> Reach:
        """Walk until so many replicas have room in at least so many clusters, or to the end."""
        ...


class Ranking(Members, Protocol):
    """All candidates of a request."""

    def grouped(self, by: str, label: str = "") -> Mapping[str, Members]:
        """The candidates by a common value."""
        ...


class Listed:
    """Candidates in a list, best first."""

    def __init__(self, candidates: list[Candidate]) -> None:
        self._candidates = candidates
        self._names: frozenset[str] | None = None

    def __len__(self) -> int:
        return len(self._candidates)

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self._candidates)

    def names(self) -> list[str]:
        """See `Members`."""
        return [candidate.name for candidate in self._candidates]

    def told(self) -> Sequence[str]:
        """See `Members`."""
        return tuple(self.names())

    def holds(self, name: str) -> bool:
        """See `Members`."""
        if self._names is None:
            self._names = frozenset(self.names())
        return name in self._names

    def roomiest(self, count: int, ascending: bool) -> list[Candidate]:
        """See `Members`."""
        return self._candidates

    def able(self, replicas: int) -> tuple[int, int]:
        """See `Members`."""
        scores = [candidate.score for candidate in self._candidates if candidate.available >= replicas]
        return len(scores), sum(scores)

    def reach(self, share: int, fewest: int) -> Reach:
        """See `Members`."""
        return _walk(self._candidates, share, fewest)

    def grouped(self, by: str, label: str = "") -> Mapping[str, Members]:
        """See `Ranking`."""
        found: dict[str, list[Candidate]] = {}
        for candidate in self._candidates:
            found.setdefault(group_of(candidate.cluster, by, label), []).append(candidate)
        return {name: Listed(members) for name, members in found.items()}


def _walk(candidates: Iterable[Candidate], share: int, fewest: int) -> Reach:
    room = score = walked = 0
    for candidate in candidates:
        room += candidate.available
        score += candidate.score
        walked += 1
        if walked >= fewest and room >= share:
            break
    return Reach(room, score, walked)


class Order:
    """Clusters by room and name, and the same within groups; kept up to date entry by entry."""

    def __init__(self) -> None:
        self._version = -1
        self._room: dict[str, int] = {}
        self.entries: list[Entry] = []
        self._groups: dict[tuple[str, str], dict[str, list[Entry]]] = {}
        self._group_of: dict[tuple[str, str], dict[str, str]] = {}

    def refresh(self, snapshot: Snapshot, names: frozenset[str], room: Mapping[str, int] | None) -> None:
        """Take over who fits and what room there is; without room all are alike."""
        changed = snapshot.changes_since(self._version) if self._version >= 0 else None
        if changed is None or len(changed) * 16 > len(names):
            self._room = {name: UNLIMITED if room is None else room[name] for name in names}
            self.entries = sorted([(-count, name) for name, count in self._room.items()])
            self._groups, self._group_of = {}, {}
        else:
            for name in changed:
                self._remove(name)
                if name in names:
                    self._insert(name, UNLIMITED if room is None else room[name], snapshot.clusters)
        self._version = snapshot.version

    def adjusted(self, room: Mapping[str, int], snapshot: Snapshot) -> "Order":
        """A copy in which some clusters have other room."""
        copy = Order()
        copy._room = dict(self._room)
        copy.entries = list(self.entries)
        for which, groups in self._groups.items():
            copy._groups[which] = {name: list(members) for name, members in groups.items()}
            copy._group_of[which] = dict(self._group_of[which])
        for name, count in room.items():
            copy._remove(name)
            copy._insert(name, count, snapshot.clusters)
        return copy

    def groups(self, by: str, label: str, clusters: Mapping[str, Cluster]) -> Mapping[str, list[Entry]]:
        """Entries by group."""
        found = self._groups.get((by, label))
        if found is None:
            found = self._groups[by, label] = {}
            group_by_name = self._group_of[by, label] = {}
            for entry in self.entries:
                group = group_by_name[entry[1]] = group_of(clusters[entry[1]], by, label)
                found.setdefault(group, []).append(entry)
        return found

    def _remove(self, name: str) -> None:
        room = self._room.pop(name, None)
        if room is None:
            return
        entry = (-room, name)
        del self.entries[bisect_left(self.entries, entry)]
        for which, groups in self._groups.items():
            group = self._group_of[which].pop(name)
            members = groups[group]
            del members[bisect_left(members, entry)]
            if not members:
                del groups[group]

    def _insert(self, name: str, room: int, clusters: Mapping[str, Cluster]) -> None:
        self._room[name] = room
        entry = (-room, name)
        insort(self.entries, entry)
        for (by, label), groups in self._groups.items():
            group = self._group_of[by, label][name] = group_of(clusters[name], by, label)
            insort(groups.setdefault(group, []), entry)


class _Mixed:
    """Own candidates of a request, then kept entries without them."""

    def __init__(
        self,
        own: Sequence[Candidate],
        entries: Sequence[Entry],
        skipped: Mapping[str, int],
        clusters: Mapping[str, Cluster],
    ) -> None:
        self._own = own
        self._entries = entries
        self._skipped = skipped
        """Names in `entries` that are not candidates or stand in `own`, with their room."""
        self._clusters = clusters

    def __len__(self) -> int:
        return len(self._own) + len(self._entries) - len(self._skipped)

    def __iter__(self) -> Iterator[Candidate]:
        yield from self._own
        skipped, clusters = self._skipped, self._clusters
        for negative, name in self._entries:
            if name not in skipped:
                yield Candidate(name, clusters[name], 0, -negative, -negative)

    def names(self) -> list[str]:
        """See `Members`."""
        skipped = self._skipped
        others = [name for _, name in self._entries if name not in skipped]
        return [candidate.name for candidate in self._own] + others

    def told(self) -> Sequence[str]:
        """See `Members`."""
        return tuple(self.names())

    def holds(self, name: str) -> bool:
        """See `Members`."""
        return name in self.names()

    def roomiest(self, count: int, ascending: bool) -> list[Candidate]:
        """See `Members`. A replica goes to the roomiest of those that have none yet, or to one that has some."""
        entries = self._entries
        end = max(1, count) + len(self._skipped)
        if end >= len(entries):
            return list(self)
        if ascending:
            chosen = entries[:end]
        else:
            # Of the equals at the end the last ones by name come first.
            room = entries[end - 1][0]
            start, stop = bisect_left(entries, room, key=_room_of), bisect_right(entries, room, key=_room_of)
            chosen = [*entries[:start], *entries[stop - (end - start) : stop]]
        return list(_Mixed(self._own, chosen, self._skipped, self._clusters))

    def able(self, replicas: int) -> tuple[int, int]:
        """See `Members`."""
        if not self._own and not self._skipped:
            return bisect_right(self._entries, -replicas, key=_room_of), 0
        scores = [candidate.score for candidate in self._own if candidate.available >= replicas]
        others = bisect_right(self._entries, -replicas, key=_room_of)
        others -= sum(1 for room in self._skipped.values() if room >= replicas)
        return len(scores) + others, sum(scores)

    def reach(self, share: int, fewest: int) -> Reach:
        """See `Members`."""
        room = score = walked = 0
        if self._own:
            room, score, walked = _walk(self._own, share, fewest)
            if walked >= fewest and room >= share:
                return Reach(room, score, walked)
        skipped = self._skipped
        for negative, name in self._entries:
            if name in skipped:
                continue
            if not negative:
                # The rest has no room: only the number of clusters can still be reached.
                return Reach(room, score, min(len(self), max(walked + 1, fewest)) if room >= share else len(self))
            room -= negative
            walked += 1
            if walked >= fewest and room >= share:
                break
        return Reach(room, score, walked)


class Kept(_Mixed):
    """All candidates of a request on a kept order."""

    def __init__(
        self,
        own: Iterable[Candidate],
        order: Order,
        skipped: Mapping[str, int],
        clusters: Mapping[str, Cluster],
        fitting: Container[str],
        told: Callable[[list[str]], Sequence[str]],
    ) -> None:
        ordered = in_order(own)
        super().__init__(ordered, order.entries, skipped, clusters)
        self._order = order
        self._fitting = fitting
        self._told = told
        """Makes the names of all candidates from those of the own ones, without a list of its own."""

    def told(self) -> Sequence[str]:
        """See `Members`."""
        return self._told([candidate.name for candidate in self._own])

    def holds(self, name: str) -> bool:
        """See `Members`."""
        return name in self._fitting

    def grouped(self, by: str, label: str = "") -> Mapping[str, Members]:
        """See `Ranking`."""
        entries = self._order.groups(by, label, self._clusters)
        if not self._own and not self._skipped:
            return {name: _Mixed((), members, {}, self._clusters) for name, members in entries.items()}
        own: dict[str, list[Candidate]] = {}
        for candidate in self._own:
            own.setdefault(group_of(candidate.cluster, by, label), []).append(candidate)
        skipped: dict[str, dict[str, int]] = {}
        for name, room in self._skipped.items():
            skipped.setdefault(group_of(self._clusters[name], by, label), {})[name] = room
        found = {
            name: _Mixed(own.get(name, ()), entries.get(name, ()), skipped.get(name, {}), self._clusters)
            for name in {**entries, **own}
        }
        return {name: members for name, members in found.items() if len(members)}


def merged(groups: Iterable[Iterable[Candidate]], count: int) -> list[Candidate]:
    """The first candidates of several groups together."""
    return list(islice(merge(*groups, key=preference), count))
