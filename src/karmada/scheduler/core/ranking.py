"""All candidates of a request, best first.

`Ranked` holds candidates that were worked out one by one. `Kept` stands on an order that is kept between requests:
without own clusters, all candidates score the same, so the order is by room and name, and the few clusters a binding
already goes to come before it. Both give the same answers.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Protocol

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.scheduler.core.candidate import Candidate, in_order
from karmada.scheduler.core.candidates import Candidates, Listed, Reach, walk
from karmada.scheduler.core.grouping import ClusterGroup, Groups, ListedGroups, Scale
from karmada.scheduler.core.order import Entry, Order, Parts

_room_of = itemgetter(0)


class Ranking(Candidates, Protocol):
    """All candidates of a request."""

    def grouped(self, by: str, label: str = "") -> Groups:
        """The candidates by a common value."""
        ...


class Ranked(Listed):
    """Candidates that were evaluated one by one, best first."""

    def grouped(self, by: str, label: str = "") -> Groups:
        """See `Ranking`."""
        return ListedGroups(self, by, label)


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

    def first(self, count: int) -> list[Candidate]:
        """See `Candidates`."""
        skipped, clusters = self._skipped, self._clusters
        found = list(self._own[:count])
        entries = self._entries[: count - len(found) + len(skipped)]
        found += [Candidate(name, clusters[name], 0, -less, -less) for less, name in entries if name not in skipped]
        return found[:count]

    def names(self) -> list[str]:
        """See `Candidates`."""
        skipped = self._skipped
        others = [name for _, name in self._entries if name not in skipped]
        return [candidate.name for candidate in self._own] + others

    def frozen_names(self) -> Sequence[str]:
        """See `Candidates`."""
        return tuple(self.names())

    def holds(self, name: str) -> bool:
        """See `Candidates`."""
        return name in self.names()

    def roomiest(self, count: int, ascending: bool) -> list[Candidate]:
        """See `Candidates`. A replica goes to the roomiest of those that have none yet, or to one that has some."""
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
        """See `Candidates`."""
        if not self._own and not self._skipped:
            return bisect_right(self._entries, -replicas, key=_room_of), 0
        scores = [candidate.score for candidate in self._own if candidate.available >= replicas]
        others = bisect_right(self._entries, -replicas, key=_room_of)
        others -= sum(1 for room in self._skipped.values() if room >= replicas)
        return len(scores) + others, sum(scores)

    def reach(self, share: int, fewest: int) -> Reach:
        """See `Candidates`."""
        room = score = walked = 0
        if self._own:
            room, score, walked = walk(self._own, share, fewest)
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


class KeptGroups:
    """Groups on a kept order: those without anything of the request's own were weighed before."""

    def __init__(
        self,
        own: Sequence[Candidate],
        parts: Parts,
        skipped: Mapping[str, int],
        clusters: Mapping[str, Cluster],
    ) -> None:
        self._parts = parts
        self._clusters = clusters
        self._special: dict[str, _Mixed] = {}
        if not own and not skipped:
            return
        mine: dict[str, list[Candidate]] = {}
        for candidate in own:
            mine.setdefault(parts.group(candidate.cluster), []).append(candidate)
        without: dict[str, dict[str, int]] = {}
        for name, room in skipped.items():
            without.setdefault(parts.group_of[name], {})[name] = room
        for group in {**mine, **without}:
            entries = parts.entries.get(group, ())
            self._special[group] = _Mixed(mine.get(group, ()), entries, without.get(group, {}), clusters)

    def __len__(self) -> int:
        usual = self._parts.entries
        return len(usual) + sum([bool(len(group)) - (name in usual) for name, group in self._special.items()])

    def weighed(self, scale: Scale) -> Sequence[ClusterGroup]:
        """See `Groups`."""
        known, entries, special = self._parts.weights(scale), self._parts.entries, self._special
        if len(known) < len(entries):
            for name, members in entries.items():
                if name not in known:
                    known[name] = ClusterGroup(name, len(members), scale.weigh(_Mixed((), members, {}, self._clusters)))
        if not special:
            return list(known.values())
        found = [group for name, group in known.items() if name not in special]
        found += [ClusterGroup(name, len(group), scale.weigh(group)) for name, group in special.items() if len(group)]
        return found

    def members(self, name: str) -> Candidates:
        """See `Groups`."""
        return self._special.get(name) or _Mixed((), self._parts.entries[name], {}, self._clusters)


class Kept(_Mixed):
    """All candidates of a request on a kept order."""

    def __init__(
        self,
        own: Iterable[Candidate],
        order: Order,
        skipped: Mapping[str, int],
        clusters: Mapping[str, Cluster],
        fitting: Container[str],
        frozen_names: Callable[[list[str]], Sequence[str]],
    ) -> None:
        super().__init__(in_order(own), order.entries, skipped, clusters)
        self._order = order
        self._fitting = fitting
        self._frozen_names = frozen_names
        """Makes the names of all candidates from those of the own ones, without a list of its own."""

    def frozen_names(self) -> Sequence[str]:
        """See `Candidates`."""
        return self._frozen_names([candidate.name for candidate in self._own])

    def holds(self, name: str) -> bool:
        """See `Candidates`."""
        return name in self._fitting

    def grouped(self, by: str, label: str = "") -> Groups:
        """See `Ranking`."""
        parts = self._order.parts(by, label, self._clusters)
        return KeptGroups(self._own, parts, self._skipped, self._clusters)
