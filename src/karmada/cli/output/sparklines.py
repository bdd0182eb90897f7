"""Values over time as one line of bars, oldest first."""

from collections.abc import Sequence
from itertools import pairwise

BARS = "▁▂▃▄▅▆▇█"
GAP = " "
Points = Sequence[int | None]


def sparkline(points: Points, width: int) -> str:
    """At most `width` bars from zero to the largest value; of several points under one bar the largest shows.

    Points of which nothing is known are blank. The newest point is always the last bar.
    """
    if not points or width < 1:
        return ""
    per_bar = -(-len(points) // width)
    first = len(points) % per_bar or per_bar
    cuts = [0, *range(first, len(points) + 1, per_bar)]
    largest = [_largest(points[start:end]) for start, end in pairwise(cuts)]
    top = max((value for value in largest if value is not None), default=0)
    return "".join(GAP if value is None else _bar(value, top) for value in largest)


def added(series: Sequence[Points]) -> list[int | None]:
    """Several series together, aligned at their newest points; a moment at which one of them is missing is a gap."""
    length = max((len(points) for points in series), default=0)
    padded = [[*[None] * (length - len(points)), *points] for points in series]
    return [None if None in column else sum(filter(None, column)) for column in zip(*padded, strict=True)]


def _largest(points: Points) -> int | None:
    return max((point for point in points if point is not None), default=None)


def _bar(value: int, top: int) -> str:
    return BARS[min(len(BARS) - 1, value * len(BARS) // top)] if top > 0 else BARS[0]
