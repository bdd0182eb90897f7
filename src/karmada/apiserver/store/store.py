"""`ObjectStore`: all objects in memory as bytes with an index, in front of a `Storage`; the watch cache.

Invariants:
- What reads and watches see is what the storage has committed, in revision order. A write is answered when it is
  durable and visible here.
- `revision` is the revision of everything visible. A watch after revision R sees each later event exactly once.
- Several API servers may share one storage: changes of others come in the same way as own ones.
"""

import time
from collections.abc import Callable

from karmada.apiserver.storage.base import Change, Compacted, Snapshot, Storage, Value, restamp
from karmada.apiserver.store.collection import Collection
from karmada.apiserver.store.history import Bounds, History
from karmada.apiserver.store.keys import Kind, key_of, place_of
from karmada.apiserver.store.model import Index, Item, Match, Page, StoreEvent, bookmark
from karmada.apiserver.store.watcher import Watcher
from karmada.machinery.transport import EventType

Indexer = Callable[[Kind, bytes], Index]
Entries = list[tuple[Kind, Item]]
Changes = list[Change]
Events = list[StoreEvent]


class ObjectStore:
    """Reads are synchronous and from memory, writes go through the storage."""

    def __init__(
        self,
        storage: Storage,
        index: Indexer,
        bounds: Bounds | None = None,
        buffer: int = 10_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`index` is asked only at start-up and for changes of other servers; `buffer` is a watcher's bound."""
        self._storage = storage
        self._index = index
        self._bounds = bounds or Bounds()
        self._buffer = buffer
        self._clock = clock
        self._collections: dict[Kind, Collection] = {}
        self._by_uid: dict[str, str] = {}
        """Key of each object by its uid."""
        self._owned: dict[str, set[str]] = {}
        """Keys of the dependents by the owner's uid."""
        self._revision = 0
        self._history = History(0, self._bounds, clock)

    async def start(self) -> None:
        """Open the storage and load everything."""
        self._load(await self._storage.open(self))

    async def stop(self) -> None:
        """End all watches, flush and close the storage."""
        self._end_watches(None)
        await self._storage.close()

    @property
    def revision(self) -> int:
        """The revision of everything visible."""
        return self._revision

    def get(self, kind: Kind, namespace: str, name: str) -> Item | None:
        """One object, or None."""
        collection = self._collections.get(kind)
        return collection.items.get(key_of(kind, namespace, name)) if collection else None

    def list(
        self,
        kind: Kind,
        namespace: str = "",
        match: Match | None = None,
        limit: int = 0,
        after: str = "",
        at: int = 0,
    ) -> Page:
        """Objects sorted by key; `after` is a page's `next`; `at` an exact older revision, or `Compacted`."""
        collection = self._collection(kind)
        if not at or at == self._revision:
            return collection.page(namespace, match, limit, after, self._revision)
        undo = self._history.since(kind, at)
        if not undo:
            return collection.page(namespace, match, limit, after, at)
        return collection.page_at(undo, namespace, match, limit, after, at)

    def by_uid(self, uid: str) -> tuple[Kind, Item] | None:
        """The object with a uid."""
        key = self._by_uid.get(uid)
        return self._entry(key) if key is not None else None

    def owned_by(self, uid: str) -> Entries:
        """The objects that name this uid as an owner."""
        return [self._entry(key) for key in sorted(self._owned.get(uid, ()))]

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

        `initial_end` asks for the bookmark that closes the initial events. Raises `Compacted`.
        """
        collection = self._collection(kind)
        place = (namespace, name)
        watchers = collection.watchers.setdefault(place, [])

        def detach(watcher: Watcher) -> None:
            if watcher in watchers:
                watchers.remove(watcher)
            if not watchers and collection.watchers.get(place) is watchers:
                del collection.watchers[place]

        watcher = Watcher(match, bookmarks, self._buffer, detach)
        if initial:
            items = collection.page(namespace, match, 0, "", self._revision).items
            events = [StoreEvent(EventType.ADDED, item, None) for item in items if not name or item.name == name]
            if initial_end:
                events.append(bookmark(self._revision, initial_end=True))
            watcher.preload(events)
        elif after and after < self._revision:
            watcher.preload(self._missed(collection, place, match, after))
        watchers.append(watcher)
        return watcher

    def committed(self, changes: Changes, revision: int) -> None:
        """The storage's word that these writes are durable: make them visible."""
        for change in changes:
            self._apply(change)
        self._revision = revision

    def replaced(self, snapshot: Snapshot) -> None:
        """The storage lost the thread: watches cannot go on."""
        self._end_watches(Compacted(snapshot.revision))
        self._load(snapshot)

    def _collection(self, kind: Kind) -> Collection:
        collection = self._collections.get(kind)
        if collection is None:
            collection = self._collections[kind] = Collection(kind)
        return collection

    def _entry(self, key: str) -> tuple[Kind, Item]:
        kind = place_of(key).kind
        return kind, self._collections[kind].items[key]

    def _load(self, snapshot: Snapshot) -> None:
        self._collections, self._by_uid, self._owned = {}, {}, {}
        for key, body, revision in sorted(snapshot.records):
            kind, namespace, name = place_of(key)
            index = self._index(kind, body)
            self._collection(kind).set(key, Item(namespace, name, revision, index, body))
            self._link(key, None, index)
        self._revision = snapshot.revision
        self._history = History(snapshot.revision, self._bounds, self._clock)

    def _apply(self, change: Change) -> None:
        key, revision, body = change.key, change.revision, change.value
        kind, namespace, name = place_of(key)
        collection = self._collection(kind)
        old = collection.items.get(key)
        if body is not None:
            index = change.context if isinstance(change.context, Index) else self._index(kind, body)
            item = Item(namespace, name, revision, index, body)
            event = StoreEvent(EventType.ADDED if old is None else EventType.MODIFIED, item, old)
            collection.set(key, item)
            self._link(key, old.index if old else None, index)
        elif old is not None:
            last = change.last or restamp(old.body, old.revision, revision)
            event = StoreEvent(EventType.DELETED, Item(namespace, name, revision, old.index, last), old)
            collection.remove(key)
            self._link(key, old.index, None)
        else:
            return
        self._history.append(kind, event)
        collection.tell(event)

    def _link(self, key: str, old: Index | None, new: Index | None) -> None:
        if old is not None and new is not None and old.uid == new.uid and old.owners == new.owners:
            return
        if old is not None:
            self._by_uid.pop(old.uid, None)
            for owner in old.owners:
                dependents = self._owned[owner]
                dependents.discard(key)
                if not dependents:
                    del self._owned[owner]
        if new is not None:
            if new.uid:
                self._by_uid[new.uid] = key
            for owner in new.owners:
                self._owned.setdefault(owner, set()).add(key)

    def _missed(self, collection: Collection, place: tuple[str, str], match: Match | None, after: int) -> Events:
        namespace, name = place
        found = []
        for event in reversed(self._history.since(collection.kind, after)):
            item = event.item
            if (namespace and item.namespace != namespace) or (name and item.name != name):
                continue
            seen = event.seen_through(match) if match else event
            if seen is not None:
                found.append(seen)
        return found

    def _end_watches(self, reason: Exception | None) -> None:
        for collection in self._collections.values():
            for watchers in tuple(collection.watchers.values()):
                for watcher in tuple(watchers):
                    watcher.end(reason) if reason else watcher.close()
