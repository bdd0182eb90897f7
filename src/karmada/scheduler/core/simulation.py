"""Placing replicas on nodes, first fit: each replica goes to the first node that still has room for it.

Equal nodes stand together as one entry with a count, so that filling a thousand empty nodes costs one step.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

Amounts = dict[str, int]


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

    def fits(self, needs: Amounts) -> int:
        """How many replicas one of the nodes takes."""
        free = self.free
        return min((free.get(name, 0) // number for name, number in needs.items()), default=0)


class Simulation:
    """Nodes that fill up. Needs must include one of `pods` per replica, so that no replica is free."""

    def __init__(self, nodes: Iterable[tuple[int, Amounts]]) -> None:
        self._nodes = [_Nodes(place, count, free) for place, (count, free) in enumerate(nodes) if count > 0]

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
        """How many whole sets of demands can be placed one after another, up to a limit."""
        if not any(demand.replicas > 0 for demand in demands):
            return limit
        # Nodes only fill up: what a demand did not fit into once it never fits into again.
        starts = [0] * len(demands)
        for count in range(limit):
            for which, demand in enumerate(demands):
                starts[which] = self._place(demand, starts[which])
                if starts[which] < 0:
                    return count
        return limit

    def _allowed(self, demand: Demand) -> Iterable[_Nodes]:
        if demand.nodes is None:
            return self._nodes
        return [node for node in self._nodes if node.place in demand.nodes]


def _less(free: Amounts, needs: Amounts, times: int) -> Amounts:
    left = dict(free)
    for name, number in needs.items():
        left[name] = left.get(name, 0) - number * times
    return left
