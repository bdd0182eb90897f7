"""Turns for work that nobody waits for: the first load of thousands of objects, and the keys that it finds.

Everything on an event loop shares it. Between two rounds of it only a few pieces of such work are begun, whoever has
them to do, so that whatever really happens is served in between as on an idle system.
"""

import asyncio
from collections import deque
from weakref import WeakKeyDictionary

EACH_ROUND = 2
"""Pieces of work that are begun in one round of the loop."""


class Turns:
    """Hands out turns, first come first served."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._armed = False

    async def next(self) -> None:
        """Wait for a turn; whoever has one goes on at once."""
        waiting = self._loop.create_future()
        self._waiting.append(waiting)
        self._arm()
        await waiting

    def _arm(self) -> None:
        if not self._armed and self._waiting:
            self._armed = True
            self._loop.call_soon(self._hand_out)

    def _hand_out(self) -> None:
        """Those chosen run in the next round of the loop, after whatever is ready by then."""
        self._armed = False
        left = EACH_ROUND
        while self._waiting and left:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(None)
                left -= 1
        self._arm()


_Kept = WeakKeyDictionary[asyncio.AbstractEventLoop, Turns]
_turns: _Kept = WeakKeyDictionary()
_load_turns: _Kept = WeakKeyDictionary()


def turns() -> Turns:
    """The running loop's turns for keys that the first load found."""
    return _of_running_loop(_turns)


def load_turns() -> Turns:
    """The running loop's turns for the first load itself, which must not wait for keys that it has found."""
    return _of_running_loop(_load_turns)


def _of_running_loop(kept: _Kept) -> Turns:
    loop = asyncio.get_running_loop()
    found = kept.get(loop)
    if found is None:
        found = kept[loop] = Turns()
    return found
