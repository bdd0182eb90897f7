"""Webster's method (highest averages): hands out seats in proportion to votes, one at a time.

The next seat goes to the party with the greatest votes / (2 * seats + 1), in double precision; on a tie to the one with
fewer seats, then by name, ascending or descending as `ascending` says.

Most seats need no contest: all that come with a quotient above a bound are handed out at once, and only the last few
one by one. The cost depends on the number of parties, not on the number of seats.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from heapq import heapify, heapreplace
from typing import NamedTuple

FEW = 12
"""Seats that are handed out one by one at once."""
_FNV_OFFSET = 0x811C9DC5
_FNV_PRIME = 0x01000193


class Share(NamedTuple):
    """A party and its seats."""

    name: str
    seats: int


def divide(
    seats: int, votes: Iterable[tuple[str, int]], initial: Mapping[str, int] | None = None, ascending: bool = True
) -> list[Share]:
    """Hand out `seats` on top of the `initial` ones; the result is by name. Without any votes nothing changes."""
    held = dict(initial or {})
    parties = sorted(votes)
    if not any(count > 0 for _, count in parties) or (seats <= 0 and initial):
        return sorted(Share(name, count) for name, count in held.items())
    result = [held.pop(name, 0) for name, _ in parties]
    # A handful is handed out sooner than its bound is found.
    left = _uncontested(seats, parties, result) if seats > FEW else seats
    step = 1 if ascending else -1
    heap = [
        (-count / (2 * result[place] + 1), result[place], step * place)
        for place, (_, count) in enumerate(parties)
        if count > 0
    ]
    heapify(heap)
    for _ in range(left):
        _, has, rank = heap[0]
        place = rank * step
        result[place] = has + 1
        heapreplace(heap, (-parties[place][1] / (2 * has + 3), has + 1, rank))
    shares = [Share(name, count) for (name, _), count in zip(parties, result, strict=True)]
    return sorted([*shares, *(Share(*kept) for kept in held.items())]) if held else shares


def _uncontested(seats: int, parties: list[tuple[str, int]], result: list[int]) -> int:
    """Hand out the seats whose quotient is above a bound that no more than `seats` exceed; how many are left."""
    total = sum(count for _, count in parties if count > 0)
    # With a bound b, a party with v votes has at most v / (2 * b) + 1/2 quotients above it; this b keeps the sum low.
    rest = 2 * (seats + sum(result)) - len(parties)
    if rest <= 0:
        return seats
    extra = []
    for place, (_, count) in enumerate(parties):
        above = -(-count * rest // total) // 2 if count > 0 else 0
        extra.append(max(0, above - result[place]))
    if sum(extra) > seats:
        # Somebody holds more than their due, the others cannot have all of theirs.
        return seats
    for place, more in enumerate(extra):
        result[place] += more
    return seats - sum(extra)


@lru_cache(maxsize=1024)
def ties_ascend(uid: str) -> bool:
    """The direction of name ties for a resource: stable across restarts, and not the same for all resources."""
    if not uid:
        return True
    value = _FNV_OFFSET
    for byte in uid.encode():
        value = ((value ^ byte) * _FNV_PRIME) & 0xFFFFFFFF
    return value % 2 == 0
