"""The full-text index of what is cached: SQLite FTS5 in a temporary file, so that search works with nothing installed.

It is fed by the mirrors and holds nothing that they do not: names, labels, images, states and the texts of objects,
without the data of Secrets and ConfigMaps. Changes are gathered and written in a thread, a few hundred at a time.
"""

import asyncio
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import orjson

from karmada.api.annotations import LAST_APPLIED_CONFIGURATION
from karmada.apiserver.printing import cells
from karmada.apiserver.watchcache import Item, Kind, StoreEvent
from karmada.machinery.transport import EventType, GroupVersionResource, JSONObject
from karmada.search.mirror import Mirror
from karmada.search.query import WORD, Query

BATCH = 500
PAUSE = 0.2
"""Seconds between two batches: what changes often is indexed once."""
CANDIDATES = 2000
"""Matches that are looked at for one query, the newest first."""
TEXT = 8192
"""Characters of an object that are indexed."""
_SECRET_KINDS = frozenset({"secrets", "configmaps"})
_SCHEMA = """
create table objects (
  id integer primary key, cluster text, api text, version text, plural text, kind text, namespace text, name text,
  created real, labels text, images text, status text,
  unique (cluster, api, version, plural, namespace, name)
);
create index by_creation on objects (created desc);
create index by_status on objects (status collate nocase);
create index by_name on objects (name collate nocase);
create index by_cluster on objects (cluster collate nocase, kind collate nocase);
create virtual table words using fts5 (text);
"""
_COLUMNS = "o.cluster, o.api, o.version, o.plural, o.kind, o.namespace, o.name, o.created, o.status"
_WHERE = "cluster = ? and api = ? and version = ? and plural = ? and namespace = ? and name = ?"
_INSERT = (
    "insert into objects (cluster, api, version, plural, namespace, name, kind, created, labels, images, status)"
    " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)

Place = tuple[str, str, str, str, str, str]
"""Cluster, group, version, plural, namespace and name."""


class Found(NamedTuple):
    """An object that matches."""

    cluster: str
    group: str
    version: str
    plural: str
    kind: str
    namespace: str
    name: str
    created: float
    status: str
    excerpt: str

    @property
    def type(self) -> GroupVersionResource:
        """Its collection."""
        return GroupVersionResource(self.group, self.version, self.plural)


class FullText:
    """Indexes mirrors and answers queries; `run` keeps it up to date."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._database.executescript(_SCHEMA)
        self._pending: dict[Place, tuple[str, bytes] | None] = {}
        """What is to be indexed: kind and body, or None for what is gone."""
        self._wake = asyncio.Event()
        self._lock = asyncio.Lock()

    def follow(self, mirror: Mirror) -> None:
        """Index what a mirror has and hears."""

        def changed(kind: Kind, event: StoreEvent) -> None:
            self._note(mirror, event.item, event.type is EventType.DELETED)

        mirror.store.subscribe(changed)

    def forget(self, mirror: Mirror) -> None:
        """Nothing of a mirror is to be found any more."""
        for item in mirror.store.list(mirror.key).items:
            self._note(mirror, item, gone=True)

    async def run(self) -> None:
        """Write what has gathered until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._pending:
                await self.flush()
                await asyncio.sleep(PAUSE)

    async def flush(self) -> None:
        """Write one batch."""
        async with self._lock:
            batch = [(place, self._pending.pop(place)) for place in list(self._pending)[:BATCH]]
            await asyncio.to_thread(self._write, batch)

    async def find(self, query: Query, now: float) -> list[Found]:
        """Objects that match, the newest first, at most `CANDIDATES`."""
        async with self._lock:
            return await asyncio.to_thread(self._find, query, now)

    def _note(self, mirror: Mirror, item: Item, gone: bool) -> None:
        place = (mirror.cluster, *mirror.type, item.namespace, item.name)
        self._pending[place] = None if gone else (mirror.served.kind, item.body)
        self._wake.set()

    def _write(self, batch: Iterable[tuple[Place, tuple[str, bytes] | None]]) -> None:
        run = self._database.execute
        run("begin")
        try:
            for place, content in batch:
                known = run(f"select id from objects where {_WHERE}", place).fetchone()
                if known is not None:
                    run("delete from objects where id = ?", known)
                    run("delete from words where rowid = ?", known)
                facts = _facts(*content, place[3]) if content is not None else None
                if facts is not None:
                    *columns, text = facts
                    made = run(_INSERT, (*place, *columns))
                    run("insert into words (rowid, text) values (?, ?)", (made.lastrowid, text))
        except BaseException:
            run("rollback")
            raise
        run("commit")

    def _find(self, query: Query, now: float) -> list[Found]:
        tests: list[str] = []
        values: list[Any] = []
        words = list(query.words)
        for name, pattern in query.terms:
            column = {"label": "labels", "image": "images"}.get(name, name)
            if column == name and "*" not in pattern:
                tests.append(f"o.{name} = ? collate nocase")
                values.append(pattern)
                continue
            whole = pattern if column == name else f"*\n{pattern}\n*"
            tests.append(f"lower(o.{column}) glob lower(?)")
            values.append(_glob(whole))
            if column != name and "*" not in pattern:
                words += WORD.findall(pattern)  # What holds the value holds its words, which are quicker to find.
        for age in query.ages:
            tests.append(f"o.created {'<' if age.older else '>'} ?")
            values.append(now - age.seconds)
        source, excerpt = "objects o", "''"
        if words:
            source, excerpt = "words join objects o on o.id = words.rowid", "snippet(words, 0, '[', ']', '...', 8)"
            tests.append("words match ?")
            values.append(" AND ".join(f'"{word}"*' for word in words))
        sentence = f"select {_COLUMNS}, {excerpt} from {source} where {' and '.join(tests)}"
        rows = self._database.execute(f"{sentence} order by o.created desc limit {CANDIDATES}", values)
        return [Found(*row) for row in rows]


def _facts(kind: str, body: bytes, plural: str) -> tuple[str, float, str, str, str, str] | None:
    """What is known of an object beside its place; None when a member sent what cannot be read."""
    try:
        obj: JSONObject = orjson.loads(body)
        created = cells.seconds(obj["metadata"].get("creationTimestamp") or "1970-01-01T00:00:00Z")
        labels, images, status = _labels(obj), _images(obj), _status(obj)
        # What terms are looked up by comes first: it is never cut off.
        return kind, created, labels, images, status, f"{labels}{images}{status} {_text(obj, plural)}"
    except (ValueError, TypeError, AttributeError, KeyError, OverflowError, RecursionError):
        return None


def _glob(pattern: str) -> str:
    """A pattern in which only `*` is special."""
    return "".join(f"[{character}]" if character in "?[" else character for character in pattern)


def _labels(obj: JSONObject) -> str:
    labels = obj["metadata"].get("labels") or {}
    return "\n" + "".join(f"{key}={value}\n" for key, value in labels.items())


def _images(obj: JSONObject) -> str:
    spec = cells.part(obj, "spec")
    pod = cells.part(spec, "template", "spec") if "template" in spec else spec
    found = [one.get("image", "") for one in pod.get("containers") or () if isinstance(one, dict)]
    return "\n" + "".join(f"{image}\n" for image in found)


def _status(obj: JSONObject) -> str:
    """What people call the state of an object: why a container waits or ended, else its phase or reason."""
    status = cells.part(obj, "status")
    for one in status.get("containerStatuses") or ():
        for state in (one.get("state") or {}).values() if isinstance(one, dict) else ():
            if isinstance(state, dict) and state.get("reason"):
                return str(state["reason"])
    return str(status.get("phase") or obj.get("reason") or "")


def _text(obj: JSONObject, plural: str) -> str:
    """The words of an object; the data of Secrets and ConfigMaps is left out."""
    obj["metadata"].pop("managedFields", None)
    if plural in _SECRET_KINDS:
        obj = {"kind": obj.get("kind"), "type": obj.get("type"), "metadata": obj["metadata"]}
        (obj["metadata"].get("annotations") or {}).pop(LAST_APPLIED_CONFIGURATION, None)  # it repeats the data
    text, size = [], 0
    for word in _strings(obj):
        size += len(word) + 1
        if size > TEXT:
            break
        text.append(word)
    return " ".join(text)


def _strings(value: Any) -> Iterator[str]:
    """The texts in a tree, keys of labels included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, part in value.items():
            if isinstance(part, str):
                yield key
            yield from _strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)
