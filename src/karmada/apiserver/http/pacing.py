"""Fewer and larger writes to many busy streams.

Writing to a socket costs about as much as everything before it, whatever the size. When many streams are open, a
stream that has just written waits a moment before it takes the next events, which its source gathers meanwhile.
The first event after a pause is never delayed, and with few streams nothing is. One timer serves all streams.
"""

import asyncio

PER_STREAM = 0.0002
LIMIT = 0.010
LEAST = 0.002
"""Seconds: each open stream adds to the delay, up to the limit; below the least it is not worth a timer."""


class Pacer:
    """Counts open streams and lets busy ones wait for the next beat."""

    __slots__ = ("_loop", "_waiting", "streams")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: list[asyncio.Future[None]] = []
        self.streams = 0

    async def after_write(self, previous: float, now: float) -> None:
        """Wait, if the stream's previous write was a short while ago."""
        delay = min(LIMIT, PER_STREAM * self.streams)
        if delay < LEAST or now - previous > 2 * delay:
            return
        if not self._waiting:
            self._loop.call_later(delay, self._beat)
        future: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append(future)
        await future

    def _beat(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)
