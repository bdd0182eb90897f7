"""Fewer and larger writes to many busy streams.

Writing to a socket costs about as much as everything before it, whatever the size. When many streams are open, a
stream that has just written waits for the next beat before it takes more events, which its source gathers meanwhile;
at the beat all busy streams write in one go, without waking their tasks. The first event after a pause is never
delayed, and with few streams nothing is. One timer serves all streams.
"""

import asyncio
from collections.abc import Callable

from karmada.machinery.httpserver import encoding

PER_STREAM = 0.00025
LIMIT = 0.012
LEAST = 0.002
"""Seconds: each open stream adds to the delay, up to the limit; below the least it is not worth a timer."""

Flush = Callable[[], bool]
"""Writes what has gathered without waiting; false when there was nothing, or the stream's task must see to it."""


class Pacer:
    """Counts open streams and lets busy ones write at each beat."""

    __slots__ = ("_busy", "_chunk", "_data", "_loop", "streams")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._busy: list[tuple[Flush, asyncio.Future[None]]] = []
        self.streams = 0
        self._data = self._chunk = b""

    def chunk(self, data: bytes) -> bytes:
        """One chunk of a chunked body, made once for all streams that write the same in a row."""
        if data is not self._data:
            self._data, self._chunk = data, encoding.chunk(data)
        return self._chunk

    async def after_write(self, previous: float, now: float, flush: Flush) -> None:
        """If the stream's previous write was a short while ago, wait until a beat finds nothing to flush."""
        delay = self._delay()
        if delay < LEAST or now - previous > 2 * delay:
            return
        if not self._busy:
            self._loop.call_later(delay, self._beat)
        future: asyncio.Future[None] = self._loop.create_future()
        self._busy.append((flush, future))
        await future

    def _delay(self) -> float:
        return min(LIMIT, PER_STREAM * self.streams)

    def _beat(self) -> None:
        busy, self._busy = self._busy, []
        for entry in busy:
            flush, future = entry
            if future.done():
                continue
            try:
                going = flush()
            except Exception as error:
                future.set_exception(error)
                continue
            if going:
                self._busy.append(entry)
            else:
                future.set_result(None)
        if self._busy:
            self._loop.call_later(self._delay(), self._beat)
