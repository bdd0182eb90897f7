"""Events are forgotten some time after their last change, like leases in etcd: without admission, quietly.

The time to live is the same for all, so they end in the order in which they changed: one queue, one timer.
"""

import asyncio
from collections import deque
from typing import NamedTuple

from karmada.apiserver.requests.model import Context
from karmada.apiserver.storage.base import Mismatch, Value
from karmada.apiserver.watchcache import Item, Kind, StoreEvent
from karmada.machinery.transport import EventType

_EVENTS: Kind = ("", "events")
DEFAULT_SECONDS = 3600.0


class _End(NamedTuple):
    time: float
    namespace: str
    name: str
    revision: int


class EventExpiry:
    """Removes events when their time is over."""

    def __init__(self, context: Context, seconds: float = DEFAULT_SECONDS) -> None:
        self._context = context
        self._store = context.store
        self._seconds = seconds
        self._ends: deque[_End] = deque()
        """In the order of time."""
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Give every event its time, then follow changes."""
        self._store.subscribe(self._changed, _EVENTS)
        for item in self._store.list(_EVENTS).items:
            self._note(item)

    async def stop(self) -> None:
        """Stop removing."""
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            await self._task

    def _changed(self, kind: Kind, event: StoreEvent) -> None:
        if kind == _EVENTS and event.type is not EventType.DELETED:
            self._note(event.item)

    def _note(self, item: Item) -> None:
        end = self._context.now() + self._seconds
        self._ends.append(_End(end, item.namespace, item.name, item.revision))
        if self._timer is None:
            self._set_timer()

    def _set_timer(self) -> None:
        delay = max(self._ends[0].time - self._context.now(), 0.0)
        self._timer = asyncio.get_running_loop().call_later(delay, self._due)

    def _due(self) -> None:
        self._timer = None
        self._task = asyncio.get_running_loop().create_task(self._remove(), name="event-expiry")

    async def _remove(self) -> None:
        while self._ends and self._ends[0].time <= self._context.now():
            end = self._ends.popleft()
            item = self._store.get(_EVENTS, end.namespace, end.name)
            if item is None or item.revision != end.revision:
                continue
            try:
                await self._store.delete(_EVENTS, end.namespace, end.name, _final(item), end.revision)
            except Mismatch:
                continue
        if self._ends and self._timer is None:
            self._set_timer()


def _final(item: Item) -> Value:
    """The last state as it is stored, to be stamped with the revision of the deletion."""
    head, _, tail = item.body.partition(b'"resourceVersion":"')
    return Value(head + b'"resourceVersion":"', tail[tail.index(b'"') :])
