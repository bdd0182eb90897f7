"""Keys to be worked on: each at most once in the queue, one after another, failed ones again after a while.

The loop of every controller here. A key that is added while it is being worked on is worked on again. Whoever starts
a worker stops it; a worker that is not started keeps its keys.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, Protocol, TypeVar

K = TypeVar("K", bound=Hashable)

_log = logging.getLogger(__name__)
_FIRST_DELAY = 0.01
_LONGEST_DELAY = 60.0


class Controller(Protocol):
    """Something that works in the background from `start` to `stop`."""

    def start(self) -> None:
        """Look at what there is, then follow events."""
        ...

    async def stop(self) -> None:
        """Stop working."""
        ...


class Worker(Generic[K]):
    """Calls `process` for every key that was added."""

    def __init__(self, name: str, process: Callable[[K], Awaitable[None]]) -> None:
        self._name = name
        self._process = process
        self._queue: dict[K, None] = {}
        """Insertion order is the order of work."""
        self._failures: dict[K, int] = {}
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._wake: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None

    def add(self, key: K) -> None:
        """Have a key worked on soon."""
        self._queue[key] = None
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    def add_later(self, key: K, seconds: float) -> None:
        """Have a key worked on after a while; replaces an earlier appointment."""
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        self._timers[key] = asyncio.get_running_loop().call_later(seconds, self._due, key)

    def start(self) -> None:
        """Begin to work."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name=self._name)

    async def stop(self) -> None:
        """Stop working; what is under way is cancelled."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    def _due(self, key: K) -> None:
        self._timers.pop(key, None)
        self.add(key)

    async def _run(self) -> None:
        while True:
            while self._queue:
                key = next(iter(self._queue))
                del self._queue[key]
                await self._attempt(key)
            self._wake = asyncio.get_running_loop().create_future()
            await self._wake
            self._wake = None

    async def _attempt(self, key: K) -> None:
        try:
            await self._process(key)
        except Exception as error:
            failures = self._failures[key] = self._failures.get(key, 0) + 1
            delay = min(_FIRST_DELAY * 2 ** (failures - 1), _LONGEST_DELAY)
            _log.debug("%s: %s failed (%s); again in %.2f s", self._name, key, error, delay)
            self.add_later(key, delay)
        else:
            self._failures.pop(key, None)
