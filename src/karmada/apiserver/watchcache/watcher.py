"""One watch: an async iterator of batches of events, in revision order, without gap or repeat.

A watcher that does not keep up is cut off: its buffer is dropped and the next read raises `TooSlow`, so that it
lists again instead of missing something. Whatever gathers between two reads comes as one batch, unless it is large:
initial events of thousands of objects need not be in one piece on the wire.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from types import TracebackType

from karmada.apiserver.watchcache.model import Match, StoreEvent, bookmark
from karmada.machinery.httpserver.model import PIECE

_BATCH = 500
_MOST_BYTES = 64 << 20
_AT_ONCE = 2 * PIECE
"""Bytes that are taken without waiting."""

Past = AsyncIterator[list[StoreEvent]]
Detach = Callable[["Watcher"], None]


class TooSlow(Exception):
    """The watcher did not take its events in time."""


class Watcher:
    """Made by `WatchCache.watch`; closed with `close` or by leaving its `with` block."""

    def __init__(self, match: Match | None, after: int, bookmarks: bool, limit: int, detach: Detach) -> None:
        self._match = match
        self._after = after
        """Events up to here are none of its business."""
        self.bookmarks = bookmarks
        """Whether it wants bookmarks."""
        self._limit = limit
        self._byte_limit = _MOST_BYTES
        self._detach = detach
        self._past: Past | None = None
        """What happened before anything in the buffer."""
        self._buffer: list[StoreEvent] = []
        self._bytes = 0
        """The size of the objects in the buffer."""
        self._waiter: asyncio.Future[None] | None = None
        self._closed = False
        """Nothing is buffered any more."""
        self._finished = False
        """Nothing comes any more; what is buffered is still to be read."""
        self._error: Exception | None = None

    def begin(self, past: Past | None, events: list[StoreEvent]) -> None:
        """Start with these, however many they are."""
        self._past = past
        self._buffer.extend(events)
        self._bytes = _size(events)
        self._limit += len(events)
        self._byte_limit += self._bytes

    def offer(self, event: StoreEvent) -> None:
        """Take an event of the watched place, if it concerns this watcher."""
        item = event.item
        if item.revision <= self._after:
            return
        if self._match is not None:
            try:
                seen = event.seen_through(self._match)
            except Exception as error:  # the watcher's own fault must not stop the others
                self.end(error)
                return
            if seen is None:
                return
            event, item = seen, seen.item
        self._buffer.append(event)
        stored = item.stored
        self._bytes += len(stored) if type(stored) is bytes else item.size
        if self._bytes > self._byte_limit or len(self._buffer) > self._limit:
            self.end(TooSlow(f"the watcher is {len(self._buffer)} events and {self._bytes >> 20} MiB behind"))
        elif self._waiter is not None:
            self._wake()

    def bookmark(self, revision: int) -> None:
        """Send a bookmark: the watcher has been offered everything up to a revision."""
        if not self._closed and revision >= self._after:
            self._buffer.append(bookmark(revision))
            self._wake()

    def end(self, error: Exception) -> None:
        """Cut the watcher off: what it has not read is dropped, its next read raises."""
        self._error = error
        self.close()

    def close(self) -> None:
        """End the iteration; what was not read is dropped."""
        if not self._closed:
            self._closed = True
            self._past = None
            self._buffer = []
            if not self._finished:
                self._detach(self)
            self._wake()

    def finish(self) -> None:
        """End the iteration after what has gathered was read: nothing will happen any more."""
        if not self._closed and not self._finished:
            self._finished = True
            self._detach(self)
            self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def __aiter__(self) -> "Watcher":
        return self

    async def __anext__(self) -> list[StoreEvent]:
        while self._past is not None:
            past = self._past
            try:
                return await anext(past)
            except StopAsyncIteration:
                self._past = None
            except Exception as error:
                self.end(error)
        while not self._buffer:
            if self._error is not None:
                raise self._error
            if self._closed or self._finished:
                raise StopAsyncIteration
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        events = self._buffer
        if len(events) <= _BATCH:
            self._buffer, self._bytes = [], 0
            return events
        self._buffer = events[_BATCH:]
        del events[_BATCH:]
        self._bytes -= _size(events)
        return events

    def gathered(self) -> list[StoreEvent]:
        """What the next read would return without waiting, unless it is large; to be taken with `take`."""
        if self._closed or self._past is not None or len(self._buffer) > _BATCH or self._bytes > _AT_ONCE:
            return []
        return self._buffer

    def take(self, events: list[StoreEvent]) -> bool:
        """Count what has gathered as read if it is just this, which somebody's `gathered` returned."""
        if not self._buffer or self._buffer != events or self._closed or self._past is not None:
            return False
        self._buffer, self._bytes = [], 0
        return True

    def __enter__(self) -> "Watcher":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _size(events: list[StoreEvent]) -> int:
    return sum([event.item.size for event in events])
