"""How long an ordinary request may take: what its `timeout` parameter says, at most a minute.

A request that takes longer is cancelled. One timer looks after all of them, as one for each would cost more than many
a request itself: it may come `TICK` seconds late.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from karmada.api import duration
from karmada.machinery.httpserver.failure import bad_request

LIMIT = 60.0
TICK = 0.25


def request_seconds(params: Mapping[str, str]) -> float:
    """Seconds a request may take; raises 400 for an unreadable wish, cuts a longer one."""
    wish = params.get("timeout", "")
    if not wish:
        return LIMIT
    try:
        seconds = duration.seconds(wish)
    except ValueError as error:
        raise bad_request(f"invalid timeout specified in the request URL - {error}") from None
    return min(seconds, LIMIT) if seconds > 0 else LIMIT


class Deadlines:
    """The tasks that must be over by some time; a task can be under one deadline at a time."""

    def __init__(self) -> None:
        self._ends: dict[asyncio.Task[Any], float] = {}
        self._ticking = False

    def begin(self, seconds: float) -> asyncio.Task[Any]:
        """Put the current task under a deadline, which must be ended."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        assert task is not None
        self._ends[task] = loop.time() + seconds
        if not self._ticking:
            self._ticking = True
            loop.call_later(TICK, self._tick, loop)
        return task

    def end(self, task: asyncio.Task[Any]) -> bool:
        """Take the deadline away; whether it had passed, and the task was cancelled for it."""
        if self._ends.pop(task, None) is not None:
            return False
        task.uncancel()
        return True

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for task in [task for task, end in self._ends.items() if end <= now]:
            del self._ends[task]
            task.cancel()
        self._ticking = bool(self._ends)
        if self._ticking:
            loop.call_later(TICK, self._tick, loop)
