"""The scheduling queue: bindings to decide about, most urgent first.

A key is in exactly one of four places: active (ready, by priority, then what happened before what is only looked at,
then in turn between lanes, then by arrival), taken (being decided), backing off (an attempt failed; it returns after a
pause that grows), or parked (it cannot be placed as things are; it returns when something that matters changes, or
after `PARKED` at the latest). Whatever is added anew becomes active at once. A key added while it is taken is active
again when the attempt ends, however it ended. All places return keys to the active ones, so priority holds across them.
"""

import asyncio
import heapq
from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

from karmada.machinery.backoff import BackoffPolicy
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.workqueue.waiters import Waiters

K = TypeVar("K", bound=Hashable)

PAUSES = BackoffPolicy(initial=1.0, maximum=10.0)
PARKED = 300.0
"""Seconds after which a parked key is tried again for no particular reason."""
FLUSH = 30.0
"""How often parked keys are looked at."""
BACKGROUND_SHARE = 16
"""Every so many keys one of the background goes first, so that a stream of others cannot starve it."""


class Rank(NamedTuple):
    """How urgent a key is; the greater goes first."""

    priority: int
    foreground: bool = True
    """Whether something happened to the binding itself, or to a cluster it goes to."""


_Entry = tuple[int, int, int, K]


class SchedulingQueue(Generic[K]):
    """The scheduling queue: bindings by priority, with backoff and unschedulable parts, on one event loop."""

    def __init__(self, clock: Clock = REAL, lane: Callable[[K], Hashable] | None = None) -> None:
        """`lane`: keys of one lane wait for each other, not for the many of another."""
        self._clock = clock
        self._lane = lane
        self._taken_turns: dict[Rank, int] = {}
        """The last turn of each rank that was taken."""
        self._given_turns: dict[tuple[Rank, Hashable], int] = {}
        """The last turn that each lane has in a rank."""
        self._heaps: dict[bool, list[_Entry[K]]] = {True: [], False: []}
        """Of the foreground and of the background. May hold left-overs of keys whose rank was raised; `_active` has the
        truth."""
        self._active: dict[K, tuple[Rank, int]] = {}
        self._taken: dict[K, Rank] = {}
        self._again: dict[K, Rank] = {}
        self._backing_off: dict[K, tuple[Rank, asyncio.TimerHandle]] = {}
        self._parked: dict[K, tuple[Rank, float]] = {}
        self._attempts: dict[K, int] = {}
        self._arrivals = 0
        self._takes = 0
        self._waiters = Waiters()
        self._flush: asyncio.TimerHandle | None = None

    def add(self, key: K, priority: int = 0, *, background: bool = False) -> None:
        """Have a binding decided soon; something about it or its clusters changed. In the background it comes after all
        others of its priority."""
        rank = Rank(priority, not background)
        if key in self._taken:
            self._again[key] = max(rank, self._again.get(key, rank))
            return
        if (pending := self._backing_off.pop(key, None)) is not None:
            pending[1].cancel()
        self._parked.pop(key, None)
        self._activate(key, rank)

    async def take(self) -> K:
        """Wait for the most urgent binding; nobody else gets it until it is put back with one of the other methods."""
        while True:
            while self._active:
                foreground = self._next_heap()
                negative, turn, arrival, key = heapq.heappop(self._heaps[foreground])
                rank = Rank(-negative, foreground)
                if self._active.get(key) == (rank, arrival):
                    del self._active[key]
                    self._taken_turns[rank] = turn
                    if not self._active:
                        self._forget_turns()
                    self._taken[key] = rank
                    self._takes += 1
                    return key
            await self._waiters.wait()

    def succeeded(self, key: K) -> None:
        """The binding is decided."""
        self._attempts.pop(key, None)
        self._end(key)

    def failed(self, key: K) -> float:
        """The attempt failed: try again after a pause; the pause."""
        attempts = self._attempts[key] = self._attempts.get(key, 0) + 1
        pause = PAUSES.pause(attempts - 1)
        rank = self._taken[key]
        if not self._end(key):
            timer = self._clock.call_later(pause, lambda: self._return(key))
            self._backing_off[key] = (rank, timer)
        return pause

    def park(self, key: K) -> None:
        """The binding cannot be placed as things are."""
        self._attempts.pop(key, None)
        rank = self._taken[key]
        if not self._end(key):
            self._parked[key] = (rank, self._clock.monotonic())
            if self._flush is None:
                self._flush = self._clock.call_later(FLUSH, self._flush_parked)

    def release(self) -> None:
        """Something changed that may help any parked binding."""
        parked, self._parked = self._parked, {}
        for key, (rank, _) in parked.items():
            self._activate(key, rank)

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
        for key, (rank, timer) in list(self._backing_off.items()):
            timer.cancel()
            del self._backing_off[key]
            self._activate(key, rank)
        for key, rank in list(self._taken.items()):
            del self._taken[key]
            self._activate(key, max(rank, self._again.pop(key, rank)))
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

    def _activate(self, key: K, rank: Rank) -> None:
        known = self._active.get(key)
        if known is not None and known[0] >= rank:
            return
        self._arrivals += 1
        self._active[key] = (rank, self._arrivals)
        entry = (-rank.priority, self._next_turn(key, rank), self._arrivals, key)
        heapq.heappush(self._heaps[rank.foreground], entry)
        self._waiters.wake()

    def _next_heap(self) -> bool:
        """Whether the foreground is next; of two priorities the higher is, in either."""
        front, back = self._heaps[True], self._heaps[False]
        if not front or not back:
            return bool(front)
        if front[0][0] != back[0][0]:
            return front[0][0] < back[0][0]
        return (self._takes + 1) % BACKGROUND_SHARE != 0

    def _next_turn(self, key: K, rank: Rank) -> int:
        """One key of each lane is due in a turn: who comes with one is not behind those who came with thousands."""
        if self._lane is None:
            return 0
        lane = (rank, self._lane(key))
        turn = max(self._taken_turns.get(rank, 0), self._given_turns.get(lane, 0)) + 1
        self._given_turns[lane] = turn
        return turn

    def _forget_turns(self) -> None:
        self._taken_turns.clear()
        self._given_turns.clear()
        for heap in self._heaps.values():
            heap.clear()

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
        for key, (rank, since) in list(self._parked.items()):
            if since <= limit:
                del self._parked[key]
                self._activate(key, rank)
        if self._parked:
            self._flush = self._clock.call_later(FLUSH, self._flush_parked)
