"""What OpenSearch has of each collection and what waits to be sent there, in one bounded SQLite file.

A row is a document: the revision that was recorded last, and a number while it waits. Contents are not kept: what is
sent is what the cache holds at that time, so a document waits once however often its object changes, and no object's
data is on the disk. A collection as a whole is compared with the rows, so that nothing is missed that happened while
nobody recorded. A file that was lost makes everything be sent again.
"""

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from karmada.machinery.transport import GroupVersionResource
from karmada.search.file import File, Layout

LIMIT = 512 << 20
"""Bytes that the file may have: some three million documents."""
_LAYOUT = Layout(
    0x6B737271,
    1,
    """
create table collections (
  id integer primary key autoincrement, backend text, cluster text, api text, version text, plural text,
  unique (backend, cluster, api, version, plural)
);
create table documents (
  id integer primary key autoincrement, collection integer, uid text, namespace text, name text, revision integer,
  waiting integer, attempted integer, unique (collection, uid)
);
create index by_waiting on documents (collection, waiting) where waiting > 0;
""",
)


class Change(NamedTuple):
    """An object that has to be sent at a revision; 0 where it is gone."""

    uid: str
    namespace: str
    name: str
    revision: int


class Waiting(NamedTuple):
    """A document that waits."""

    id: int
    uid: str
    namespace: str
    name: str
    number: int
    """Another one when it changes again."""


class Queue(File):
    """The queues of all backends; a full one raises `sqlite3.OperationalError` and records nothing."""

    def __init__(self, path: Path, limit: int = LIMIT) -> None:
        super().__init__(path, _LAYOUT, limit)
        (last,) = self.run("select max(waiting) from documents").fetchone()
        self._numbers = itertools.count((last or 0) + 1)

    def claim(self, backend: str, cluster: str, type_: GroupVersionResource) -> int:
        """The number of a collection."""
        where = (backend, cluster, *type_)
        with self.transaction():
            self.run(
                "insert or ignore into collections (backend, cluster, api, version, plural) values (?, ?, ?, ?, ?)",
                where,
            )
            found = self.run(
                "select id from collections"
                " where backend = ? and cluster = ? and api = ? and version = ? and plural = ?",
                where,
            )
            number: int = found.fetchone()[0]
        return number

    def keep(self, collections: Iterable[int]) -> None:
        """Forget all other collections: nobody sends them any more."""
        kept = ", ".join(map(str, collections))
        with self.transaction():
            self.run(f"delete from documents where collection not in ({kept})")
            self.run(f"delete from collections where id not in ({kept})")

    def record(self, collection: int, changes: Iterable[Change]) -> None:
        """These wait from now on."""
        with self.transaction():
            for change in changes:
                self._put(collection, change)

    def compare(self, collection: int, objects: Iterable[Change]) -> None:
        """These are all objects of a collection: what differs waits from now on."""
        with self.transaction():
            rows = self.run("select uid, namespace, name, revision from documents where collection = ?", (collection,))
            known = {row[0]: Change(*row) for row in rows}
            for change in objects:
                if known.pop(change.uid, None) != change:
                    self._put(collection, change)
            for change in known.values():
                if change.revision:
                    self._put(collection, change._replace(revision=0))

    def take(self, collection: int, count: int) -> list[Waiting]:
        """Those of a collection that have waited longest; they count as sent, whatever becomes of them."""
        with self.transaction():
            rows = self.run(
                "select id, uid, namespace, name, waiting from documents"
                " where collection = ? and waiting > 0 order by waiting limit ?",
                (collection, count),
            ).fetchall()
            for row in rows:
                self.run("update documents set attempted = 1 where id = ? and attempted = 0", row[:1])
        return [Waiting(*row) for row in rows]

    def settle(self, settled: Iterable[tuple[Waiting, bool]]) -> None:
        """These were sent, or cannot be; with False where the document is gone. What changed meanwhile still waits."""
        with self.transaction():
            for waiting, exists in settled:
                which = (waiting.id, waiting.number)
                if exists:
                    self.run("update documents set waiting = 0 where id = ? and waiting = ?", which)
                else:
                    self.run("delete from documents where id = ? and waiting = ?", which)

    def _put(self, collection: int, change: Change) -> None:
        if not change.revision:
            # What was never sent need not be deleted there: a long outage costs no row for what came and went.
            self.run(
                "delete from documents where collection = ? and uid = ? and attempted = 0", (collection, change.uid)
            )
            values = (next(self._numbers), collection, change.uid)
            self.run(
                "update documents set waiting = ?, revision = 0 where collection = ? and uid = ? and attempted = 1",
                values,
            )
            return
        self.run(
            "insert into documents (collection, uid, namespace, name, revision, waiting, attempted)"
            " values (?, ?, ?, ?, ?, ?, 0) on conflict (collection, uid) do update set"
            " namespace = excluded.namespace, name = excluded.name, revision = excluded.revision,"
            " waiting = excluded.waiting",
            (collection, *change, next(self._numbers)),
        )
