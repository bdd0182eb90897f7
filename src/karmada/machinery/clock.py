"""Time and chance as dependencies: what is the time, wait, call me later, draw lots.

Everything that waits does so on the running event loop, so a virtual loop (`karmada.testing.loop`) makes hours pass
in no time without any component knowing. Only the wall clock needs a second implementation there.
"""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from random import Random
from typing import Protocol


class Clock(Protocol):
    """What time it is and how to wait."""

    def now(self) -> float:
        """Seconds since the epoch, as objects record it."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps; for durations and deadlines."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

    def call_later(self, seconds: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        """Call a function once after some time, unless the handle is cancelled."""
        ...

    def random(self) -> Random:
        """A new source of randomness, for jitter and the like."""
        ...


class LoopClock:
    """The clock of the running event loop; wall time is the machine's."""

    now = staticmethod(time.time)
    """Seconds since the epoch."""

    def monotonic(self) -> float:
        """The loop's own time."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """Wait on the loop."""
        await asyncio.sleep(seconds)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        """Schedule on the loop."""
        return asyncio.get_running_loop().call_later(seconds, callback)

    def random(self) -> Random:
        """Seeded by the system."""
        return Random()


REAL = LoopClock()
"""The clock of production code."""


def rfc3339(seconds: float) -> str:
    """A moment as objects record it: UTC, whole seconds."""
    return _second(int(seconds))


@lru_cache(maxsize=64)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def rfc3339_micro(seconds: float) -> str:
    """A moment with microseconds, as leases and new-style events record it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_rfc3339(text: str) -> float:
    """Seconds since the epoch of a recorded moment."""
    return datetime.fromisoformat(text).timestamp()
