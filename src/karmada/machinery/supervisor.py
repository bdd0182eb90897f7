"""Owns background tasks: every one has a name, and its death is noticed.

A task that fails is logged and, if it may be restarted, runs again after a growing pause; otherwise its failure ends
`wait()`, where the process decides what to do. Leaving the supervisor's context cancels what still runs and waits for
it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from random import Random
from types import TracebackType

from karmada.machinery.backoff import Backoff, BackoffPolicy
from karmada.machinery.clock import REAL, Clock

log = logging.getLogger(__name__)

PAUSES = BackoffPolicy(initial=1.0, maximum=60.0, jitter=0.5)
PROVEN = 60.0
"""A task that ran this long before it failed is restarted without a longer pause."""


class Supervisor:
    """A set of named background tasks with one owner."""

    def __init__(self, clock: Clock = REAL, random: Random | None = None) -> None:
        self._clock = clock
        self._random = random or clock.random()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.restarts: dict[str, int] = {}
        """How often each task was restarted."""

    async def __aenter__(self) -> "Supervisor":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def start(self, name: str, function: Callable[[], Awaitable[None]], *, restart: bool = True) -> None:
        """Run a function in the background until it returns or `cancel` is called."""
        if name in self._tasks:
            raise ValueError(f"a task named {name!r} runs already")
        body = self._restarting(name, function) if restart else self._once(name, function)
        task = asyncio.get_running_loop().create_task(body, name=name)
        self._tasks[name] = task
        task.add_done_callback(lambda _: self._tasks.pop(name, None))

    async def cancel(self, name: str) -> None:
        """End a task and wait for its end; nothing happens if it has ended already."""
        task = self._tasks.get(name)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    @property
    def running(self) -> tuple[str, ...]:
        """Names of the tasks that run."""
        return tuple(self._tasks)

    async def wait(self) -> None:
        """Wait for the failure of a task that must not fail, and raise it."""
        await asyncio.shield(self._failure)

    async def stop(self) -> None:
        """Cancel everything and wait for it."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._failure.done():
            self._failure.exception()

    async def _restarting(self, name: str, function: Callable[[], Awaitable[None]]) -> None:
        backoff = Backoff(PAUSES, self._random)
        while True:
            started = self._clock.monotonic()
            try:
                await function()
            except Exception:
                if _cancelled():
                    log.exception("background task %s failed when it was stopped", name)
                    return
                if self._clock.monotonic() - started >= PROVEN:
                    backoff.reset()
                pause = backoff.next()
                log.exception("background task %s failed; it starts again in %.1f s", name, pause)
                self.restarts[name] = self.restarts.get(name, 0) + 1
                await self._clock.sleep(pause)
            else:
                return

    async def _once(self, name: str, function: Callable[[], Awaitable[None]]) -> None:
        try:
            await function()
        except Exception as error:
            if self._failure.done():
                log.exception("background task %s failed as well", name)
            else:
                # Whoever waits raises it: losing a lease ends a process in one sentence, without a traceback.
                self._failure.set_exception(error)


def _cancelled() -> bool:
    """Whether the running task was cancelled: a task group that fails meanwhile raises its failure only."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
