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
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
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


class _Call(asyncio.TimerHandle):
    """Something that the loop is going to call, unless it is cancelled before.

    A world makes tens of thousands of them. So it has only what is needed to call it: no loop, no record of where it
    was made.
    """

    __slots__ = ()
    _when: float
    """Of calls that have a time."""

    def __init__(self, callback: Callable[..., object], args: tuple[Any, ...], context: Context) -> None:
        self._callback: Callable[..., object] | None = callback
        self._args = args
        self._context = context

    def cancel(self) -> None:
        """Call nothing, and hold on to nothing."""
        self._callback = None
        self._args = ()

    def cancelled(self) -> bool:
        """Whether nothing will be called."""
        return self._callback is None

    def __repr__(self) -> str:
        return f"<call of {self._callback!r}>"


class VirtualLoop(asyncio.BaseEventLoop):
    """Runs tasks in a seeded order on virtual time."""

    # Set by BaseEventLoop; declared because typeshed keeps them private.
    _ready: deque[_Call]
    _stopping: bool

    def __init__(self, seed: int | None = None) -> None:
        super().__init__()
        self._now = 0.0
        self._timers: list[tuple[float, int, _Call]] = []
        """A heap of tuples, which compare without a call; cancelled timers leave it when their time comes."""
        self._timers_set = 0
        self._bits = None if seed is None else Random(seed).getrandbits
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
        timer = _Call(callback, args, copy_context() if context is None else context)
        timer._when = when
        self._timers_set += 1
        heapq.heappush(self._timers, (when, self._timers_set, timer))
        return timer

    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run something after some time."""
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Run something in the next round."""
        call = _Call(callback, args, copy_context() if context is None else context)
        self._ready.append(call)
        return call

    call_soon_threadsafe = call_soon

    def _run_once(self) -> None:
        """One round: run what is ready, or let time pass. Called by `run_forever`."""
        timers, ready = self._timers, self._ready
        while timers and timers[0][2]._callback is None:
            heapq.heappop(timers)
        if not ready and not self._stopping:
            if not timers:
                raise Deadlock(self._describe())
            self._now = max(self._now, timers[0][0])
        while timers and timers[0][0] <= self._now:
            timer = heapq.heappop(timers)[2]
            if timer._callback is not None:
                ready.append(timer)
        for _ in range(len(ready)):
            call = ready.popleft()
            if ready and self._bits is not None and _is_step(call):
                call = self._swapped(call)
            callback = call._callback
            if callback is not None:
                self.steps += 1
                try:
                    call._context.run(callback, *call._args)
                except (SystemExit, KeyboardInterrupt):
                    raise
                except BaseException as error:
                    self.call_exception_handler({"message": f"{call!r} failed", "exception": error, "handle": call})

    def _swapped(self, first: _Call) -> _Call:
        """Swap with a random step of another task; callbacks that are no steps stay where they are."""
        ready, bits = self._ready, self._bits
        assert bits is not None
        size = len(ready) + 1
        width = size.bit_length()
        position = bits(width)
        while position >= size:
            position = bits(width)
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

    def _write_to_self(self) -> None:
        """Nothing waits for input, so nobody has to be woken."""

    def _process_events(self, event_list: object) -> None:
        """There is no input."""


def _is_step(call: _Call) -> bool:
    return isinstance(getattr(call._callback, "__self__", None), asyncio.Task)


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
