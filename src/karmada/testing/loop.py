"""An event loop with virtual time and a seeded order of tasks: asynchronous code becomes a reproducible program.

- Time stands still while anything can run and jumps to the next timer when nothing can.
- Of the tasks that could run next, a seeded choice runs; plain callbacks keep their order, as asyncio promises it.
  Without a seed, tasks run in asyncio's own order.
- When nothing can run and no timer is left, the program hangs for ever: `Deadlock` says which tasks wait where.
- There are no sockets, files, signals or threads; what would run in a thread runs at once.
"""

import asyncio
import contextlib
import heapq
import operator
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from random import Random
from typing import Any, TypeVar, TypeVarTuple

from karmada.machinery.clock import LoopClock

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

EPOCH = 1_700_000_000.0
"""Wall time at which every simulation starts."""


class Deadlock(RuntimeError):
    """Every task waits for another and no timer is left."""


class VirtualClock(LoopClock):
    """The clock of a virtual loop: wall time starts at `EPOCH` and follows the loop."""

    def now(self) -> float:
        """Virtual seconds since the epoch."""
        return EPOCH + self.monotonic()

    def random(self) -> Random:
        """Seeded by the loop, so that a run is repeatable."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        return Random(loop.draw())


class VirtualLoop(asyncio.BaseEventLoop):
    """Runs tasks in a seeded order on virtual time."""

    # Set by BaseEventLoop; declared because typeshed keeps them private.
    _ready: deque[asyncio.Handle]
    _stopping: bool

    def __init__(self, seed: int | None = None) -> None:
        super().__init__()
        self._now = 0.0
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        """A heap of tuples, which compare without a call; cancelled timers leave it when their time comes."""
        self._timers_set = 0
        self._order = None if seed is None else Random(seed)
        self._lots = Random(f"lots {seed}")
        self.steps = 0
        """How many callbacks have run."""

    def draw(self) -> int:
        """A seed for a new source of randomness."""
        return self._lots.getrandbits(64)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._now

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run something at a time; of several at the same time, the first that was asked for."""
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        self._timers_set += 1
        heapq.heappush(self._timers, (when, self._timers_set, timer))
        return timer

    def _run_once(self) -> None:
        """One round: run what is ready, or let time pass. Called by `run_forever`."""
        timers, ready = self._timers, self._ready
        while timers and timers[0][2].cancelled():
            heapq.heappop(timers)
        if not ready and not self._stopping:
            if not timers:
                raise Deadlock(self._describe())
            self._now = max(self._now, timers[0][0])
        while timers and timers[0][0] <= self._now:
            timer = heapq.heappop(timers)[2]
            if not timer.cancelled():
                ready.append(timer)
        for _ in range(len(ready)):
            handle = self._choose()
            if not handle.cancelled():
                self.steps += 1
                handle._run()

    def _choose(self) -> asyncio.Handle:
        ready = self._ready
        first = ready.popleft()
        if self._order is None or not ready or not _is_step(first):
            return first
        # Swap with a random step of another task; callbacks that are no steps stay where they are.
        position = self._order.randrange(len(ready) + 1)
        if position and _is_step(ready[position - 1]):
            first, ready[position - 1] = ready[position - 1], first
        return first

    def _describe(self) -> str:
        waiting = []
        for task in asyncio.all_tasks(self):
            frames = task.get_stack(limit=1)
            where = f"{frames[0].f_code.co_qualname}:{frames[0].f_lineno}" if frames else "?"
            waiting.append(f"{task.get_name()} at {where}")
        return "nothing can run: " + "; ".join(sorted(waiting))

    def run_in_executor(self, executor: object, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        """Done when it returns."""
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Nothing is counted."""

    def _write_to_self(self) -> None:
        """Nothing waits for input, so nobody has to be woken."""

    def _process_events(self, event_list: object) -> None:
        """There is no input."""


_callback = operator.attrgetter("_callback")


def _is_step(handle: asyncio.Handle) -> bool:
    return isinstance(getattr(_callback(handle), "__self__", None), asyncio.Task)


def run_virtual(main: Callable[[], Coroutine[Any, Any, T]], seed: int | None = None) -> T:
    """Run a program on a virtual loop from start to end, and end what it left running."""
    loop = VirtualLoop(seed)
    try:
        return loop.run_until_complete(main())
    finally:
        with contextlib.suppress(Deadlock):
            _cancel_everything(loop)
        loop.close()


def _cancel_everything(loop: VirtualLoop) -> None:
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
