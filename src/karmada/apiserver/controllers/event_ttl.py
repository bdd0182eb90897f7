"""Events are forgotten some time after their last change, like leases in etcd: without admission, quietly.

The time to live is the same for all, so they end in the order in which they changed: one queue, one timer. Earlier
than that the oldest go when all together are larger than the room they have: a burst of work leaves events by the ten
thousand, and nobody reads those of an hour.
"""

import asyncio
from collections import deque
from typing import NamedTuple

from karmada.apiserver.requests.model import Context
from karmada.apiserver.storage.base import StorageFailed, Write
from karmada.apiserver.watchcache import Item, Kind, StoreEvent, key_of
from karmada.machinery.transport import EventType

_EVENTS: Kind = ("", "events")
DEFAULT_SECONDS = 3600.0
DEFAULT_BYTES = 8 << 20
"""About eleven thousand events."""
_BATCH = 256
"""Removed in one turn of the storage."""
_RETRY = 60.0
"""Seconds until a storage that failed is asked again."""


class _End(NamedTuple):
    time: float
    namespace: str
    name: str
    revision: int


class EventExpiry:
    """Removes events when their time is over, or when they take more room than they have."""

    def __init__(self, context: Context, seconds: float = DEFAULT_SECONDS, room: int = DEFAULT_BYTES) -> None:
        self._context = context
        self._store = context.store
        self._seconds = seconds
        self._room = room
        self._bytes = 0
        """Of all events."""
        self._ends: deque[_End] = deque()
        """In the order of time."""
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Give every event its time, then follow changes."""
        self._store.subscribe(self._changed, _EVENTS)
        for item in sorted(self._store.list(_EVENTS).items, key=lambda item: item.revision):
            self._bytes += len(item.body)
            self._note(item)

    async def stop(self) -> None:
        """Stop removing."""
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            await self._task

    def _changed(self, kind: Kind, event: StoreEvent) -> None:
        if event.previous is not None:
            self._bytes -= len(event.previous.body)
        if event.type is not EventType.DELETED:
            self._bytes += len(event.item.body)
            self._note(event.item)

    def _note(self, item: Item) -> None:
        end = self._context.now() + self._seconds
        self._ends.append(_End(end, item.namespace, item.name, item.revision))
        if self._bytes > self._room:
            self._due()
        elif self._timer is None:
            self._set_timer()

    def _set_timer(self) -> None:
        delay = max(self._ends[0].time - self._context.now(), 0.0)
        self._timer = asyncio.get_running_loop().call_later(delay, self._due)

    def _due(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._remove(), name="event-expiry")

    async def _remove(self) -> None:
        while batch := self._over():
            if not await self._forget(batch):
                self._timer = asyncio.get_running_loop().call_later(_RETRY, self._due)
                return
        if self._ends and self._timer is None:
            self._set_timer()

    def _over(self) -> list[Item]:
        """The next events to remove: those whose time is over, and the oldest of too many."""
        batch: list[Item] = []
        now, left = self._context.now(), self._bytes
        enough = self._room - self._room // 8 if left > self._room else left
        """Some more than need be, so that they go by the hundred and not one for each that comes."""
        while self._ends and len(batch) < _BATCH and (self._ends[0].time <= now or left > enough):
            end = self._ends.popleft()
            item = self._store.get(_EVENTS, end.namespace, end.name)
            if item is not None and item.revision == end.revision:
                batch.append(item)
                left -= len(item.body)
        return batch

    async def _forget(self, batch: list[Item]) -> bool:
        """Remove events; false when the storage fails, and the rest is to be tried again.

        One that has changed meanwhile stays, and has its time anew.
        """
        writes = [Write(key_of(_EVENTS, item.namespace, item.name), None, item.revision) for item in batch]
        outcomes = await self._store.write_all(writes)
        left = [item for item, outcome in zip(batch, outcomes, strict=True) if isinstance(outcome, StorageFailed)]
        self._ends.extendleft(_End(0.0, item.namespace, item.name, item.revision) for item in reversed(left))
        return not left
