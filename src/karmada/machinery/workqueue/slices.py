"""Slices of time in which workers begin keys: whatever else waits for the event loop, requests above all, runs between.

All workers of an event loop share its slices. If each of them had some milliseconds for itself, a round of the loop
would last as long as there are workers. Together they have one slice in a round, and those for whom it is too short go
on in the next one, in the order in which they came.
"""

import asyncio
from collections import deque
from weakref import WeakKeyDictionary

from karmada.machinery.clock import Clock

SLICE = 0.005
"""Seconds of a round of the loop in which keys are begun."""
WOKEN = 8
"""Workers that go on in a round: more would only find that the slice is over."""


class Slices:
    """The slices of one event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._began: float | None = None
        """When the slice of this round began; None until somebody begins a key."""
        self._is_ending = False
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._late: deque[asyncio.Future[None]] = deque()
        """Those who were to go on and found that the slice was over: they are first in the next one."""

    def is_open(self, now: float) -> bool:
        """Whether a key may be begun in this round; nobody overtakes those who wait."""
        return self._has_time(now) and not self._waiting and not self._late

    async def wait(self, clock: Clock) -> None:
        """Go on when it is this worker's turn."""
        line = self._waiting
        while True:
            waiting = self._loop.create_future()
            line.append(waiting)
            self._arm()
            await waiting
            if self._has_time(clock.monotonic()):
                return
            line = self._late

    def _has_time(self, now: float) -> bool:
        if self._began is None:
            self._began = now
            self._arm()
        return now - self._began < SLICE

    def _arm(self) -> None:
        if not self._is_ending:
            self._is_ending = True
            self._loop.call_soon(self._end)

    def _end(self) -> None:
        """The slice is over: in the next round the first of those who wait go on."""
        self._began, self._is_ending = None, False
        woken = 0
        while (line := self._late or self._waiting) and woken < WOKEN:
            waiting = line.popleft()
            if not waiting.done():
                waiting.set_result(None)
                woken += 1
        if self._late or self._waiting:
            self._arm()


_slices: WeakKeyDictionary[asyncio.AbstractEventLoop, Slices] = WeakKeyDictionary()


def slices() -> Slices:
    """The slices of the running loop."""
    loop = asyncio.get_running_loop()
    found = _slices.get(loop)
    if found is None:
        found = _slices[loop] = Slices()
    return found
