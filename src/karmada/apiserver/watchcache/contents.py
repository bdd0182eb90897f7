"""All objects of a store in memory, by resource; by uid and by owner from the first time that somebody asks."""

import logging
from collections.abc import Callable, Iterator
from sys import intern

from karmada.apiserver.storage.base import Change, Record, Snapshot, restamp
from karmada.apiserver.storage.delta import whole
from karmada.apiserver.watchcache.collection import Collection
from karmada.apiserver.watchcache.keys import Kind, place_of
from karmada.apiserver.watchcache.links import Links
from karmada.apiserver.watchcache.model import NO_INDEX, Index, Indexed, Item, StoreEvent
from karmada.machinery.transport import EventType

_LOG = logging.getLogger(__name__)

Indexer = Callable[[Kind, bytes], Indexed]
Entry = tuple[Kind, Item]


class Contents:
    """The state at one revision; changes are applied in order."""

    def __init__(self, index: Indexer) -> None:
        self._index = index
        self.collections: dict[Kind, Collection] = {}
        self._links: Links | None = None

    def collection(self, kind: Kind) -> Collection:
        """The objects of a resource; an unknown one has none."""
        collection = self.collections.get(kind)
        if collection is None:
            collection = self.collections[kind] = Collection(kind)
        return collection

    def load(self, snapshot: Snapshot) -> None:
        """Begin with a whole state."""
        for key, stored, revision in sorted(snapshot.records):
            kind, namespace, name = place_of(key)
            collection = self.collections.get(kind) or self.collection(kind)
            index = self._indexed(kind, key, whole(stored))
            collection.set(key, Item(intern(namespace), intern(name), revision, index, stored))

    def apply(self, change: Change) -> tuple[Collection, StoreEvent] | None:
        """Make a change visible; the event it is to watchers."""
        key, revision, body = change.key, change.revision, change.value
        kind, namespace, name = place_of(key)
        collection = self.collections.get(kind) or self.collection(kind)
        old = collection.items.get(key)
        if body is not None:
            index: Indexed
            index = change.context if isinstance(change.context, Index) else self._indexed(kind, key, body)
            item = Item(namespace, name, revision, index, body)
            collection.set(key, item)
            self._link(key, old.index if old else None, index)
            return collection, StoreEvent(EventType.ADDED if old is None else EventType.MODIFIED, item, old)
        if old is None:
            return None
        collection.remove(key)
        self._link(key, old.index, None)
        return collection, _deleted(old, revision, change.last)

    def reindex(self, kind: Kind) -> None:
        """Index the objects of a resource anew: what is indexed of them has changed."""
        collection = self.collection(kind)
        collection.labelled.forget()
        for key, item in collection.items.items():
            index = self._indexed(kind, key, item.body)
            self._link(key, item.index, index)
            collection.items[key] = Item(item.namespace, item.name, item.revision, index, item.stored)

    def shrink(self, record: Record) -> None:
        """Hold an object in another form, if it has not changed meanwhile."""
        collection = self.collections.get(place_of(record.key)[0])
        item = collection.items.get(record.key) if collection is not None else None
        if item is not None and item.revision == record.revision:
            item.stored = record.value

    def recall(self, change: Change) -> StoreEvent:
        """The event that a change of the past was, for one watcher: it keeps nothing for others."""
        event = self._recalled(change)
        event.retire()
        return event

    def _recalled(self, change: Change) -> StoreEvent:
        kind, namespace, name = place_of(change.key)
        old = None
        if change.previous is not None:
            body = whole(change.previous.value)
            old = Item(namespace, name, change.previous.revision, self._indexed(kind, change.key, body), body)
        if change.value is None:
            assert old is not None, "only what exists is deleted"
            return _deleted(old, change.revision, change.last)
        item = Item(namespace, name, change.revision, self._indexed(kind, change.key, change.value), change.value)
        return StoreEvent(EventType.ADDED if old is None else EventType.MODIFIED, item, old)

    def since(self, older: "Contents", revision: int) -> Iterator[tuple[Kind, StoreEvent]]:
        """What is different from an older state, deletions first; what happened in between is not known."""
        for kind, collection in older.collections.items():
            for key in collection.items.keys() - self.collection(kind).items.keys():
                yield kind, _deleted(collection.items[key], revision, None)
        for kind, collection in self.collections.items():
            before = older.collection(kind).items
            for key, item in collection.items.items():
                old = before.get(key)
                if old is None:
                    yield kind, StoreEvent(EventType.ADDED, item, None)
                elif old.revision != item.revision:
                    yield kind, StoreEvent(EventType.MODIFIED, item, old)

    def by_uid(self, uid: str) -> Entry | None:
        """The object with a uid."""
        key = self._linked().by_uid.get(uid)
        return self._entry(key) if key is not None else None

    def owned_by(self, uid: str) -> list[Entry]:
        """The objects that name this uid as an owner."""
        return [self._entry(key) for key in sorted(self._linked().owned.get(uid, ()))]

    def _indexed(self, kind: Kind, key: str, body: bytes) -> Indexed:
        """An object that cannot be read must not keep the others from being served; it can still be deleted."""
        try:
            return self._index(kind, body)
        except Exception as error:  # its text may quote the object, which may be a Secret
            _LOG.error("the stored object %s cannot be read (%s); no selector finds it", key, type(error).__name__)
            return NO_INDEX

    def _entry(self, key: str) -> Entry:
        kind = place_of(key)[0]
        return kind, self.collections[kind].items[key]

    def _linked(self) -> Links:
        if self._links is None:
            self._links = Links()
            for collection in self.collections.values():
                for key, item in collection.items.items():
                    self._links.change(key, None, item.index)
        return self._links

    def _link(self, key: str, old: Indexed | None, new: Indexed | None) -> None:
        if self._links is not None:
            self._links.change(key, old, new)


def _deleted(old: Item, revision: int, last: bytes | None) -> StoreEvent:
    body = last or restamp(old.body, old.revision, revision)
    return StoreEvent(EventType.DELETED, Item(old.namespace, old.name, revision, old.index, body), old)
