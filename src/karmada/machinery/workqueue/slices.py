"""Slices of time in which workers begin keys: whatever else waits for the event loop, requests above all, runs between.

All workers of an event loop share its slices. If each of them had some milliseconds for itself, a round of the loop
would last as long as there are workers. Together they have one slice in a round, and those for whom it is too short go
on in the next one, in the order in which they came.
"""

import asyncio
from collections import deque
from weakref import WeakKeyDictionary

from karmada.machinery.clock import Clock

SLICE = 0.01
"""Seconds of processor time in a round of the loop in which keys are begun. Not of the wall: on a busy machine a round
would have one key, and what is done for many keys at once, commits above all, would be done for each."""


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
        self._began_keys = 0
        """How many keys were begun in the present slice."""

    def is_open(self, clock: Clock) -> bool:
        """Whether a key may be begun in this round; nobody overtakes those who wait."""
        if not self._has_time(clock.processor()) or self._waiting or self._late:
            return False
        self._began_keys += 1
        return True

    async def wait(self, clock: Clock) -> None:
        """Go on when it is this worker's turn."""
        line = self._waiting
        while True:
            waiting = self._loop.create_future()
            line.append(waiting)
            self._arm()
            await waiting
            if self._has_time(clock.processor()):
                self._began_keys += 1
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
        """The slice is over: in the next round the first of those who wait go on, twice as many as went on in this one.
        All others would only find that it is over, too."""
        left = 2 * self._began_keys + 1
        self._began, self._is_ending, self._began_keys = None, False, 0
        while (line := self._late or self._waiting) and left:
            waiting = line.popleft()
            if not waiting.done():
                waiting.set_result(None)
                left -= 1
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
