"""The objects of a collection as last seen, with indexes; every update returns what really changed.

Invariants:
- An item is immutable. Its body is the encoded object; the decoded value is made when asked for, and kept for a while
  only if its form is immutable too (frozen structs). Readers share items: nothing is ever copied. A digest is made when
  the object arrives, and kept in place of the body.
- A change with both `old` and `new` is about one incarnation (same uid). An object that was deleted and created again
  under its name shows as two changes, deletion first.
- Nothing older replaces something newer: an event at or below the revision reached is a repetition and is ignored.
- Caches of one server may share a `Room`: objects that do not fit raise `BadAnswer`, and what is there stays.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from sys import intern
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import ref

from karmada.machinery import limits
from karmada.machinery.codec import Codec, Identity, identity, unreadable
from karmada.machinery.errors import BadAnswer
from karmada.machinery.throttle import ThrottledLog
from karmada.machinery.transport import EventType, Held, WatchEvent

T = TypeVar("T")
log = ThrottledLog(logging.getLogger(__name__))

_UNDECODED = object()
KEPT = 2048
"""Items of a kind that keep their decoded value, those decoded last: bytes take a fraction of the memory. Each kind has
its own, so that thousands of Works do not make everybody decode the clusters again."""
STEP = 2_000
"""Objects of a load that are taken over at once."""


class Key(NamedTuple):
    """Names an object within its collection."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Item(Generic[T]):
    """One state of one object."""

    __slots__ = ("__weakref__", "_body", "_codec", "_held", "_value", "cost", "key", "resource_version", "uid")

    def __init__(
        self, key: Key, uid: str, resource_version: str, body: bytes, codec: Codec[T], held: Held | None = None
    ) -> None:
        """`held` has the body, and is kept in its place."""
        self.key = key
        self.uid = uid
        self.resource_version = resource_version
        self._body = body if held is None else b""
        self._held = held
        self.cost = len(body) + limits.ITEM_OVERHEAD
        """What the object takes of a `Room`, whether or not its body is here."""
        self._codec = codec
        self._value: Any = _UNDECODED

    @property
    def body(self) -> bytes:
        """The encoded object; empty when there is a digest of it only."""
        return self._body if self._held is None else self._held.body

    @property
    def value(self) -> T:
        """The decoded object. Structs are kept for a while and shared; trees are decoded for each reader."""
        if self._value is not _UNDECODED:
            known: T = self._value
            return known
        value = self._codec.decode(self._body if self._held is None else self._held.body)
        if self._codec.shareable:
            self._value = value
            kept = self._codec.kept
            kept.append(ref(self))
            if len(kept) > KEPT and (oldest := kept.popleft()()) is not None:
                oldest._value = _UNDECODED
        return value

    def condense(self) -> None:
        """Keep the value in place of the body."""
        self._value = self._codec.decode(self.body)
        self._body, self._held = b"", None

    def __repr__(self) -> str:
        return f"<{self.key} at {self.resource_version}>"


class Change(NamedTuple, Generic[T]):
    """A real difference: created (no `old`), changed, or gone (no `new`)."""

    old: Item[T] | None
    new: Item[T] | None
    initial: bool = False
    """Whether it was there when the first load ended, so nothing really happened now."""

    @property
    def item(self) -> Item[T]:
        """The newest state there is."""
        newest = self.new or self.old
        assert newest is not None
        return newest

    @property
    def key(self) -> Key:
        """Which object."""
        return self.item.key


IndexFunction = Callable[[Item[T]], Iterable[str]]
"""The index values of an item: a pure function that puts up with anything a server may send, and reads spec, labels and
annotations of Karmada's kinds, never their status."""


class Room:
    """How much the caches of one server may hold together."""

    def __init__(self, limit: int | None = limits.CACHE) -> None:
        """`limit`: None for a server that is trusted."""
        self._limit = limit
        self.used = 0

    @property
    def is_trusted(self) -> bool:
        """Whether the server is the control plane's own."""
        return self._limit is None

    def check(self, more: int) -> None:
        """Raise `BadAnswer` unless there is room for so much more."""
        if self._limit is not None and more > 0 and self.used + more > self._limit:
            raise BadAnswer(f"the server has more objects than are kept of one: {self._limit} bytes")


