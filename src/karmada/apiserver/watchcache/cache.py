"""`WatchCache`: all objects in memory as bytes with an index, in front of a `Storage`; the watch cache.

Invariants:
- What reads and watches see is what the storage has committed, in revision order. A write is answered when it is
  durable and visible here.
- `revision` is the revision of everything visible. A watch after revision R sees each later event exactly once.
- Several API servers may share one storage: changes of others come in the same way as own ones; `sync` waits
  until all that were committed before are visible.
"""

import asyncio
import logging
import time
import traceback
from collections.abc import AsyncIterator, Callable, Iterable, Sequence

from karmada.apiserver.storage.base import Change, Compacted, Outcome, Record, Snapshot, Storage, Value, Write
from karmada.apiserver.watchcache.contents import Contents, Entry, Indexer
from karmada.apiserver.watchcache.history import Bounds, History
from karmada.apiserver.watchcache.keys import Kind, key_of, prefix_of
from karmada.apiserver.watchcache.labelled import Label
from karmada.apiserver.watchcache.maintenance import Maintenance
from karmada.apiserver.watchcache.model import Index, Item, Match, Page, StoreEvent, bookmark, first_seen
from karmada.apiserver.watchcache.watcher import Watcher

_LOG = logging.getLogger(__name__)

# inside the class `list` is the verb
Changes = list[Change]
Entries = list[Entry]
Events = list[StoreEvent]
Outcomes = list[Outcome]
Place = tuple[str, str]
"""(namespace, name) of what is watched; an empty string stands for all."""
Listener = Callable[[Kind, StoreEvent], None]


