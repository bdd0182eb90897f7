"""How many bytes of answers a server holds until clients have read them, in total and for each client.

- A client that holds nothing always gets room for an ordinary answer, whatever others hold: nobody is starved.
- One client holds at most half of the room. What exceeds it waits for what the same client has still to read.
"""

import asyncio
from collections import Counter, deque
from contextlib import suppress
from math import inf
from typing import NamedTuple

ALWAYS = 4 * 1024 * 1024
"""Bytes of an answer for which there is room if the client holds no other."""


class _Waiting(NamedTuple):
    size: int
    granted: asyncio.Future[None]


class Unsent:
    """The room that all connections of a server share. Whoever took some gives it back."""

    __slots__ = ("_held", "_share", "_waiting", "left")

    def __init__(self, size: float = inf) -> None:
        self.left = size
        self._share = size / 2
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[_Waiting]] = {}
        """By client, in order. Who holds something is woken by what it gives back, who holds nothing by anybody."""

    def try_take(self, client: str, size: int) -> bool:
        """Take so much if there is room for it now."""
        if client in self._waiting or not self._fits(client, size):
            return False
        self._take(client, size)
        return True

    async def take(self, client: str, size: int) -> None:
        """Take so much; waits its turn."""
        if self.try_take(client, size):
            return
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = _Waiting(size, granted)
        queue = self._waiting.setdefault(client, deque())
        queue.append(waiting)
        try:
            await granted
        except asyncio.CancelledError:
            if granted.cancelled():
                with suppress(ValueError):  # Somebody else gave back in the same turn, and left it out.
                    queue.remove(waiting)
                self._wake(client)
            else:
                self.give(client, size)
            raise

    def give(self, client: str, size: int) -> None:
        """Give so much back, to whoever of the same client waits, or holds nothing."""
        self.left += size
        self._held[client] -= size
        if not self._held[client]:
            del self._held[client]
        self._wake(client)
        if self.left > 0:
            for other in [other for other in self._waiting if not self._held[other]]:
                self._wake(other)

    def _wake(self, client: str) -> None:
        queue = self._waiting.get(client)
        if queue is None:
            return
        while queue and (queue[0].granted.done() or self._fits(client, queue[0].size)):
            size, granted = queue.popleft()
            if not granted.done():
                self._take(client, size)
                granted.set_result(None)
        if not queue:
            del self._waiting[client]

    def _fits(self, client: str, size: int) -> bool:
        held = self._held[client]
        if not held:
            return size <= ALWAYS or self.left > 0
        return held + size <= self._share and size <= self.left

    def _take(self, client: str, size: int) -> None:
        self.left -= size
        self._held[client] += size
