"""The scheduling queue: bindings to decide about, most urgent first.

A key is in exactly one of four places: active (ready, by priority, then in turn between lanes, then by arrival), taken
(being decided), backing off (an attempt failed; it returns after a pause that grows), or parked (it cannot be placed as
things are; it returns when something that matters changes, or after `PARKED` at the latest). Whatever is added anew
becomes active at once. A key added while it is taken is active again when the attempt ends, however it ended. All
places return keys to the one active heap, so priority holds across them.
"""

import asyncio
import heapq
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from karmada.machinery.backoff import BackoffPolicy
from karmada.machinery.clock import REAL, Clock

K = TypeVar("K", bound=Hashable)

PAUSES = BackoffPolicy(initial=1.0, maximum=10.0)
PARKED = 300.0
"""Seconds after which a parked key is tried again for no particular reason."""
FLUSH = 30.0
"""How often parked keys are looked at."""


class SchedulingQueue(Generic[K]):
    """The scheduling queue: bindings by priority, with backoff and unschedulable parts, on one event loop."""

    def __init__(self, clock: Clock = REAL, lane: Callable[[K], Hashable] | None = None) -> None:
        """`lane`: keys of one lane wait for each other, not for the many of another."""
        self._clock = clock
        self._lane = lane
        self._taken_turns: dict[int, int] = {}
        """The last turn of each priority that was taken."""
        self._given_turns: dict[tuple[int, Hashable], int] = {}
        """The last turn that each lane has in a priority."""
        self._heap: list[tuple[int, int, int, K]] = []
        """May hold left-overs of keys whose priority was raised; `_active` has the truth."""
        self._active: dict[K, tuple[int, int]] = {}
        self._taken: dict[K, int] = {}
        self._again: dict[K, int] = {}
        self._backing_off: dict[K, tuple[int, asyncio.TimerHandle]] = {}
        self._parked: dict[K, tuple[int, float]] = {}
        self._attempts: dict[K, int] = {}
        self._arrivals = 0
        self._waiting: list[asyncio.Future[None]] = []
        self._flush: asyncio.TimerHandle | None = None

    def add(self, key: K, priority: int = 0) -> None:
        """Have a binding decided soon; something about it or its clusters changed."""
        if key in self._taken:
            self._again[key] = priority
            return
        if (pending := self._backing_off.pop(key, None)) is not None:
            pending[1].cancel()
        self._parked.pop(key, None)
        self._activate(key, priority)

    async def take(self) -> K:
        """Wait for the most urgent binding; nobody else gets it until it is put back with one of the other methods."""
        while True:
            while self._heap:
                negative, turn, arrival, key = heapq.heappop(self._heap)
                if self._active.get(key) == (-negative, arrival):
                    del self._active[key]
                    self._taken_turns[-negative] = turn
                    if not self._active:
                        self._taken_turns.clear()
                        self._given_turns.clear()
                    self._taken[key] = -negative
                    return key
            waiting = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            try:
                await waiting
            except asyncio.CancelledError:
                if waiting.done() and not waiting.cancelled():
                    self._wake()
                raise

    def succeeded(self, key: K) -> None:
        """The binding is decided."""
        self._attempts.pop(key, None)
        self._end(key)

    def failed(self, key: K) -> float:
        """The attempt failed: try again after a pause; the pause."""
        attempts = self._attempts[key] = self._attempts.get(key, 0) + 1
        pause = PAUSES.pause(attempts - 1)
        priority = self._taken[key]
        if not self._end(key):
            timer = self._clock.call_later(pause, lambda: self._return(key))
            self._backing_off[key] = (priority, timer)
        return pause

    def park(self, key: K) -> None:
        """The binding cannot be placed as things are."""
        self._attempts.pop(key, None)
        priority = self._taken[key]
        if not self._end(key):
            self._parked[key] = (priority, self._clock.monotonic())
            if self._flush is None:
                self._flush = self._clock.call_later(FLUSH, self._flush_parked)

    def release(self) -> None:
        """Something changed that may help any parked binding."""
        parked, self._parked = self._parked, {}
        for key, (priority, _) in parked.items():
            self._activate(key, priority)

    def forget(self, key: K) -> None:
        """The binding is gone."""
        self._active.pop(key, None)
        self._parked.pop(key, None)
        self._attempts.pop(key, None)
        self._again.pop(key, None)
        if (pending := self._backing_off.pop(key, None)) is not None:
            pending[1].cancel()

    def close(self) -> None:
        """Cancel all timers; whoever takes over finds everything that was waiting for one ready."""
        if self._flush is not None:
            self._flush.cancel()
            self._flush = None
        for key, (priority, timer) in list(self._backing_off.items()):
            timer.cancel()
            del self._backing_off[key]
            self._activate(key, priority)
        for key, priority in list(self._taken.items()):
            del self._taken[key]
            self._activate(key, max(priority, self._again.pop(key, priority)))
        self.release()

    def __len__(self) -> int:
        return len(self._active)

    @property
    def parked(self) -> int:
        """How many bindings cannot be placed."""
        return len(self._parked)

    @property
    def idle(self) -> bool:
        """Whether nothing is ready or being decided."""
        return not self._active and not self._taken

    def _activate(self, key: K, priority: int) -> None:
        known = self._active.get(key)
        if known is not None and known[0] >= priority:
            return
        self._arrivals += 1
        self._active[key] = (priority, self._arrivals)
        heapq.heappush(self._heap, (-priority, self._next_turn(key, priority), self._arrivals, key))
        self._wake()

    def _next_turn(self, key: K, priority: int) -> int:
        """One key of each lane is due in a turn: who comes with one is not behind those who came with thousands."""
        if self._lane is None:
            return 0
        lane = (priority, self._lane(key))
        turn = max(self._taken_turns.get(priority, 0), self._given_turns.get(lane, 0)) + 1
        self._given_turns[lane] = turn
        return turn

    def _end(self, key: K) -> bool:
        """End an attempt; whether the key is active again because it was added meanwhile."""
        del self._taken[key]
        again = self._again.pop(key, None)
        if again is None:
            return False
        self._activate(key, again)
        return True

    def _return(self, key: K) -> None:
        pending = self._backing_off.pop(key, None)
        if pending is not None:
            self._activate(key, pending[0])

    def _flush_parked(self) -> None:
        self._flush = None
        limit = self._clock.monotonic() - PARKED
        for key, (priority, since) in list(self._parked.items()):
            if since <= limit:
                del self._parked[key]
                self._activate(key, priority)
        if self._parked:
            self._flush = self._clock.call_later(FLUSH, self._flush_parked)

    def _wake(self) -> None:
        while self._waiting:
            waiting = self._waiting.pop()
            if not waiting.done():
                waiting.set_result(None)
                return
