"""When bindings that found no room are looked at again."""

import asyncio

from karmada.machinery.clock import Clock
from karmada.scheduler.keys import BindingKey
from karmada.scheduler.queue import SchedulingQueue

PAUSE = 10.0
"""Seconds between two releases."""


class ParkedRelease:
    """Releases parked bindings when clusters report other figures, which they do often: at most once in a pause."""

    def __init__(self, queue: SchedulingQueue[BindingKey], clock: Clock) -> None:
        self._queue = queue
        self._clock = clock
        self._released_at = float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    def room_changed(self) -> None:
        """A cluster reports other figures."""
        if not self._queue.parked or self._timer is not None:
            return
        pause = self._released_at + PAUSE - self._clock.monotonic()
        if pause <= 0:
            self._release()
        else:
            self._timer = self._clock.call_later(pause, self._release)

    def cancel(self) -> None:
        """Release nothing any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _release(self) -> None:
        self._timer = None
        self._released_at = self._clock.monotonic()
        self._queue.release()
