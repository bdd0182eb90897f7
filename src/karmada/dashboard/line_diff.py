"""A unified diff of two texts whose cost is known before: `difflib` takes minutes for some that repeat their lines.

Equal lines at the beginning and at the end are left out of what it compares. Pure.
"""

import re
from collections import Counter
from collections.abc import Sequence
from difflib import unified_diff
from itertools import takewhile
from typing import NamedTuple

CONTEXT = 3
_PLACE = re.compile(r"^@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


class LineDiff(NamedTuple):
    """Two texts, and how much of them is equal at both ends."""

    before: Sequence[str]
    after: Sequence[str]
    head: int
    tail: int

    @property
    def effort(self) -> int:
        """Steps that finding out which lines belong together takes at worst: each equal pair in each round."""
        old, new = Counter(self._old), Counter(self._new)
        pairs = sum(count * new[line] for line, count in old.items())
        return pairs * min(len(self._old), len(self._new))

    def hunks(self) -> str:
        """The hunks that make one text of the other, without a head; empty where they are equal."""
        start, end = max(0, self.head - CONTEXT), max(0, self.tail - CONTEXT)
        old, new = self.before[start : len(self.before) - end], self.after[start : len(self.after) - end]
        made = list(unified_diff(old, new, n=CONTEXT))[2:]
        return "".join(_PLACE.sub(lambda found: _moved(found, start), line) for line in made)

    def replaced(self) -> str:
        """One hunk that takes out everything between what is equal, and puts in what is there instead."""
        if self.before == self.after:
            return ""
        start = max(0, self.head - CONTEXT)
        behind = self.before[len(self.before) - self.tail :][:CONTEXT]
        around = self.head - start + len(behind)
        places = f"{_place(start, len(self._old) + around)} +{_place(start, len(self._new) + around)}"
        lines = [f"@@ -{places} @@\n"]
        lines += [f" {line}" for line in self.before[start : self.head]]
        lines += [f"-{line}" for line in self._old]
        lines += [f"+{line}" for line in self._new]
        return "".join(lines + [f" {line}" for line in behind])

    @property
    def _old(self) -> Sequence[str]:
        return self.before[self.head : len(self.before) - self.tail]

    @property
    def _new(self) -> Sequence[str]:
        return self.after[self.head : len(self.after) - self.tail]


def line_diff(before: Sequence[str], after: Sequence[str]) -> LineDiff:
    """What is to be compared of two texts."""
    head = _alike(before, after)
    tail = min(_alike(before[::-1], after[::-1]), len(before) - head, len(after) - head)
    return LineDiff(before, after, head, tail)


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines are equal before the first that differs."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _moved(found: re.Match[str], start: int) -> str:
    old, old_lines, new, new_lines = found.groups(default="")
    return f"@@ -{int(old) + start}{old_lines} +{int(new) + start}{new_lines} @@"


def _place(start: int, lines: int) -> str:
    return f"{start + 1 if lines else start},{lines}"
