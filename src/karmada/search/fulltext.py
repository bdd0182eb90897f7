"""The index of what is cached: kept up to date with the mirrors, asked by people, and read by mirrors that start.

It holds nothing that the mirrors do not. Changes are gathered and written in a thread, a few hundred at a time. What
cannot be written costs the collection its place in the index until it can: everything else goes on.
"""

import asyncio
import logging
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, NamedTuple, TypeVar
from weakref import finalize

from karmada.apiserver.storage.base import Snapshot
from karmada.apiserver.watchcache import Item, Kind, StoreEvent
from karmada.machinery.transport import EventType, GroupVersionResource
from karmada.search.database import LIMIT, Database, Write
from karmada.search.lookup import Lookup, Way, excerpt, rows_of
from karmada.search.mirror import Mirror
from karmada.search.query import Query

T = TypeVar("T")
BATCH = 500
PAUSE = 0.2
"""Seconds between two rounds of writing: what changes often is written once."""
BUSY = 50
"""Changes of one pause with which more are on their way, as when workloads start."""
GATHERING = 2.0
"""The most seconds for which a round waits for these: each transaction costs the index as much as a hundred changes."""
LOAD = 5_000
"""Changes that are worth a round by themselves."""
ROUND = 10.0
"""Seconds after which revisions that moved without a change are written."""
RETRY, LONGEST_RETRY = 30.0, 3600.0
"""Seconds until what could not be written is tried again; doubled each time."""
UNCLAIMED = 600.0
"""Seconds after which collections of an earlier run that nobody has asked for are removed."""
ENDING = 2.0
"""Seconds for writing the rest at the end."""
QUERY_SECONDS = 2.0
log = logging.getLogger(__name__)


class Found(NamedTuple):
    """An object that matches."""

    id: int
    cluster: str
    group: str
    version: str
    plural: str
    kind: str
    namespace: str
    name: str
    created: float
    status: str

    @property
    def type(self) -> GroupVersionResource:
        """Its collection."""
        return GroupVersionResource(self.group, self.version, self.plural)


class Page(NamedTuple):
    """Some of what matches, from new to old."""

    found: list[Found]
    cut: bool
    """Whether there may be more, which nobody looked at."""


class TooBroad(Exception):
    """A query takes too long."""


@dataclass(slots=True)
class _Followed:
    """A mirror and what of it is not written yet."""

    fingerprint: str
    collection: int = 0
    """Its number in the file."""
    pending: dict[tuple[str, str], Item | None] = field(default_factory=dict)
    written: int = 0
    """The revision in the file."""
    stale: bool = False
    """Whether what is in the file does not belong together with `pending`: all of it has to be written."""


