"""Placing replicas on nodes, first fit: each replica goes to the first node that still has room for it.

Equal nodes stand together as one entry with a count, so that filling a thousand empty nodes costs one step. Sets of
demands are placed many at once, too: the result is that of placing them one after another.
"""

from collections.abc import Iterable, Sequence
from math import inf
from typing import NamedTuple

Amounts = dict[str, int]
MOST_AMOUNTS = 60_000
"""Amounts that are compared or copied to place sets after the first: some 50 ms."""


class Demand(NamedTuple):
    """Replicas of one kind: how many, what each needs, and the nodes they may use (None: all)."""

    replicas: int
    needs: Amounts
    nodes: frozenset[int] | None = None


class _Nodes:
    """Equal nodes."""

    __slots__ = ("count", "free", "place")

    def __init__(self, place: int, count: int, free: Amounts) -> None:
        self.place = place
        self.count = count
        self.free = free

    def is_like(self, other: "_Nodes") -> bool:
        """Whether the others are the same nodes but for those of them that were used meanwhile."""
        return self.place == other.place and self.free is other.free

    def fits(self, needs: Amounts) -> int:
        """How many replicas one of the nodes takes."""
        free = self.free
        return min((free.get(name, 0) // number for name, number in needs.items()), default=0)


class Simulation:
    """Nodes that fill up. Needs must include one of `pods` per replica, so that no replica is free."""

    def __init__(self, nodes: Iterable[tuple[int, Amounts]]) -> None:
        self._nodes = [_Nodes(place, count, free) for place, (count, free) in enumerate(nodes) if count > 0]
        self._budget: float = inf
        """Amounts that may still be compared or copied. Nothing more is placed when it is below zero."""

    def room(self, demand: Demand) -> int:
        """How many replicas fit at most, without placing any."""
        return sum(max(0, node.fits(demand.needs)) * node.count for node in self._allowed(demand))

    def place(self, demand: Demand) -> bool:
        """Place as many of the replicas as fit; whether all did."""
        return self._place(demand, 0) >= 0

    def _place(self, demand: Demand, index: int) -> int:
        """Place replicas from an entry on; the entry where the next one may fit, or -1 when not all did."""
        left = demand.replicas
        while left > 0 and index < len(self._nodes):
            self._budget -= 1 + len(demand.needs)
            if self._budget < 0:
                break
            node = self._nodes[index]
            if demand.nodes is not None and node.place not in demand.nodes:
                index += 1
                continue
            each = node.fits(demand.needs)
            if each <= 0:
                index += 1
                continue
            full = min(node.count, left // each)
            rest = left - full * each if full < node.count else 0
            self._split(index, node, full, each, rest, demand.needs)
            left -= full * each + rest
            # Behind the entries that are full now.
            index += full > 0
        return index if left <= 0 else -1

    def _split(self, index: int, node: _Nodes, full: int, each: int, rest: int, needs: Amounts) -> None:
        self._budget -= len(node.free)
        parts = []
        if full:
            parts.append(_Nodes(node.place, full, _less(node.free, needs, each)))
        if rest:
            parts.append(_Nodes(node.place, 1, _less(node.free, needs, rest)))
        untouched = node.count - full - (rest > 0)
        if untouched:
            parts.append(_Nodes(node.place, untouched, node.free))
        self._nodes[index : index + 1] = parts

    def place_set(self, demands: Iterable[Demand]) -> bool:
        """Place demands in order until one does not fit; whether all did."""
        return all(self.place(demand) for demand in demands)

    def sets(self, demands: Sequence[Demand], limit: int) -> int:
        """How many whole sets of demands can be placed one after another, up to a limit; this uses the nodes up.

        At least so many can where more would take more than `MOST_AMOUNTS`, as with nodes that a cluster makes up. The
        first set is placed whatever it takes, so that none is found only where none fits.
        """
        demands = [demand for demand in demands if demand.replicas > 0]
        # Nodes only fill up: what a demand did not fit into once it never fits into again.
        starts, count = [0] * len(demands), 0 if demands else limit
        mark: tuple[_Nodes, int] | None = None
        while True:
            starts = [self._first(demand, start) for demand, start in zip(demands, starts, strict=True)]
            if count >= limit or max(starts) >= len(self._nodes):
                break
            if len(set(starts)) == 1:
                # All nodes before are full for all demands. If that was so in front of others of these equal nodes,
                # then the next ones are filled as those between were, and so on.
                node = self._nodes[starts[0]]
                if mark is not None and mark[0].is_like(node):
                    used, placed = mark[0].count - node.count, count - mark[1]
                    times = min(node.count // used, (limit - count) // placed)
                    node, count = _Nodes(node.place, node.count - used * times, node.free), count + placed * times
                    self._nodes[starts[0] : starts[0] + 1] = [node] if node.count else []
                mark = node, count
                if not node.count or count >= limit:
                    continue
            placed = self._place_sets(demands, starts, limit - count)
            if not placed:
                break
            count += placed
            self._budget = min(self._budget, MOST_AMOUNTS)
        self._budget = inf
        return count

    def _first(self, demand: Demand, index: int) -> int:
        """The first entry from one on with room for a replica; behind the last if none has or the budget is spent."""
        for place in range(index, len(self._nodes)):
            self._budget -= 1 + len(demand.needs)
            if self._budget < 0:
                break
            node = self._nodes[place]
            if (demand.nodes is None or node.place in demand.nodes) and node.fits(demand.needs) > 0:
                return place
        return len(self._nodes)

    def _place_sets(self, demands: Sequence[Demand], starts: Sequence[int], most: int) -> int:
        """Place as many sets as go into the entries from which demands start, none of which they leave, or one."""
        alike: dict[int, list[Demand]] = {}
        for demand, start in zip(demands, starts, strict=True):
            alike.setdefault(start, []).append(demand)
        times = min(most, *(self._sets_in(self._nodes[index], group) for index, group in alike.items()))
        if times <= 0:
            return int(all(self._place(*each) >= 0 for each in zip(demands, starts, strict=True)))
        for index in sorted(alike, reverse=True):
            if len(group := alike[index]) == 1:
                self._place(group[0]._replace(replicas=group[0].replicas * times), index)
            else:
                self._split(index, self._nodes[index], 0, 0, times, _together(group))
        return times

    @staticmethod
    def _sets_in(nodes: _Nodes, group: Sequence[Demand]) -> int:
        """How many sets go into equal nodes if one demand starts there, or into the first of them if several do."""
        if len(group) == 1:
            return nodes.fits(group[0].needs) * nodes.count // group[0].replicas
        return nodes.fits(_together(group))

    def _allowed(self, demand: Demand) -> Iterable[_Nodes]:
        if demand.nodes is None:
            return self._nodes
        return [node for node in self._nodes if node.place in demand.nodes]


def _together(demands: Iterable[Demand]) -> Amounts:
    """What all replicas of a set need."""
    needs: Amounts = {}
    for demand in demands:
        for name, number in demand.needs.items():
            needs[name] = needs.get(name, 0) + number * demand.replicas
    return needs


def _less(free: Amounts, needs: Amounts, times: int) -> Amounts:
    left = dict(free)
    for name, number in needs.items():
        left[name] = left.get(name, 0) - number * times
    return left
