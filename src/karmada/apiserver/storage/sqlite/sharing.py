"""Objects that resemble each other are stored as one of them and, for each, what is different.

The rule: objects of a kind that have the same name in several namespaces and as many quotes in their encoding are
alike. That is what the Works of one workload are. When so many of them are there that it is worth it, the one that came
last becomes their base. One whose difference is large stays as it is, and may become a base with others of its sort.

This happens when compaction passes an object, long after it was written: neither the write nor its readers wait for it.
"""

import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from karmada.apiserver.storage.base import Record
from karmada.apiserver.storage.delta import Delta, difference, pieces_of
from karmada.apiserver.storage.sqlite import database
from karmada.apiserver.storage.sqlite.database import Base

_WAITING = 20_000
"""Sorts of objects of which there are not enough yet; beyond that all of them are forgotten and counted anew."""
_CURRENT = "FROM log l JOIN current c ON c.key = l.key AND c.revision = l.revision WHERE"
_Sort = tuple[str, int]
"""What objects must have in common, and the number of their pieces."""


class Sharing(NamedTuple):
    """What is worth sharing."""

    copies: int = 8
    size: int = 1024
    """Of an object."""
    times: int = 4
    """How many times as large as its difference an object is."""


WORTH = Sharing()


class _Row(NamedTuple):
    revision: int
    key: str
    value: bytes


class _Shared(NamedTuple):
    row: _Row
    number: int
    """Of the base."""
    delta: Delta


class Bases:
    """The bases of a database; belongs to the thread that writes to it."""

    def __init__(self, known: dict[int, Base], sharing: Sharing) -> None:
        self._sharing = sharing
        self._is_known = True
        self._waiting: dict[_Sort, dict[str, int]] = {}
        """Revisions of objects without a base, by key."""
        self._know(known)

    def _know(self, known: dict[int, Base]) -> None:
        self._known = known
        self._newest = {(base.likeness, pieces_of(base.value)): number for number, base in known.items()}

    def forget(self) -> None:
        """Ask the database the next time: a transaction has failed."""
        self._is_known = False
        self._waiting = {}

    def shrink(self, db: sqlite3.Connection, after: int, until: int) -> list[Record]:
        """Store the current objects of some revisions as differences where that is worth it; those that are."""
        if not self._is_known:
            self._know(database.bases(db))
            self._is_known = True
        found = db.execute(
            f"SELECT l.revision, l.key, l.value {_CURRENT} l.revision > ? AND l.revision <= ? AND length(l.value) >= ?",
            (after, until, self._sharing.size),
        ).fetchall()
        shared = [one for row in found for one in self._shared(db, _Row(*row))]
        if shared:
            _store(db, shared)
        return [Record(one.row.key, one.delta, one.row.revision) for one in shared]

    def collect(self, db: sqlite3.Connection) -> None:
        """Drop the bases that nothing is a difference from any more."""
        if not self._known:
            return
        for (number,) in db.execute("SELECT id FROM base WHERE uses = 0").fetchall():
            db.execute("DELETE FROM base WHERE id = ?", (number,))
            base = self._known.pop(number)
            sort = base.likeness, pieces_of(base.value)
            if self._newest.get(sort) == number:
                del self._newest[sort]

    def _shared(self, db: sqlite3.Connection, row: _Row) -> Iterator[_Shared]:
        likeness = likeness_of(row.key)
        if not likeness:
            return
        sort = likeness, pieces_of(row.value)
        number = self._newest.get(sort)
        if number is not None and (delta := self._difference(self._known[number].value, row.value)) is not None:
            yield _Shared(row, number, delta)
            return
        if len(self._waiting) > _WAITING:
            self._waiting.clear()
        waiting = self._waiting.setdefault(sort, {})
        waiting[row.key] = row.revision
        if len(waiting) >= self._sharing.copies:
            yield from self._begin(db, sort, row.value, self._waiting.pop(sort))

    def _begin(self, db: sqlite3.Connection, sort: _Sort, value: bytes, waiting: dict[str, int]) -> Iterator[_Shared]:
        """Make an object the base of all that wait, if most of them are like it."""
        query = f"SELECT l.value {_CURRENT} l.revision = ?"
        rows = [
            _Row(revision, key, *found)
            for key, revision in waiting.items()
            if (found := db.execute(query, (revision,)).fetchone()) is not None
        ]
        if len(rows) < self._sharing.copies:
            self._waiting[sort] = {row.key: row.revision for row in rows}
            return
        alike = [(row, delta) for row in rows if (delta := self._difference(value, row.value)) is not None]
        if 2 * len(alike) < len(rows):
            return
        if not database.is_sharing(db):
            database.share(db)
        row = sort[0], zlib.compress(value)
        number = db.execute("INSERT INTO base (likeness, uses, value) VALUES (?, 0, ?)", row).lastrowid
        assert number is not None
        self._known[number] = Base(sort[0], value)
        self._newest[sort] = number
        for like, delta in alike:
            yield _Shared(like, number, delta)

    def _difference(self, base: bytes, value: bytes) -> Delta | None:
        changes = difference(base, value)
        if changes is None or self._sharing.times * len(changes) > len(value):
            return None
        delta = Delta(base, changes)
        return delta if delta.whole() == value else None


def likeness_of(key: str) -> str:
    """What the keys of objects that may be alike have in common: the kind and the name; empty for any other."""
    parts = key.split("/")
    return "/".join((parts[1], parts[2], parts[4])) if len(parts) == 5 and parts[3] else ""


def _store(db: sqlite3.Connection, shared: list[_Shared]) -> None:
    """Few statements: each gives the interpreter lock away, and has to win it back from the event loop."""
    uses = Counter(one.number for one in shared)
    db.executemany("UPDATE base SET uses = uses + ? WHERE id = ?", [(count, number) for number, count in uses.items()])
    rows = [(one.row.revision, one.number, one.delta.changes) for one in shared]
    db.executemany("INSERT INTO shared VALUES (?, ?, ?)", rows)
    db.executemany("DELETE FROM log WHERE revision = ?", [row[:1] for row in rows])