class FullText:
    """Follows mirrors, answers queries and remembers over restarts; `run` keeps it up to date."""

    def __init__(self, path: Path | None = None, limit: int = LIMIT) -> None:
        """`path` is the file; without one nothing is remembered."""
        folder = Path(mkdtemp(prefix="karmada-search-")) if path is None else None
        # Also where `run` was cancelled before it began.
        self._remove_folder = finalize(self, rmtree, folder, ignore_errors=True) if folder is not None else None
        self._database = Database(path or Path(folder or "", "search.db"), limit)
        self._writing = ThreadPoolExecutor(1, "search-writes")
        self._reading = ThreadPoolExecutor(1, "search-reads")
        self._followed: dict[Mirror, _Followed] = {}
        self._leaving: list[int] = []
        self._wake = asyncio.Event()
        self._flushing = asyncio.Lock()
        self._lock = asyncio.Lock()
        """Held during a transaction."""
        self._began = time.monotonic()
        self._retry_at, self._retry = 0.0, RETRY

    async def resume(self, mirror: Mirror, fingerprint: str) -> Snapshot | None:
        """Follow a mirror from now on; what is kept of it from before, if it was the same collection."""
        followed = self._followed[mirror] = _Followed(fingerprint)
        try:
            kept = await self._claim(mirror, followed)
        except sqlite3.DatabaseError as error:
            kept = None
            followed.stale = True
            await self._failed(error)

        def changed(kind: Kind, event: StoreEvent) -> None:
            item = event.item
            followed.pending[item.namespace, item.name] = None if event.type is EventType.DELETED else item
            self._wake.set()

        mirror.store.subscribe(changed)
        if kept is None:
            return None
        followed.written = kept.revision
        return kept

    def forget(self, mirror: Mirror) -> None:
        """Nothing of a mirror is to be found any more."""
        followed = self._followed.pop(mirror, None)
        if followed is not None and followed.collection:
            self._leaving.append(followed.collection)
            self._wake.set()

    async def run(self) -> None:
        """Write what has gathered until cancelled, then the rest."""
        try:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(ROUND):
                        await self._wake.wait()
                await self._gather()
                self._wake.clear()
                await self.flush()
                await self._remove_unclaimed()
                await asyncio.sleep(PAUSE)
        except asyncio.CancelledError:
            with suppress(TimeoutError):
                async with asyncio.timeout(ENDING):
                    await self.flush()
            await self._close()
            raise

    async def _gather(self) -> None:
        """Wait while many changes come that can be written."""
        until, before, waiting = time.monotonic() + GATHERING, 0, self._waiting
        while more_is_coming(before, waiting) and time.monotonic() < until:
            await asyncio.sleep(PAUSE)
            before, waiting = waiting, self._waiting

    @property
    def _waiting(self) -> int:
        return sum(len(followed.pending) for mirror, followed in self._followed.items() if mirror.loaded.is_set())

    async def flush(self) -> None:
        """Write what has gathered, one transaction for each collection."""
        async with self._flushing:
            if self._leaving:
                async with self._transaction():
                    pass
            if time.monotonic() < self._retry_at:
                return
            for mirror, followed in list(self._followed.items()):
                if mirror.loaded.is_set() and (followed.pending or followed.written != mirror.store.revision):
                    await self._save(mirror, followed)

    async def find(self, query: Query, now: float, limit: int, before: int | None = None) -> Page:
        """Objects that match, the newest first, among those with an id below `before`; raises `TooBroad`."""
        lookup = Lookup(query, now)
        try:
            return await self._read(lambda: page_of(self._database, lookup, limit, before))
        except sqlite3.OperationalError as error:
            raise TooBroad(f"the query takes more than {QUERY_SECONDS:g} s: name a kind, a cluster or more") from error

    async def excerpts(self, query: Query, found: list[Found]) -> dict[int, str]:
        """By id, the words around what matched."""
        if not query.words or not found:
            return {}
        among = ", ".join(str(each.id) for each in found)
        with suppress(sqlite3.OperationalError):
            return await self._read(
                lambda: {
                    number: excerpt(text, query.words)
                    for number, text in self._database.read(
                        f"select rowid, text from words where rowid in ({among})", ()
                    )
                }
            )
        return {}

    async def _save(self, mirror: Mirror, followed: _Followed) -> None:
        items, followed.pending, revision = followed.pending, {}, mirror.store.revision
        if followed.stale:
            items = {(item.namespace, item.name): item for item in mirror.store.list(mirror.key).items}
        database = self._database
        try:
            if not followed.collection:
                await self._claim(mirror, followed)
            async with self._transaction():
                if followed.stale:
                    await self._write(database.clear, followed.collection)
                for batch in _batches(items):
                    began = time.monotonic()
                    await self._write(database.put, followed.collection, batch)
                    await asyncio.sleep(min(time.monotonic() - began, PAUSE))  # The rest of the process works too.
                await self._write(database.whole, followed.collection, revision)
        except sqlite3.DatabaseError as error:
            followed.stale = True
            await self._failed(error)
        except BaseException:
            followed.stale = True
            raise
        else:
            followed.written, followed.stale, self._retry = revision, False, RETRY

    async def _claim(self, mirror: Mirror, followed: _Followed) -> Snapshot | None:
        async with self._transaction():
            followed.collection, kept = await self._write(
                self._database.claim, mirror.cluster, mirror.type, mirror.served.kind, followed.fingerprint
            )
        return kept

    async def _failed(self, error: sqlite3.DatabaseError) -> None:
        """Try again later; a file that is no database any more is thrown away."""
        self._retry_at = time.monotonic() + self._retry
        log.warning("the cache file cannot be used, next try in %g s: %s", self._retry, error)
        self._retry = min(2 * self._retry, LONGEST_RETRY)
        if isinstance(error, sqlite3.OperationalError):
            return
        async with self._lock:
            with suppress(sqlite3.Error, OSError):
                await self._write(self._database.throw_away)
            for followed in self._followed.values():
                followed.stale, followed.collection = True, 0
            self._leaving.clear()
            self._retry_at = 0.0

    async def _remove_unclaimed(self) -> None:
        if self._began and time.monotonic() - self._began > UNCLAIMED:
            self._began = 0.0
            known = [followed.collection for followed in self._followed.values()]
            self._leaving += await self._read(lambda: self._database.others(known))
            self._wake.set()

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[None]:
        """One transaction after what has left was removed."""
        async with self._lock:
            database = self._database
            try:
                while self._leaving:
                    await self._write(database.begin)
                    await self._write(database.remove, self._leaving[0])
                    await self._write(database.commit)
                    del self._leaving[0]
                await self._write(database.begin)
                yield
                await self._write(database.commit)
            except BaseException:
                # Its failure must not hide a cancellation: the file would be used on, or thrown away, at the end.
                with suppress(sqlite3.Error):
                    await asyncio.shield(self._write(database.rollback))
                raise

    async def _write(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._writing, work, *arguments)

    async def _read(self, work: Callable[[], T]) -> T:
        def bounded() -> T:
            end = time.monotonic() + QUERY_SECONDS
            with self._database.until(lambda: time.monotonic() > end):
                return work()

        return await asyncio.get_running_loop().run_in_executor(self._reading, bounded)

    async def _close(self) -> None:
        async with self._lock:  # a transaction that was cancelled as well is rolled back first
            await self._write(self._database.close)
        self._writing.shutdown(wait=False)
        self._reading.shutdown(wait=False)
        if self._remove_folder is not None:
            self._remove_folder()


