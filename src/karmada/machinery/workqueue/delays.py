"""Keys that become ready later. One timer waits for the earliest; nothing is polled.

A key waits once: asked for again, the earlier moment counts.
"""

import asyncio
import heapq
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from karmada.machinery.clock import Clock

K = TypeVar("K", bound=Hashable)


class Delays(Generic[K]):
    """Calls `ready` with every key and its priority when its time comes."""

    def __init__(self, clock: Clock, ready: Callable[[K, int], None]) -> None:
        self._clock = clock
        self._ready = ready
        self._heap: list[tuple[float, int, K]] = []
        """May hold left-overs of keys that were moved to an earlier time; `_due` has the truth."""
        self._due: dict[K, tuple[float, int]] = {}
        self._count = 0
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._due)

    def __contains__(self, key: K) -> bool:
        return key in self._due

    def add(self, key: K, seconds: float, priority: int) -> None:
        """Make a key ready after some time."""
        when = self._clock.monotonic() + seconds
        known = self._due.get(key)
        if known is not None:
            priority = max(priority, known[1])
            if known[0] <= when:
                self._due[key] = (known[0], priority)
                return
        self._due[key] = (when, priority)
        self._count += 1
        heapq.heappush(self._heap, (when, self._count, key))
        if self._heap[0][1] == self._count:
            self._arm()

    def close(self) -> None:
        """Forget everything."""
        self._heap.clear()
        self._due.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if self._heap:
            self._timer = self._clock.call_later(max(0.0, self._heap[0][0] - self._clock.monotonic()), self._fire)

    def _fire(self) -> None:
        now = self._clock.monotonic()
        while self._heap and self._heap[0][0] <= now:
            when, _, key = heapq.heappop(self._heap)
            due = self._due.get(key)
            if due is not None and due[0] == when:
                del self._due[key]
                self._ready(key, due[1])
        self._arm()
