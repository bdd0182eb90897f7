"""A queue that lets the thread at its other end run only when the event loop yields to it.

Either the event loop runs or the writer's thread does, never both: what happens is decided by the loop's seed, not by
the scheduler of the machine. The thread gives the baton back when it has nothing to do, and whenever it calls `pause`,
as a slow disk does. After None has been put it runs on by itself, so that it can be waited for.
"""

import asyncio
import threading
from collections import deque
from typing import Any


class LockstepQueue:
    """Stands in for a `SimpleQueue`."""

    def __init__(self) -> None:
        self._jobs: deque[Any] = deque()
        self._go = threading.Semaphore(0)
        self._back = threading.Semaphore(0)
        self._holding = False
        """Whether the thread runs; only the thread changes it."""
        self._paused = False
        self._free = False
        self._home = threading.get_ident()
        self._wanted = asyncio.Event()

    # What the thread uses.

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """The next job; gives the baton back while there is none, and no time passes meanwhile."""
        while True:
            if not self._holding:
                self._go.acquire()
                self._holding = True
            if self._jobs:
                return self._jobs.popleft()
            self._holding = False
            self._back.release()

    def empty(self) -> bool:
        """Whether there is no job now."""
        return not self._jobs

    def pause(self) -> None:
        """Let the loop run for a while; of no effect in the loop's own thread."""
        if self._free or threading.get_ident() == self._home:
            return
        self._paused, self._holding = True, False
        self._back.release()
        self._go.acquire()
        self._paused, self._holding = False, True

    # What the loop uses.

    def put(self, job: Any) -> None:
        """Give the thread a job; None is its last."""
        self._jobs.append(job)
        self._wanted.set()
        if job is None:
            self._free = True
            self._go.release()

    async def wanted(self) -> None:
        """Return when the thread has something to do."""
        while not (self._jobs or self._paused):
            self._wanted.clear()
            await self._wanted.wait()

    def turn(self) -> None:
        """Let the thread run until it pauses or has nothing to do."""
        if not self._free:
            self._go.release()
            self._back.acquire()
