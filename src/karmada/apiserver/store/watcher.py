"""One watch: an async iterator of batches of events, in revision order, without gap or repeat.

A watcher that does not keep up is cut off: its buffer is dropped and the next read raises `TooSlow`, so that it
lists again instead of missing something. Whatever gathers between two reads comes as one batch.
"""

import asyncio
from collections.abc import Callable
from types import TracebackType

from karmada.apiserver.store.model import Match, StoreEvent, bookmark


class TooSlow(Exception):
    """The watcher did not take its events in time."""


class Watcher:
    """Made by `ObjectStore.watch`; closed with `close` or by leaving its `with` block."""

    def __init__(self, match: Match | None, bookmarks: bool, limit: int, detach: Callable[["Watcher"], None]) -> None:
        self._match = match
        self._limit = limit
        self._detach = detach
        self._buffer: list[StoreEvent] = []
        self._waiter: asyncio.Future[None] | None = None
        self._end: Exception | None = None
        """Set once: nothing is buffered afterwards, and the iteration ends with it."""
        self.bookmarks = bookmarks

    def offer(self, event: StoreEvent) -> None:
        """Take an event of the watched place, if it concerns this watcher."""
        if self._match is not None:
            seen = event.seen_through(self._match)
            if seen is None:
                return
            event = seen
        self._buffer.append(event)
        if len(self._buffer) > self._limit:
            self.end(TooSlow(f"the watcher is {self._limit} events behind"))
        self._wake()

    def preload(self, events: list[StoreEvent]) -> None:
        """Begin with these, however many they are."""
        self._buffer.extend(events)
        self._limit += len(events)

    def bookmark(self, revision: int) -> None:
        """Tell the watcher how far it has come; without effect when events are waiting to be read."""
        if not self._buffer and self._end is None:
            self._buffer.append(bookmark(revision))
            self._wake()

    def end(self, reason: Exception) -> None:
        """Cut the watcher off: what it has not read is dropped, its next read raises."""
        self._end = reason
        self._buffer = []
        self._detach(self)
        self._wake()

    def close(self) -> None:
        """End the iteration normally."""
        self.end(StopAsyncIteration())

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def __aiter__(self) -> "Watcher":
        return self

    async def __anext__(self) -> list[StoreEvent]:
        while not self._buffer:
            if self._end is not None:
                raise self._end
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        events, self._buffer = self._buffer, []
        return events

    def __enter__(self) -> "Watcher":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
