"""What the store hands out: objects as bytes with a small index, pages of them, and events about them.

All of it is shared between readers and never changes, but for the form in which an object is held.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

import msgspec

from karmada.apiserver.storage.base import restamp
from karmada.apiserver.storage.delta import Stored, size_of, whole
from karmada.machinery.transport import EventType


class Selected(msgspec.Struct, frozen=True, gc=False, eq=False):
    """The values of an object's selectable fields; the names and their positions are shared by all of its kind."""

    positions: Mapping[str, int]
    values: tuple[str, ...]

    def get(self, name: str, default: str = "") -> str:
        """The value of a field."""
        position = self.positions.get(name)
        return default if position is None else self.values[position]


class Indexed(Protocol):
    """What selectors and the garbage collector need of an object: an `Index`, or what makes one when it is asked."""

    @property
    def uid(self) -> str:
        """Its own."""
        ...

    @property
    def labels(self) -> Mapping[str, str]:
        """Its labels."""
        ...

    @property
    def owners(self) -> tuple[str, ...]:
        """The uids of its owners."""
        ...

    @property
    def fields(self) -> Mapping[str, str] | Selected:
        """The values of its selectable fields."""
        ...


class Index(msgspec.Struct, frozen=True, gc=False):
    """What selectors and the garbage collector need of an object without decoding it."""

    uid: str
    labels: Mapping[str, str]
    owners: tuple[str, ...]
    """The uids of its owners."""
    fields: Mapping[str, str] | Selected
    """The values of its selectable fields."""


class _Metadata(msgspec.Struct, rename="camel"):
    deletion_timestamp: str | None = None


class _Object(msgspec.Struct):
    metadata: _Metadata


_MARK = b'"deletionTimestamp":'
_METADATA = msgspec.json.Decoder(_Object)
NO_INDEX = Index("", {}, (), {})
"""Of something without labels, owners or fields."""


class Item(msgspec.Struct, gc=False, eq=False):
    """One object at one revision."""

    namespace: str
    name: str
    revision: int
    index: Indexed
    stored: Stored
    """Replaced by a form that needs less room when the object has not been written for a while."""

    @property
    def body(self) -> bytes:
        """The whole encoded object with its resourceVersion."""
        stored = self.stored
        return stored if type(stored) is bytes else whole(stored)

    @property
    def size(self) -> int:
        """Of the body."""
        stored = self.stored
        return len(stored) if type(stored) is bytes else size_of(stored)

    @property
    def ends(self) -> bool:
        """Whether the object is marked for deletion. What it holds may have such a field too: a schema, a template."""
        body = self.body
        return _MARK in body and _METADATA.decode(body).metadata.deletion_timestamp is not None


Match = Callable[[Item], bool]


class Page(NamedTuple):
    """A part of a list at one revision."""

    items: list[Item]
    revision: int
    next: str
    """Where the next page begins; empty on the last one."""
    remaining: int
    """How many objects follow; only known without a match, 0 otherwise."""


class StoreEvent(msgspec.Struct, gc=False, eq=False):
    """A change as watchers see it. For DELETED `item` is the final state; `previous` is the state before.

    A BOOKMARK has an item without name and body that says nothing but the revision; `initial_end` marks
    the one that closes the initial events.
    """

    type: EventType
    item: Item
    previous: Item | None
    initial_end: bool = False
    _fresh: bool = True
    """Whether others may still read it soon, so that what they share is kept."""
    _line: bytes | None = None
    _added: "StoreEvent | None" = None
    _deleted: "StoreEvent | None" = None

    def __repr__(self) -> str:
        return f"StoreEvent({self.type}, {self.item.namespace}/{self.item.name}, {self.item.revision})"

    @property
    def line(self) -> bytes:
        """The event as a line of a watch response, encoded once for all watchers."""
        line = self._line
        if line is None:
            line = b'{"type":"%b","object":%b}\n' % (self.type.encode(), self.item.body)
            if self._fresh:
                self._line = line
        return line

    def retire(self) -> None:
        """Give up what was kept for readers: from now on it is made for each of them."""
        self._fresh = False
        self._line = self._added = self._deleted = None

    def seen_through(self, match: Match) -> "StoreEvent | None":
        """What the change is to a watcher that sees only matching objects; None when it concerns others only."""
        item, previous = self.item, self.previous
        before = previous is not None and match(previous)
        if self.type is not EventType.DELETED and match(item):
            if before or previous is None:
                return self
            return self._added or self._entering()
        if not before or previous is None:
            return None
        if self.type is EventType.DELETED:
            return self
        return self._deleted or self._leaving(previous)

    def _entering(self) -> "StoreEvent":
        event = StoreEvent(EventType.ADDED, self.item, None)
        if self._fresh:
            self._added = event
        return event

    def _leaving(self, previous: Item) -> "StoreEvent":
        """Who stops seeing an object is shown its last visible state, at the revision of the change."""
        item = self.item
        body = restamp(previous.body, previous.revision, item.revision)
        event = StoreEvent(
            EventType.DELETED, Item(item.namespace, item.name, item.revision, previous.index, body), previous
        )
        if self._fresh:
            self._deleted = event
        return event


def first_seen(item: Item) -> StoreEvent:
    """The event with which a watcher begins to know an object; as it is this watcher's own, it keeps nothing."""
    return StoreEvent(EventType.ADDED, item, None, False, False)


def bookmark(revision: int, initial_end: bool = False) -> StoreEvent:
    """A bookmark: the watcher has seen everything up to a revision."""
    return StoreEvent(EventType.BOOKMARK, Item("", "", revision, NO_INDEX, b""), None, initial_end)
