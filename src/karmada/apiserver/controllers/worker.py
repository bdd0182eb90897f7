"""Keys to be worked on: each at most once at a time, in the order in which they came, failed ones again after a while.

The loop of every controller here. A key that is added while it is being worked on is worked on again. Whoever starts
a worker stops it; a worker that is not started keeps its keys.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Hashable
from contextvars import Context
from typing import Generic, Protocol, TypeVar

K = TypeVar("K", bound=Hashable)

_log = logging.getLogger(__name__)
_FIRST_DELAY = 0.01
_LONGEST_DELAY = 60.0
_SLICE = 0.005
"""Seconds of a round of the event loop after which no task of a worker begins a key: many keys never wait."""


class Controller(Protocol):
    """Something that works in the background from `start` to `stop`."""

    def start(self) -> None:
        """Look at what there is, then follow events."""
        ...

    async def stop(self) -> None:
        """Stop working."""
        ...


class Worker(Generic[K]):
    """Calls `process` for every key that was added, for up to `width` keys at the same time."""

    def __init__(self, name: str, process: Callable[[K], Awaitable[None]], width: int = 1) -> None:
        self._name = name
        self._process = process
        self._width = width
        self._queue: dict[K, None] = {}
        """Insertion order is the order of work; no key in it is being worked on."""
        self._busy: set[K] = set()
        self._again: set[K] = set()
        """Keys that were added while they were being worked on."""
        self._failures: dict[K, int] = {}
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._running = False
        self._round = float("-inf")
        """When the round of the event loop began in which keys are worked on."""
        self._renewing = False

    def add(self, key: K) -> None:
        """Have a key worked on soon."""
        if key in self._busy:
            self._again.add(key)
        else:
            self._queue[key] = None
            self._feed()

    def add_later(self, key: K, seconds: float) -> None:
        """Have a key worked on after a while; replaces an earlier appointment."""
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        self._timers[key] = asyncio.get_running_loop().call_later(seconds, self._due, key)

    def start(self) -> None:
        """Begin to work."""
        self._running = True
        self._feed()

    async def stop(self) -> None:
        """Stop working; what is under way is cancelled."""
        self._running = False
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        for task in list(self._tasks):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def _due(self, key: K) -> None:
        self._timers.pop(key, None)
        self.add(key)

    def _feed(self) -> None:
        """Start as many tasks as there is work and room for."""
        while self._running and self._queue and len(self._tasks) < self._width:
            # Whoever added the key, as with a request, the work is the process's own.
            task = asyncio.get_running_loop().create_task(self._work(), name=self._name, context=Context())
            self._tasks.add(task)
            task.add_done_callback(self._ended)
            # The task takes its key when it first runs; one per key that waits is enough.
            if len(self._tasks) >= len(self._queue):
                break

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        # A key may have come after the task saw an empty queue.
        self._feed()

    async def _work(self) -> None:
        while self._queue:
            await self._turn()
            if not self._queue:
                return
            key = next(iter(self._queue))
            del self._queue[key]
            self._busy.add(key)
            try:
                await self._attempt(key)
            finally:
                self._busy.discard(key)
            if key in self._again:
                self._again.discard(key)
                self._queue[key] = None

    async def _turn(self) -> None:
        """Wait for a round in which the tasks of this worker have not worked for a whole slice yet."""
        loop = asyncio.get_running_loop()
        while loop.time() - self._round > _SLICE:
            if not self._renewing:
                self._renewing = True
                loop.call_soon(self._renew, loop)
            await asyncio.sleep(0)

    def _renew(self, loop: asyncio.AbstractEventLoop) -> None:
        self._round, self._renewing = loop.time(), False

    async def _attempt(self, key: K) -> None:
        try:
            await self._process(key)
        except Exception as error:
            failures = self._failures[key] = self._failures.get(key, 0) + 1
            delay = min(_FIRST_DELAY * 2 ** min(failures - 1, 20), _LONGEST_DELAY)
            _log.debug("%s: %s failed (%s); again in %.2f s", self._name, key, error, delay)
            self.add_later(key, delay)
        else:
            self._failures.pop(key, None)
