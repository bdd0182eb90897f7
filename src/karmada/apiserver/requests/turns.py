"""Turns of those who change an object: one at a time.

Of changes that come together all but one would do their work in vain, and do it again until they give up. So they wait
for each other, in the order in which they came. Whoever takes long, as one whose webhooks do, is not waited for: both
may go on then, and the storage says which of them was too late. Nothing is kept of objects that nobody changes.
"""

import asyncio
from collections import deque
from contextlib import suppress

from karmada.apiserver.watchcache import Kind

SECONDS = 2.0
"""How long others wait for a change that is under way."""
WAITING = 500
"""How many changes of one object wait."""
Place = tuple[Kind, str, str]
"""Kind, namespace and name of an object."""


class TooManyWaiting(Exception):
    """As many wait for their turn as may."""


class Turns:
    """The turns of all objects: numbers, none of which occurs twice."""

    def __init__(self) -> None:
        self._present: dict[Place, int] = {}
        self._waiting: dict[Place, deque[asyncio.Future[int]]] = {}
        """For objects whose turn somebody has, if others wait."""
        self._last = 0

    def __len__(self) -> int:
        """How many objects are being changed."""
        return len(self._present)

    def is_taken(self, place: Place) -> bool:
        """Whether the next one has to wait."""
        return place in self._present

    async def take(self, place: Place) -> int:
        """A turn with an object, after all others who wait for one; it must be ended. Raises `TooManyWaiting`."""
        return await self._following(place) if self.is_taken(place) else self._begun(place)

    def end(self, place: Place, turn: int) -> None:
        """Let the next one begin, unless it has not waited for this."""
        if self._present.get(place) != turn:
            return
        del self._present[place]
        waiting = self._waiting.get(place)
        while waiting:
            future = waiting.popleft()
            if not future.done():
                future.set_result(self._begun(place))
                break
        if waiting:
            self._limit(place)
        else:
            self._waiting.pop(place, None)

    def _begun(self, place: Place) -> int:
        self._last += 1
        self._present[place] = self._last
        return self._last

    def _limit(self, place: Place) -> None:
        asyncio.get_running_loop().call_later(SECONDS, self.end, place, self._present[place])

    async def _following(self, place: Place) -> int:
        waiting = self._waiting.get(place)
        if waiting is None:
            waiting = self._waiting[place] = deque()
            self._limit(place)
        if len(waiting) >= WAITING:
            raise TooManyWaiting
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        waiting.append(future)
        try:
            return await future
        except asyncio.CancelledError:
            if future.cancelled():
                with suppress(ValueError):  # It may have been passed over already.
                    waiting.remove(future)
            else:
                self.end(place, future.result())
            raise
