"""Workers that wait for a key of a queue."""

import asyncio
from collections import deque


class Waiters:
    """Workers that wait, in order: each `wake` lets one go on, and is not lost with one that was cancelled."""

    __slots__ = ("_futures",)

    def __init__(self) -> None:
        self._futures: deque[asyncio.Future[None]] = deque()

    async def wait(self) -> None:
        """Wait until it is this worker's turn to look for a key."""
        future = asyncio.get_running_loop().create_future()
        self._futures.append(future)
        try:
            await future
        except asyncio.CancelledError:
            # Whoever woke this worker counts on somebody to take the key.
            if future.done() and not future.cancelled():
                self.wake()
            raise

    def wake(self) -> None:
        """Let the first worker that still waits go on."""
        while self._futures:
            future = self._futures.popleft()
            if not future.done():
                future.set_result(None)
                return

    def wake_all(self) -> None:
        """Let all of them go on."""
        while self._futures:
            self.wake()
