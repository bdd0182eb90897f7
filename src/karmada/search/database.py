"""What is cached, in one SQLite file: the bytes of objects for the next start, their words for queries.

- A collection has a revision only when all of it at that revision is in the file: both are written in one transaction.
- A file that cannot be used is thrown away: members have everything in it.
- The bodies of Secrets are never in it.
- The bodies of a collection lie side by side: a restart reads the file once, from its beginning to its end.
"""

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from karmada.apiserver.storage.base import Record, Snapshot
from karmada.apiserver.watchcache.keys import prefix_of
from karmada.machinery.transport import GroupVersionResource
from karmada.search.facts import facts_of
from karmada.search.file import File, Layout

LIMIT = 4 << 30
"""Bytes that the file may have."""
PREFIXES = (1, 2, 3, 5)
"""Lengths of beginnings of words that are indexed as words are."""
_SECOND = 20
"""Bits of an id below the second of creation: ids in descending order are objects from new to old."""
_COLLECTION = 32
"""Bits of a body's id below the number of its collection."""
_UNSTORED = frozenset({"secrets"})
_LAYOUT = Layout(
    0x6B737263,
    3,
    f"""
create table collections (
  id integer primary key autoincrement, cluster text, api text, version text, plural text, kind text,
  fingerprint text, revision integer, unique (cluster, api, version, plural)
);
create table objects (
  id integer primary key, collection integer, cluster text, kind text, namespace text, name text,
  created real, labels text, images text, status text, body integer, unique (collection, namespace, name)
);
create table bodies (id integer primary key, namespace text, name text, revision integer, body blob);
create virtual table words using fts5 (text, terms, detail = none, prefix = '{" ".join(map(str, PREFIXES))}');
""",
)


class Write(NamedTuple):
    """An object to be written, or removed where there is no body."""

    namespace: str
    name: str
    revision: int
    body: bytes | None


def id_at(seconds: float) -> int:
    """The lowest id of an object that was created at a time."""
    return int(min(max(seconds, 0), 1 << 40)) << _SECOND


class Database(File):
    """One file, used by one process; one thread writes, one reads."""

    def __init__(self, path: Path, limit: int = LIMIT) -> None:
        super().__init__(path, _LAYOUT, limit)
        self._numbers = itertools.count()

    def claim(
        self, cluster: str, type_: GroupVersionResource, kind: str, fingerprint: str
    ) -> tuple[int, Snapshot | None]:
        """The number of a collection, and what is kept of it: nothing where it was another one, or not whole.

        Within a transaction.
        """
        run = self.run
        where = (cluster, *type_)
        known = run(
            "select id, fingerprint, revision from collections"
            " where cluster = ? and api = ? and version = ? and plural = ?",
            where,
        ).fetchone()
        if known is not None and known[1] == fingerprint and known[2] is not None:
            found = run(
                "select ? || namespace || '/' || name, body, revision from bodies where id between ? and ? order by id",
                (prefix_of((type_.group, type_.resource)), *_bodies_of(known[0])),
            )
            return known[0], Snapshot(list(map(Record._make, found)), known[2])
        if known is not None:
            self.remove(known[0])
        made = run(
            "insert into collections (cluster, api, version, plural, kind, fingerprint) values (?, ?, ?, ?, ?, ?)",
            (*where, kind, fingerprint),
        )
        assert made.lastrowid is not None
        return made.lastrowid, None

    def clear(self, collection: int) -> None:
        """Forget the objects of a collection."""
        run = self.run
        run("delete from words where rowid in (select id from objects where collection = ?)", (collection,))
        run("delete from bodies where id between ? and ?", _bodies_of(collection))
        run("delete from objects where collection = ?", (collection,))

    def remove(self, collection: int) -> None:
        """Forget a collection."""
        self.clear(collection)
        self.run("delete from collections where id = ?", (collection,))

    def others(self, collections: Iterable[int]) -> list[int]:
        """The collections that are in the file beside some."""
        known = set(collections)
        return [row[0] for row in self.read("select id from collections", ()) if row[0] not in known]

    def put(self, collection: int, writes: Iterable[Write]) -> None:
        """Write objects of a collection."""
        run = self.run
        found = run("select cluster, kind, plural from collections where id = ?", (collection,)).fetchone()
        if found is None:
            return
        cluster, kind, plural = found
        first, last = _bodies_of(collection)
        (end,) = run(
            "select coalesce(max(id), ?) from bodies where id between ? and ?", (first, first, last)
        ).fetchone()
        for write in writes:
            place = (write.namespace, write.name)
            number, body = run(
                "select id, body from objects where collection = ? and namespace = ? and name = ?", (collection, *place)
            ).fetchone() or (None, None)
            if number is not None:
                run("delete from objects where id = ?", (number,))
                run("delete from words where rowid = ?", (number,))
            if write.body is None:
                run("delete from bodies where id = ?", (body,))
                continue
            facts = facts_of(write.body, plural)
            created = facts.created
            if number is None or number >> _SECOND != id_at(created) >> _SECOND:
                number = self._free(created)
            if plural not in _UNSTORED:
                if body is None:
                    end = body = end + 1
                run("insert or replace into bodies values (?, ?, ?, ?, ?)", (body, *place, write.revision, write.body))
            where = (cluster, kind, *place)
            run(
                "insert into objects values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (number, collection, *where, created, facts.labels, facts.images, facts.status, body),
            )
            run("insert into words (rowid, text, terms) values (?, ?, ?)", (number, facts.text, facts.terms(*where)))

    def whole(self, collection: int, revision: int) -> None:
        """Everything of a collection at a revision is written; nothing can be resumed whose bodies are not kept."""
        self.run(
            f"update collections set revision = ? where id = ? and plural not in ({_quoted(_UNSTORED)})",
            (revision, collection),
        )

    def _free(self, created: float) -> int:
        """An unused id among those of a second."""
        while True:
            number = id_at(created) | next(self._numbers) & (1 << _SECOND) - 1
            if self.run("select 1 from objects where id = ?", (number,)).fetchone() is None:
                return number


def _bodies_of(collection: int) -> tuple[int, int]:
    """The first and the last id that a body of a collection can have."""
    first = collection << _COLLECTION
    return first, first + (1 << _COLLECTION) - 1


def _quoted(texts: Iterable[str]) -> str:
    return ", ".join(f"'{text}'" for text in texts)