def page_of(database: Database, lookup: Lookup, limit: int, before: int | None = None) -> Page:
    """What matches, the newest first, among what has an id below `before`."""
    ids: list[int] = []
    cut = True
    for way in lookup.ways:
        ids, visited = [], 0
        for row in database.read(*lookup.candidates(way, before)):
            visited += 1
            if lookup.matches(way, row):
                ids.append(row[0])
                if len(ids) == limit:
                    break
        cut = len(ids) < limit and max(visited, _passed_over(database, lookup, way, before)) >= way.visits
        if not cut:
            break
    return Page([Found._make(row) for row in database.read(rows_of(ids), ())], cut)


def _passed_over(database: Database, lookup: Lookup, way: Way, before: int | None) -> int:
    """How many objects SQLite looked at by itself."""
    counting = lookup.visited(way, before)
    return next(iter(database.read(*counting)))[0] if counting is not None else 0


def more_is_coming(before: int, waiting: int) -> bool:
    """Whether changes still gather, by how many waited a pause ago and now.

    A few are written at once, and so are those of a whole collection.
    """
    return max(BUSY, before + 1) <= waiting < LOAD


def _batches(items: dict[tuple[str, str], Item | None]) -> Iterator[list[Write]]:
    writes = (
        Write(*place, item.revision if item is not None else 0, item.body if item is not None else None)
        for place, item in items.items()
    )
    while batch := list(islice(writes, BATCH)):
        yield batch
