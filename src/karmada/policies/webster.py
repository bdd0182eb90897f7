"""Webster's method (highest averages): hands out seats in proportion to votes, one at a time, exactly.

The next seat goes to the party with the greatest votes / (2 * seats + 1); on a tie to the one with fewer seats, then
by name, ascending or descending as `ascending` says. All comparisons are between integers.
"""

from collections.abc import Iterable, Mapping
from heapq import heapify, heapreplace
from typing import NamedTuple

_FNV_OFFSET = 0x811C9DC5
_FNV_PRIME = 0x01000193


class Share(NamedTuple):
    """A party and its seats."""

    name: str
    seats: int


class _Party:
    """A heap entry: the least is the one that gets the next seat."""

    __slots__ = ("ascending", "name", "seats", "votes")

    def __init__(self, name: str, votes: int, seats: int, ascending: bool) -> None:
        self.name = name
        self.votes = votes
        self.seats = seats
        self.ascending = ascending

    def __lt__(self, other: "_Party") -> bool:
        mine = self.votes * (2 * other.seats + 1)
        theirs = other.votes * (2 * self.seats + 1)
        if mine != theirs:
            return mine > theirs
        if self.seats != other.seats:
            return self.seats < other.seats
        return (self.name < other.name) is self.ascending


def divide(
    seats: int, votes: Iterable[tuple[str, int]], initial: Mapping[str, int] | None = None, ascending: bool = True
) -> list[Share]:
    """Hand out `seats` on top of the `initial` ones; the result is by name. Without any votes nothing changes."""
    held = dict(initial or {})
    parties = [_Party(name, count, held.pop(name, 0), ascending) for name, count in votes]
    heap = [party for party in parties if party.votes > 0]
    if not heap or (seats <= 0 and initial):
        return sorted(Share(name, count) for name, count in (initial or {}).items())
    heapify(heap)
    for _ in range(seats):
        winner = heap[0]
        winner.seats += 1
        heapreplace(heap, winner)
    return sorted([*(Share(party.name, party.seats) for party in parties), *(Share(*kept) for kept in held.items())])


def ties_ascend(uid: str) -> bool:
    """The direction of name ties for a resource: stable across restarts, and not the same for all resources."""
    if not uid:
        return True
    value = _FNV_OFFSET
    for byte in uid.encode():
        value = ((value ^ byte) * _FNV_PRIME) & 0xFFFFFFFF
    return value % 2 == 0