class WatchCache:
    """Reads are synchronous and from memory, writes go through the storage."""

    def __init__(
        self,
        storage: Storage,
        index: Indexer,
        bounds: Bounds | None = None,
        buffer: int = 10_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`index` is asked only for what this server did not write itself; `buffer` bounds each watcher."""
        self._storage = storage
        self._index = index
        self._bounds = bounds or Bounds()
        self._buffer = buffer
        self._clock = clock
        self._contents = Contents(index)
        self._revision = 0
        self._history = History(0, self._bounds, clock)
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._listeners: list[tuple[Listener, frozenset[Kind]]] = []
        self._listeners_of: dict[Kind, list[Listener]] = {}
        """Who listens to a kind, found once."""
        self._maintenance = Maintenance(storage, lambda: self._revision, self._bookmark)

    async def start(self) -> None:
        """Open the storage and load everything."""
        self._load(await self._storage.open(self))
        self._maintenance.start()

    async def stop(self) -> None:
        """End all watches, flush and close the storage."""
        await self._maintenance.stop()
        for watcher in self._watchers():
            watcher.close()
        await self._storage.close()

    def finish(self) -> None:
        """End all watches once they have read everything that happened: nothing will happen any more."""
        for watcher in self._watchers():
            watcher.finish()

    @property
    def revision(self) -> int:
        """The revision of everything visible."""
        return self._revision

    async def sync(self) -> None:
        """Return when everything is visible that was committed before the call, by any server."""
        await self._storage.sync()

    async def check(self) -> None:
        """Raise `StorageFailed` if writes would fail just now."""
        await self._storage.check()

    async def reached(self, revision: int) -> None:
        """Return when a revision is visible; the caller sets the time limit."""
        if revision > self._revision:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            entry = (revision, waiter)
            self._waiting.append(entry)
            try:
                await waiter
            finally:
                self._waiting.remove(entry)

    def get(self, kind: Kind, namespace: str, name: str) -> Item | None:
        """One object, or None."""
        collection = self._contents.collections.get(kind)
        return collection.items.get(key_of(kind, namespace, name)) if collection else None

    def list(
        self,
        kind: Kind,
        namespace: str = "",
        match: Match | None = None,
        limit: int = 0,
        after: str = "",
        at: int = 0,
        label: Label | None = None,
    ) -> Page:
        """Objects sorted by key; `after` is a page's `next`; `at` an exact older revision, or `Compacted`.

        `label` is one that all matching objects have: others are not looked at.
        """
        collection = self._contents.collection(kind)
        undo = self._history.since(kind, at) if at and at != self._revision else ()
        if undo:
            return collection.before(undo).page(namespace, match, limit, after, at)
        return collection.page(namespace, match, limit, after, at or self._revision, label)

    def counts(self) -> dict[Kind, int]:
        """How many objects there are of each kind."""
        return {kind: len(collection.items) for kind, collection in self._contents.collections.items()}

    def by_uid(self, uid: str) -> Entry | None:
        """The object with a uid."""
        return self._contents.by_uid(uid)

    def owned_by(self, uid: str) -> Entries:
        """The objects that name this uid as an owner."""
        return self._contents.owned_by(uid)

    async def create(self, kind: Kind, namespace: str, name: str, value: Value, index: Index) -> Item:
        """Add an object; raises `Mismatch` when it exists."""
        return await self.update(kind, namespace, name, value, index, 0)

    async def update(self, kind: Kind, namespace: str, name: str, value: Value, index: Index, expected: int) -> Item:
        """Replace an object that is at the expected revision; raises `Mismatch` when it is not."""
        record = await self._storage.put(key_of(kind, namespace, name), value, expected, index)
        return Item(namespace, name, record.revision, index, record.value)

    async def delete(self, kind: Kind, namespace: str, name: str, last: Value, expected: int) -> int:
        """Remove an object that is at the expected revision; `last` is its final state for watchers."""
        return await self._storage.delete(key_of(kind, namespace, name), last, expected)

    async def write_all(self, writes: Sequence[Write]) -> Outcomes:
        """Carry out several writes of any keys (`key_of`) with one answer; the context of a value is its `Index`."""
        return await self._storage.write_all(writes)

    def watch(
        self,
        kind: Kind,
        namespace: str = "",
        name: str = "",
        match: Match | None = None,
        after: int = 0,
        initial: bool = False,
        bookmarks: bool = False,
        initial_end: bool = False,
    ) -> Watcher:
        """Events after a revision (0: from now on), or, with `initial`, the current objects as ADDED and what follows.

        `initial_end` asks for the bookmark that closes the initial events. A revision that is not known any more
        raises `Compacted`, here or at the first read.
        """
        collection = self._contents.collection(kind)
        place = (namespace, name)
        past, events = None, []
        if initial:
            items = collection.page(namespace, match, 0, "", self._revision).items
            events = [first_seen(item) for item in items if not name or item.name == name]
            if initial_end:
                events.append(bookmark(self._revision, initial_end=True))
        elif after and after < self._history.floor:
            past = self._past(kind, place, match, after, self._history.floor)
            events = self._recent(kind, place, match, self._history.floor)
        elif after and after < self._revision:
            events = self._recent(kind, place, match, after)
        watcher = Watcher(match, after, bookmarks, self._buffer, lambda gone: collection.detach(place, gone))
        watcher.begin(past, events)
        collection.attach(place, watcher)
        return watcher

    def reindex(self, kind: Kind) -> None:
        """Index the objects of a kind anew: its selectable fields have changed, or are known only now."""
        self._contents.reindex(kind)

    def subscribe(self, listener: Listener, *kinds: Kind) -> None:
        """Call `listener` for every change of some kinds (of any, when none is named), before the write is answered.

        For caches and controllers of the server itself; a listener must be quick. One that raises misses that event,
        nobody else does.
        """
        self._listeners.append((listener, frozenset(kinds)))
        self._listeners_of.clear()

    def committed(self, changes: Changes, revision: int) -> None:
        """The storage's word that these writes are durable: make them visible."""
        for change in changes:
            applied = self._contents.apply(change)
            if applied is not None:
                collection, event = applied
                self._history.append(collection.kind, event)
                collection.dispatch(event)
                self._call_listeners(collection.kind, event)
        self._revision = revision
        if self._waiting:
            self._advance(revision)

    def shrunk(self, records: Sequence[Record]) -> None:
        """The storage's word that these records need less room in another form."""
        for record in records:
            self._contents.shrink(record)

    def replaced(self, snapshot: Snapshot) -> None:
        """The storage lost the thread: watches cannot go on; listeners are called with what is different now."""
        for watcher in self._watchers():
            watcher.end(Compacted(snapshot.revision))
        older = self._contents
        self._load(snapshot)
        for kind, event in self._contents.since(older, snapshot.revision):
            self._call_listeners(kind, event)

    def _call_listeners(self, kind: Kind, event: StoreEvent) -> None:
        listeners = self._listeners_of.get(kind)
        if listeners is None:
            listeners = [listener for listener, kinds in self._listeners if not kinds or kind in kinds]
            self._listeners_of[kind] = listeners
        for listener in listeners:
            try:
                listener(kind, event)
            except Exception as error:  # its text may quote the object, which may be a Secret
                where = "".join(traceback.format_tb(error.__traceback__))
                _LOG.error("a listener failed at %r with %s:\n%s", event, type(error).__name__, where)

    def _load(self, snapshot: Snapshot) -> None:
        self._contents = Contents(self._index)
        self._contents.load(snapshot)
        self._history = History(snapshot.revision, self._bounds, self._clock)
        self._advance(snapshot.revision)

    def _advance(self, revision: int) -> None:
        self._revision = revision
        for wanted, waiter in self._waiting:
            if wanted <= revision and not waiter.done():
                waiter.set_result(None)

    def _recent(self, kind: Kind, place: Place, match: Match | None, after: int) -> Events:
        return _seen(reversed(self._history.since(kind, after)), place, match)

    async def _past(
        self, kind: Kind, place: Place, match: Match | None, after: int, until: int
    ) -> AsyncIterator[Events]:
        """The events with after < revision <= until, which only the storage still knows."""
        prefix, recall = prefix_of(kind), self._contents.recall
        while after < until and (changes := await self._storage.history(prefix, after, until)):
            if events := _seen(map(recall, changes), place, match):
                yield events
            after = changes[-1].revision

    def _bookmark(self) -> None:
        for watcher in self._watchers():
            if watcher.bookmarks:
                watcher.bookmark(self._revision)

    def _watchers(self) -> tuple[Watcher, ...]:
        """All of them, safe to end while going through."""
        return tuple(watcher for collection in self._contents.collections.values() for watcher in collection.watching())


def _seen(events: Iterable[StoreEvent], place: Place, match: Match | None) -> Events:
    """What someone who watches a place through a match sees of these events."""
    namespace, name = place
    found: Events = []
    for event in events:
        item = event.item
        if (namespace and item.namespace != namespace) or (name and item.name != name):
            continue
        seen = event.seen_through(match) if match else event
        if seen is not None:
            found.append(seen)
    return found