class Cache(Generic[T]):
    """Items by key and by index."""

    def __init__(
        self, codec: Codec[T], project: Callable[[bytes], bytes] | None = None, room: Room | None = None
    ) -> None:
        self._codec = codec
        self._project = project
        self._room = room or Room(None)
        self.is_trusted = self._room.is_trusted
        """Whether the objects are those of the control plane's own server, without which nothing is done."""
        self._size = 0
        """What the items cost together."""
        self.items: dict[Key, Item[T]] = {}
        self._namespaces: dict[str, dict[Key, Item[T]]] | None = None
        """Kept from the first time on that somebody asks for one: most caches are never asked."""
        self._functions: dict[str, IndexFunction[T]] = {}
        self._indexes: dict[str, dict[str, dict[Key, None]]] = {}
        """Keys only, in order: the next state of an object with the same index values changes nothing here."""
        self.revision = 0
        """The highest revision seen; 0 when the server's revisions are no numbers."""
        self.resource_version = ""
        """Where a watch goes on; empty when everything has to be loaded (again)."""

    def add_index(self, name: str, function: IndexFunction[T]) -> None:
        """Keep an index from now on; items already here are indexed at once. Repeating the same index is fine."""
        known = self._functions.setdefault(name, function)
        if known is not function:
            raise ValueError(f"an index named {name!r} exists with another function")
        self._indexes[name] = {}
        for item in self.items.values():
            self._index(name, item)

    def namespace(self, namespace: str) -> Mapping[Key, Item[T]]:
        """The items of a namespace."""
        if self._namespaces is None:
            self._namespaces = {}
            for key, item in self.items.items():
                self._namespaces.setdefault(key.namespace, {})[key] = item
        return self._namespaces.get(namespace, {})

    def indexed(self, name: str, value: str) -> list[Item[T]]:
        """The items with an index value."""
        items = self.items
        return [items[key] for key in self._indexes[name].get(value, ())]

    def index_values(self, name: str) -> Iterable[str]:
        """All values an index has."""
        return self._indexes[name].keys()

    def read(self, body: bytes, which: Identity | None = None, held: Held | None = None) -> Item[T]:
        """The item of an encoded object; raises `BadAnswer` for what is none."""
        which = which or identity(body)
        if not which.name:
            raise BadAnswer("the server sent an object without a name")
        try:
            if self._project is not None:
                body, held = self._project(body), None
            # Thousands of objects share a few namespaces: one text for each.
            key = Key(intern(which.namespace), which.name)
            item = Item(key, which.uid, which.resource_version, body, self._codec, held)
            if self._codec.digest:
                item.condense()
        except (ValueError, RecursionError) as error:
            raise unreadable(error) from error
        return item

    def reached(self, resource_version: str) -> None:
        """Everything up to here is in the cache."""
        self.resource_version = resource_version
        self.revision = max(self.revision, number(resource_version))

    def replace(
        self, items: Iterable[Item[T]], resource_version: str, *, initial: bool = False
    ) -> Iterator[list[Change[T]]]:
        """Take over a complete load, some of it with each step; what differs from before, deletions first."""
        loaded = {item.key: item for item in items}
        self.check_load(sum(item.cost for item in loaded.values()))
        gone = [item for key, item in self.items.items() if key not in loaded]
        changes: list[Change[T]] = []
        for item in gone:
            self._hold(-item.cost)
            self._remove(item)
            changes.append(Change(item, None))
            if len(changes) >= STEP:
                yield changes
                changes = []
        for number, item in enumerate(loaded.values(), 1):
            self._put(item, changes, initial)
            if not number % STEP and number < len(loaded):
                yield changes
                changes = []
        self.reached(resource_version)
        yield changes

    def check_load(self, size: int) -> None:
        """Raise `BadAnswer` when a load of a size does not fit in place of what is there."""
        self._room.check(size - self._size)

    def close(self) -> None:
        """Give up the room: nobody follows the collection any more."""
        self._hold(-self._size)

    def apply(self, events: list[WatchEvent]) -> tuple[list[Change[T]], BadAnswer | None]:
        """Take over watch events in order, up to the first that cannot be read or does not fit; bookmarks only say how
        far the server is."""
        changes: list[Change[T]] = []
        try:
            self._apply(events, changes)
        except BadAnswer as error:
            return changes, error
        return changes, None

    def _apply(self, events: list[WatchEvent], changes: list[Change[T]]) -> None:
        for kind, body, which, held in events:
            if kind is EventType.BOOKMARK:
                self.reached(identity(body).resource_version)
                continue
            item = self.read(body, which, held)
            known = self.items.get(item.key)
            self._room.check(item.cost - (known.cost if known is not None else 0))
            self.resource_version = item.resource_version
            revision = number(item.resource_version)
            if revision:
                if revision <= self.revision:
                    continue
                self.revision = revision
            if kind is EventType.DELETED:
                if known is not None:
                    self._hold(-known.cost)
                    self._remove(known)
                    changes.append(Change(known, None))
            else:
                self._put(item, changes, False)

    def _put(self, item: Item[T], changes: list[Change[T]], initial: bool) -> None:
        old = self.items.get(item.key)
        if old is not None:
            if old.resource_version == item.resource_version and old.uid == item.uid:
                return
            self._hold(item.cost - old.cost)
            if old.uid == item.uid:
                self._replace(old, item)
                changes.append(Change(old, item, initial))
                return
            self._remove(old)
            changes.append(Change(old, None))
            old = None
        else:
            self._hold(item.cost)
        key = item.key
        self.items[key] = item
        if self._namespaces is not None:
            self._namespaces.setdefault(key.namespace, {})[key] = item
        for name in self._functions:
            self._index(name, item)
        changes.append(Change(old, item, initial))

    def _replace(self, old: Item[T], item: Item[T]) -> None:
        """Put the next state of an object in the place of the one before."""
        key = item.key
        self.items[key] = item
        if self._namespaces is not None:
            self._namespaces[key.namespace][key] = item
        if not self._indexes or self._same_source(old, item):
            return
        for name, groups in self._indexes.items():
            before, after = self._values(name, old), self._values(name, item)
            if before != after:
                for value in before:
                    _discard_key(groups, value, key)
                for value in after:
                    groups.setdefault(value, {})[key] = None

    def _same_source(self, old: Item[T], item: Item[T]) -> bool:
        """Whether nothing changed that index functions read; they are asked where nobody can say."""
        same = self._codec.same_but_status
        try:
            return same is not None and same(old.value, item.value)
        except ValueError:
            return False

    def _hold(self, size: int) -> None:
        self._size += size
        self._room.used += size

    def _remove(self, item: Item[T]) -> None:
        key = item.key
        del self.items[key]
        if self._namespaces is not None:
            _discard(self._namespaces, key.namespace, key)
        for name, values in self._indexes.items():
            for value in self._values(name, item):
                _discard_key(values, value, key)

    def _index(self, name: str, item: Item[T]) -> None:
        values = self._indexes[name]
        for value in self._values(name, item):
            values.setdefault(value, {})[item.key] = None

    def _values(self, name: str, item: Item[T]) -> Sequence[str]:
        try:
            found = self._functions[name](item)
            return found if found.__class__ is list or found.__class__ is tuple else list(found)
        except Exception as error:
            # One object an index function cannot read must not stop the others.
            log.warning((name, type(error)), "index %r cannot read %s", name, item.key, trace=error)
            return ()


_DIGITS = 40
"""Of a revision; numbers of Kubernetes have at most 20."""


def number(resource_version: str) -> int:
    """A revision as a number; 0 when it is none."""
    return int(resource_version) if resource_version.isdecimal() and len(resource_version) <= _DIGITS else 0


def _discard(groups: dict[str, dict[Key, Item[T]]], value: str, key: Key) -> None:
    group = groups.get(value)
    if group is not None and group.pop(key, None) is not None and not group:
        del groups[value]


def _discard_key(groups: dict[str, dict[Key, None]], value: str, key: Key) -> None:
    group = groups.get(value)
    if group is not None:
        group.pop(key, None)
        if not group:
            del groups[value]


def is_older(resource_version: str, known: str) -> bool:
    """Whether a state lies before another one; versions grow, and what is no number cannot be compared."""
    return resource_version.isdecimal() and known.isdecimal() and number(resource_version) < number(known)


def is_back_in_time(change: Change[Any]) -> bool:
    """Whether an object is in an older state than before: its server was restored from a backup."""
    if change.old is None or change.new is None:
        return False
    return is_older(change.new.resource_version, change.old.resource_version)
