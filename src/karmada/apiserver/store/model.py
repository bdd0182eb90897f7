"""What the store hands out: objects as bytes with a small index, pages of them, and events about them.

All of it is shared between readers and never changes.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from karmada.apiserver.storage.base import restamp
from karmada.machinery.transport import EventType


class Index(NamedTuple):
    """What selectors and the garbage collector need of an object without decoding it."""

    uid: str
    labels: Mapping[str, str]
    owners: tuple[str, ...]
    """The uids of its owners."""
    fields: Mapping[str, str]
    """The values of its selectable fields."""


class Item(msgspec.Struct, frozen=True, gc=False, eq=False):
    """One object at one revision; `body` is the whole encoded object with its resourceVersion."""

    namespace: str
    name: str
    revision: int
    index: Index
    body: bytes


Match = Callable[[Item], bool]


class Page(NamedTuple):
    """A part of a list at one revision."""

    items: list[Item]
    revision: int
    next: str
    """Where the next page begins; empty on the last one."""
    remaining: int
    """How many objects follow; only known without a match, 0 otherwise."""


_NOTHING = Index("", {}, (), {})


class StoreEvent:
    """A change as watchers see it. For DELETED `item` is the final state; `previous` is the state before.

    A BOOKMARK has an item without name and body that says nothing but the revision; `initial_end` marks
    the one that closes the initial events.
    """

    __slots__ = ("_added", "_deleted", "_line", "initial_end", "item", "previous", "type")

    def __init__(self, type: EventType, item: Item, previous: Item | None, initial_end: bool = False) -> None:
        self.type = type
        self.item = item
        self.previous = previous
        self.initial_end = initial_end
        self._line: bytes | None = None
        self._added: StoreEvent | None = None
        self._deleted: StoreEvent | None = None

    def __repr__(self) -> str:
        return f"StoreEvent({self.type}, {self.item.namespace}/{self.item.name}, {self.item.revision})"

    @property
    def line(self) -> bytes:
        """The event as a line of a watch response, encoded once for all watchers."""
        if self._line is None:
            self._line = b'{"type":"%b","object":%b}\n' % (self.type.encode(), self.item.body)
        return self._line

    def seen_through(self, match: Match) -> "StoreEvent | None":
        """What the change is to a watcher that sees only matching objects; None when it concerns others only."""
        item, previous = self.item, self.previous
        before = previous is not None and match(previous)
        if self.type is not EventType.DELETED and match(item):
            if before or previous is None:
                return self
            if self._added is None:
                self._added = StoreEvent(EventType.ADDED, item, None)
            return self._added
        if not before or previous is None:
            return None
        if self.type is EventType.DELETED:
            return self
        if self._deleted is None:
            body = restamp(previous.body, previous.revision, item.revision)
            gone = Item(item.namespace, item.name, item.revision, previous.index, body)
            self._deleted = StoreEvent(EventType.DELETED, gone, previous)
        return self._deleted


def bookmark(revision: int, initial_end: bool = False) -> StoreEvent:
    """Tells a watcher that it has seen everything up to a revision."""
    return StoreEvent(EventType.BOOKMARK, Item("", "", revision, _NOTHING, b""), None, initial_end)
