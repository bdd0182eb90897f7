"""The recent events of each resource, kept so that watches resume and lists page at an older revision.

Bounded by count, by the bytes only the history keeps alive (superseded bodies), and by age. Every event with a
revision above `floor` is there. Only the newest events keep what their readers share, such as the encoded line.
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from karmada.apiserver.storage.base import Compacted
from karmada.apiserver.watchcache.keys import Kind
from karmada.apiserver.watchcache.model import StoreEvent
from karmada.machinery.transport import EventType


class Bounds(NamedTuple):
    """How much history is kept; the first bound that is reached counts."""

    events: int = 50_000
    bytes: int = 32 << 20
    seconds: float = 300.0


_FRESH = 1000


_Entry = tuple[Kind, StoreEvent, float, int]
"""Kind, event, time, and the bytes that only the history keeps alive."""


class History:
    """A ring over all resources with one queue for each."""

    def __init__(self, floor: int, bounds: Bounds, clock: Callable[[], float]) -> None:
        self.floor = floor
        self._bounds = bounds
        self._clock = clock
        self._order: deque[_Entry] = deque()
        """One entry per event, oldest first: the head of `_order` is the head of its kind's queue."""
        self._events: dict[Kind, deque[StoreEvent]] = {}
        self._bytes = 0

    def append(self, kind: Kind, event: StoreEvent) -> None:
        """Remember an event, forget the oldest where a bound is passed."""
        events = self._events.get(kind)
        if events is None:
            events = self._events[kind] = deque()
        events.append(event)
        size = 0
        if event.previous is not None:
            stored = event.previous.stored
            size = len(stored) if type(stored) is bytes else event.previous.size
        if event.type is EventType.DELETED:
            size += event.item.size
        self._bytes += size
        now = self._clock()
        self._order.append((kind, event, now, size))
        kept = len(self._order)
        if kept > _FRESH:
            self._order[-_FRESH - 1][1].retire()
        bounds = self._bounds
        while kept > bounds.events or self._bytes > bounds.bytes or self._order[0][2] < now - bounds.seconds:
            self._forget()
            kept -= 1

    def since(self, kind: Kind, after: int) -> list[StoreEvent]:
        """The events of a resource after a revision, newest first; raises `Compacted` below the floor."""
        if after < self.floor:
            raise Compacted(self.floor)
        found: list[StoreEvent] = []
        for event in reversed(self._events.get(kind, ())):
            if event.item.revision <= after:
                break
            found.append(event)
        return found

    def _forget(self) -> None:
        kind, _, _, size = self._order.popleft()
        self._bytes -= size
        self.floor = self._events[kind].popleft().item.revision
