"""The work queue: producers add keys from anywhere on the event loop, workers await `get` and end with `done`.

Invariants:
- A key is in at most one of: ready (in `_lanes`), in process (in `_processing`). Independently it may be due later.
- A key added while in process is noted in `_again` and becomes ready at `done`.
- `get` hands out a key only to one worker until `done`.
"""

from collections.abc import Callable, Hashable
from enum import IntEnum
from random import Random
from typing import Generic, NamedTuple, TypeVar

from karmada.machinery.backoff import BackoffPolicy
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.metrics import Histogram
from karmada.machinery.workqueue.delays import Delays
from karmada.machinery.workqueue.initial_load import turns
from karmada.machinery.workqueue.lanes import Lanes
from karmada.machinery.workqueue.waiters import Waiters

K = TypeVar("K", bound=Hashable)

RETRIES = BackoffPolicy(initial=0.005, maximum=300.0, jitter=0.1)


class Priority(IntEnum):
    """How urgent a key is; any integer will do, these are the usual ones."""

    HIGH = 100
    NORMAL = 0
    INITIAL = -100
    """Found by the first load: nothing happened, so whatever does happen goes first."""


class QueueClosed(Exception):
    """The queue is shut down; there will be no more keys."""


class _Work(NamedTuple):
    lane: Hashable
    priority: int
    since: float
    in_background: bool
    """Whether it counts towards the limit of work in the background."""


class WorkQueue(Generic[K]):
    """Keys to work on. Not thread-safe: everything happens on one event loop."""

    def __init__(
        self,
        name: str,
        *,
        lane: Callable[[K], Hashable] | None = None,
        lane_limit: int | None = None,
        tenant: Callable[[K], Hashable] | None = None,
        background_limit: int | None = None,
        retries: BackoffPolicy = RETRIES,
        clock: Clock = REAL,
        random: Random | None = None,
    ) -> None:
        """`tenant`: keys of one tenant wait for each other, not for the many of another in the same lane.
        `background_limit`: how many keys of the first load may be in process, so that others find a worker."""
        self.name = name
        self._background_limit = background_limit
        self._background = 0
        self._held = False
        """Whether keys of the first load have to wait, whoever is free."""
        self._lane = lane
        self._tenant = tenant
        self._retries = retries
        self._clock = clock
        self._random = random or clock.random()
        self._lanes: Lanes[K] = Lanes(lane_limit)
        self._added_at: dict[K, float] = {}
        self._processing: dict[K, _Work] = {}
        self._again: dict[K, int] = {}
        self._failures: dict[K, int] = {}
        self._waiters = Waiters()
        self._in_turn = False
        """Whether a worker waits for its turn with the first load's keys."""
        self._delays: Delays[K] = Delays(clock, self.add)
        self._closed = False
        self.admits: Callable[[K], bool] | None = None
        """Which keys are worked on here; None for all."""
        self.adds = 0
        self.retried = 0
        self.queue_seconds = Histogram()
        self.work_seconds = Histogram()

    def add(self, key: K, priority: int = Priority.NORMAL) -> None:
        """Have a key worked on soon."""
        if self._closed or (self.admits is not None and not self.admits(key)):
            return
        if key in self._processing:
            if key not in self._again:
                self.adds += 1
            self._again[key] = max(priority, self._again.get(key, priority))
            return
        if key not in self._lanes:
            self.adds += 1
            self._added_at[key] = self._clock.monotonic()
        lane, tenant = self._lane, self._tenant
        self._lanes.push(key, lane(key) if lane else None, priority, tenant(key) if tenant else None)
        self._waiters.wake()

    def add_after(self, key: K, seconds: float, priority: int = Priority.NORMAL) -> None:
        """Have a key worked on after some time, unless it is added before."""
        if seconds <= 0:
            self.add(key, priority)
        elif not self._closed:
            self._delays.add(key, seconds, priority)

    def retry(self, key: K) -> float:
        """Have a key worked on again after a pause that grows with every retry since `forget`; the pause."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.retried += 1
        pause = self._retries.pause(failures, self._random)
        work = self._processing.get(key)
        self.add_after(key, pause, work.priority if work else Priority.NORMAL)
        return pause

    def forget(self, key: K) -> None:
        """The key is fine: its next retry pauses short again."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """How often a key was retried since `forget`."""
        return self._failures.get(key, 0)

    async def get(self) -> K:
        """Wait for a key. The caller works on it alone until it calls `done`."""
        while True:
            full = self._held or (self._background_limit is not None and self._background >= self._background_limit)
            if self._only_background():
                if self._in_turn or full:
                    await self._waiters.wait()
                    continue
                await self._turn()
            taken = self._lanes.pop(fair=not full)
            if taken is not None:
                key, lane, priority = taken
                in_background = priority <= Priority.INITIAL
                self._background += in_background
                now = self._clock.monotonic()
                self.queue_seconds.observe(now - self._added_at.pop(key))
                self._processing[key] = _Work(lane, priority, now, in_background)
                return key
            if self._closed:
                raise QueueClosed(self.name)
            await self._waiters.wait()

    def done(self, key: K) -> None:
        """The work on a key has ended, however it went."""
        work = self._processing.pop(key)
        self.work_seconds.observe(self._clock.monotonic() - work.since)
        self._background -= work.in_background
        if self._lanes.free(work.lane) or work.in_background:
            self._waiters.wake()
        again = self._again.pop(key, None)
        if again is not None:
            self.adds -= 1
            self.add(key, again)

    def overtime(self, key: K) -> None:
        """The work on a key takes long: it goes on, occupies its lane, and no longer keeps other background work."""
        work = self._processing[key]
        if work.in_background:
            self._processing[key] = work._replace(in_background=False)
            self._background -= 1
            self._waiters.wake()

    def is_background(self, key: K) -> bool:
        """Whether a key in process was only found by the first load."""
        work = self._processing.get(key)
        return work is not None and work.priority <= Priority.INITIAL

    def hold(self) -> None:
        """Hand out no keys of the first load until `release`; whatever happens is worked on meanwhile."""
        self._held = True

    def release(self) -> None:
        """Hand out keys of the first load again."""
        self._held = False
        self._waiters.wake()

    def withdraw(self, key: K) -> bool:
        """Do not work on a key after all if only the first load found it; whether it waited for nothing else."""
        if not self._lanes.remove(key, Priority.INITIAL):
            return False
        del self._added_at[key]
        return True

    def is_pending(self, key: K) -> bool:
        """Whether a key is ready, in process or due later."""
        return key in self._lanes or key in self._processing or key in self._delays

    def close(self) -> None:
        """No more adds; `get` hands out what is ready and then raises `QueueClosed`."""
        self._closed = True
        self._delays.close()
        self._waiters.wake_all()

    def __len__(self) -> int:
        return len(self._lanes)

    @property
    def idle(self) -> bool:
        """Whether nothing is ready, in process or due later."""
        return not (len(self._lanes) or self._processing or len(self._delays))

    def unfinished(self) -> list[float]:
        """For how long each key in process has been worked on."""
        now = self._clock.monotonic()
        return [now - work.since for work in self._processing.values()]

    def _only_background(self) -> bool:
        highest = self._lanes.highest()
        return highest is not None and highest <= Priority.INITIAL

    async def _turn(self) -> None:
        """Wait until work that nobody waits for may go on; one worker does, the others are free for what happens."""
        self._in_turn = True
        try:
            await turns().next()
        finally:
            self._in_turn = False
            self._waiters.wake()
