"""A unified diff of two texts whose cost is bounded: `difflib` takes minutes for texts of some tens of kilobytes.

Equal lines at the beginning and at the end are left out of what it compares, and too many between them are shown as
replaced. Pure.
"""

import re
from collections.abc import Sequence
from difflib import unified_diff
from itertools import takewhile

CONTEXT = 3
MOST = 500
"""Lines of which `difflib` finds out which belong together: it takes a tenth of a second for them at worst."""
_PLACE = re.compile(r"^@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


def line_diff(before: Sequence[str], after: Sequence[str]) -> str:
    """The hunks that make one text of the other, without a head; empty where they are equal."""
    same = _alike(before, after)
    tail = min(_alike(before[::-1], after[::-1]), len(before) - same, len(after) - same)
    start, end = max(0, same - CONTEXT), max(0, tail - CONTEXT)
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if max(len(old), len(new)) > MOST:
        return "".join(_replaced(before, after, same, tail))
    hunks = list(unified_diff(old, new, n=CONTEXT))[2:]
    return "".join(_PLACE.sub(lambda found: _moved(found, start), line) for line in hunks)


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines are equal before the first that differs."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _moved(found: re.Match[str], start: int) -> str:
    old, old_lines, new, new_lines = found.groups(default="")
    return f"@@ -{int(old) + start}{old_lines} +{int(new) + start}{new_lines} @@"


def _replaced(before: Sequence[str], after: Sequence[str], same: int, tail: int) -> list[str]:
    """One hunk that takes out everything between what is equal, and puts in what is there instead."""
    start = max(0, same - CONTEXT)
    out, put = before[same : len(before) - tail], after[same : len(after) - tail]
    behind = before[len(before) - tail :][:CONTEXT]
    around = same - start + len(behind)
    lines = [f"@@ -{start + 1},{len(out) + around} +{start + 1},{len(put) + around} @@\n"]
    lines += [f" {line}" for line in before[start:same]]
    lines += [f"-{line}" for line in out]
    lines += [f"+{line}" for line in put]
    return lines + [f" {line}" for line in behind]
