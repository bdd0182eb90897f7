"""Who has worked on something for too long: one timer for all workers of a controller.

A timer for each key would cost more than most keys do: nearly all are done long before anything is due.
"""

import asyncio
import math
from collections.abc import Callable
from typing import NamedTuple

from karmada.machinery.clock import Clock


class _Started(NamedTuple):
    at: float
    extended: float
    """When the deadline began, first or anew."""
    relieve: Callable[[], None] | None
    """Called once when the work takes long."""


class Overdue:
    """Calls for relief of workers that take long, and cancels those that take too long."""

    def __init__(self, clock: Clock, patience: float, deadline: float) -> None:
        """Relief comes after `patience` seconds, the end after `deadline` seconds."""
        self._clock = clock
        self._patience = patience
        self._deadline = deadline
        self._working: dict[asyncio.Task[None], _Started] = {}
        """In the order in which they started."""
        self._cancelled: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._next = math.inf
        """When the timer comes; never, if there is none."""

    def begin(self, worker: asyncio.Task[None], now: float, relieve: Callable[[], None] | None) -> None:
        """A worker begins with a key, and is relieved of others where that is wanted."""
        self._working[worker] = _Started(now, now, relieve)
        due = now + (self._patience if relieve is not None else self._deadline)
        if due < self._next:
            self._set_timer(due, now)

    def extend(self, worker: asyncio.Task[None], now: float) -> None:
        """Begin the deadline of a worker anew; what asked for relief of it stays as it is."""
        if (started := self._working.get(worker)) is not None:
            self._working[worker] = started._replace(extended=now)

    def end(self, worker: asyncio.Task[None]) -> bool:
        """A worker is done with its key; whether it was cancelled here, and by nobody else."""
        self._working.pop(worker, None)
        if worker not in self._cancelled:
            return False
        self._cancelled.remove(worker)
        return worker.uncancel() == 0

    def _due(self) -> None:
        self._timer, self._next = None, math.inf
        now = self._clock.monotonic()
        following: list[float] = []
        for worker, (at, extended, relieve) in list(self._working.items()):
            if now >= extended + self._deadline:
                if worker not in self._cancelled:
                    self._cancelled.add(worker)
                    worker.cancel()
                continue
            if relieve is not None and now >= at + self._patience:
                self._working[worker] = _Started(at, extended, None)
                relieve()
                relieve = None
            following.append(extended + self._deadline if relieve is None else at + self._patience)
        if following and (due := min(following)) < self._next:
            self._set_timer(due, now)

    def _set_timer(self, due: float, now: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._next = self._clock.call_later(max(due - now, 0.0), self._due), due
