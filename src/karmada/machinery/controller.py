"""The reconcile loop: take a key, compare what is with what should be, act, say how it went.

A reconcile function is level-triggered: it gets a key, not an event, and looks at the present state. It says how it
went with one of four results; an exception counts as `Retry`. Failures stay with their key: no exception, hang or
slowness of one key stops the controller. Where lanes are limited, none delays keys of other lanes either: a worker
whose key takes long is relieved by another one, however many there are.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from random import Random
from typing import Any, Generic, TypeVar

from karmada.machinery.backoff import BackoffPolicy
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.errors import ApiError, Conflict
from karmada.machinery.informers.cache import Change, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.overdue import Overdue
from karmada.machinery.sharding.ownership import Ownership
from karmada.machinery.throttle import ThrottledLog
from karmada.machinery.workqueue.queue import RETRIES, Priority, QueueClosed, WorkQueue

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
log = logging.getLogger(__name__)

SLICE = 0.005
"""Seconds of uninterrupted work after which a worker lets others run."""
MANY = 200
"""Keys that are added in one go."""
PATIENCE = 1.0
"""Seconds that a key of a limited lane may take before another worker takes the place of the one that waits for it."""


@dataclass(frozen=True, slots=True)
class Done:
    """What is, is what should be. The key comes again when something changes."""


@dataclass(frozen=True, slots=True)
class RequeueAfter:
    """So far so good; look again after some time."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Retry:
    """It did not work this time: try again after a pause that grows."""

    error: Exception | str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """It cannot work as things are: trying again is pointless until something changes."""

    reason: str


Result = Done | RequeueAfter | Retry | GiveUp
DONE = Done()


class Controller(Generic[K]):
    """Workers that reconcile the keys of one queue."""

    def __init__(
        self,
        name: str,
        reconcile: Callable[[K], Awaitable[Result]],
        *,
        workers: int = 4,
        needs: Sequence[Informer[Any]] = (),
        lane: Callable[[K], Hashable] | None = None,
        lane_limit: int | None = None,
        tenant: Callable[[K], Hashable] | None = None,
        deadline: float = 60.0,
        slow_after: float = 5.0,
        retries: BackoffPolicy = RETRIES,
        clock: Clock = REAL,
        random: Random | None = None,
    ) -> None:
        self.name = name
        self.workers = workers
        self._reconcile = reconcile
        self._needs = needs
        self._deadline = deadline
        self._overdue = Overdue(clock, PATIENCE, deadline)
        self._lane = lane
        self._log = ThrottledLog(log, clock.monotonic)
        self._lanes_are_limited = lane_limit is not None
        self._slow_after = slow_after
        self._clock = clock
        self.queue: WorkQueue[K] = WorkQueue(
            name,
            lane=lane,
            lane_limit=lane_limit,
            tenant=tenant,
            background_limit=max(1, workers // 2),
            retries=retries,
            clock=clock,
            random=random,
        )
        self.results = {"success": 0, "requeue_after": 0, "error": 0, "given_up": 0}
        self.defects: list[Exception] = []
        """The last exceptions that are no answer of an API server: something is wrong with the reconcile function."""
        self._crew: list[asyncio.Task[None]] = []
        """Workers so far: while fewer than `workers` have a place, one of them waits for a key."""
        self._relieved: set[asyncio.Task[None]] = set()
        """Those without a place: they leave once they are done with their key."""
        self._idle = 0
        self._ended: asyncio.Future[None]

    @property
    def errors(self) -> int:
        """How many reconciliations failed."""
        return self.results["error"] + self.results["given_up"]

    def enqueue(self, key: K, priority: int = Priority.NORMAL) -> None:
        """Have a key reconciled soon."""
        self.queue.add(key, priority)

    def enqueue_all(self, keys: Iterable[K], priority: int = Priority.NORMAL) -> None:
        """Have many keys reconciled soon. They are added some at a time: a lane or tenant may take a look at each, and
        others have their turn in between."""
        rest = iter(keys)
        some = list(islice(rest, MANY))
        for key in some:
            self.queue.add(key, priority)
        if len(some) == MANY:
            asyncio.get_running_loop().call_soon(self.enqueue_all, rest, priority)

    def watch(self, informer: Informer[T], keys: Callable[[Change[T]], Sequence[K]]) -> None:
        """Have the keys that a function finds in a change reconciled; the first load comes after fresh changes."""
        add = self.queue.add

        def unreadable(change: Change[T], error: ValueError) -> Sequence[K]:
            # A state that cannot be read must not take the changes beside it along; what it became is looked at.
            self._log.warning((informer, change.key), "%s cannot read %s: %s", self.name, change.key, error)
            try:
                return keys(Change(None, change.new)) if change.old is not None and change.new is not None else ()
            except ValueError:
                return ()

        def handle(changes: list[Change[T]]) -> None:
            for change in changes:
                try:
                    found = keys(change)
                except ValueError as error:
                    found = unreadable(change, error)
                for key in found:
                    add(key, Priority.INITIAL if change.initial else Priority.NORMAL)

        informer.add_handler(handle)

    def divide(self, ownership: Ownership, by: Callable[[K], str], keys: Callable[[], Iterable[K]]) -> None:
        """Reconcile only keys of shards that this process holds: a key belongs to the shard of what `by` makes of it.
        When a shard is acquired, those of `keys`, which lists all there are, are looked at as after a start."""
        reconcile = self._reconcile

        async def owned(key: K) -> Result:
            tenure = ownership.of(by(key))
            if tenure is None:
                return DONE
            with tenure.working():
                return await reconcile(key)

        def acquired(shard: int) -> None:
            for key in keys():
                if ownership.shard(by(key)) == shard:
                    self.enqueue(key, Priority.INITIAL)

        self._reconcile = owned
        self.queue.admits = lambda key: ownership.of(by(key)) is not None
        ownership.on_acquired(acquired)

    async def synced(self) -> None:
        """Wait for the informers the function reads."""
        for informer in self._needs:
            await informer.synced()

    async def run(self) -> None:
        """Wait for the informers the function reads, then work until cancelled."""
        await self.synced()
        self._crew, self._relieved, self._idle = [], set(), 0
        self._ended = asyncio.get_running_loop().create_future()
        self._hire()
        try:
            await self._ended
        finally:
            # Not a TaskGroup: it cancels in the order of a set, which no seed decides.
            for worker in self._crew:
                worker.cancel()
            await asyncio.gather(*self._crew, return_exceptions=True)

    def _hire(self) -> None:
        """Another worker if none waits and there is a place; most controllers never need all they may have, and there
        are hundreds."""
        if self._idle or len(self._crew) - len(self._relieved) >= self.workers:
            return
        name = f"{self.name} worker {len(self._crew)}"
        worker = asyncio.get_running_loop().create_task(self._work(), name=name)
        self._crew.append(worker)
        self._idle += 1
        worker.add_done_callback(self._left)

    def extend(self, worker: asyncio.Task[None]) -> None:
        """Begin the deadline of the key that a worker has anew: it has come further, or others before it have."""
        self._overdue.extend(worker, self._clock.monotonic())

    def _relieve(self, worker: asyncio.Task[None], key: K) -> None:
        """A key takes long: from now on it occupies its own lane alone."""
        self._relieved.add(worker)
        self.queue.overtime(key)
        self._hire()

    def _left(self, worker: asyncio.Task[None]) -> None:
        """It was relieved, the queue was closed, `run` was cancelled, or it failed, which must not happen."""
        if self._ended.done():
            return
        if worker in self._relieved:
            self._relieved.remove(worker)
            self._crew.remove(worker)
        if not worker.cancelled() and (error := worker.exception()) is not None:
            self._ended.set_exception(error)
        elif all(each.done() for each in self._crew):
            self._ended.set_result(None)

    async def _work(self) -> None:
        queue = self.queue
        yielded = self._clock.monotonic()
        worker = asyncio.current_task()
        assert worker is not None
        try:
            while True:
                key = await queue.get()
                self._idle -= 1
                self._hire()
                started = self._clock.monotonic()
                try:
                    self._settle(key, await self._attempt(key, worker, started))
                finally:
                    queue.done(key)
                now = self._clock.monotonic()
                if now - started > self._slow_after:
                    log.warning("%s took %.1f s for %s", self.name, now - started, key)
                if worker in self._relieved:
                    return
                self._idle += 1
                if now - yielded > SLICE:
                    await asyncio.sleep(0)
                    yielded = self._clock.monotonic()
        except QueueClosed:
            return

    async def _attempt(self, key: K, worker: asyncio.Task[None], started: float) -> Result:
        self._overdue.begin(worker, started, partial(self._relieve, worker, key) if self._lanes_are_limited else None)
        try:
            return await self._reconcile(key)
        except Exception as error:
            return Retry(error)
        except asyncio.CancelledError:
            if not self._overdue.end(worker):
                raise
            return Retry(TimeoutError())
        finally:
            self._overdue.end(worker)

    def _settle(self, key: K, result: Result) -> None:
        match result:
            case Done():
                self.results["success"] += 1
                self.queue.forget(key)
            case RequeueAfter(seconds):
                self.results["requeue_after"] += 1
                self.queue.forget(key)
                self.queue.add_after(key, seconds)
            case Retry(error):
                self.results["error"] += 1
                pause = self.queue.retry(key)
                self._log_retry(key, error, pause)
            case GiveUp(reason):
                self.results["given_up"] += 1
                self.queue.forget(key)
                log.error("%s gives up on %s until it changes: %s", self.name, key, reason)

    def _log_retry(self, key: K, error: Exception | str, pause: float) -> None:
        """One line per cause and minute: keys of a limited lane fail together when their member does."""
        whose = self._lane(key) if self._lane is not None and self._lanes_are_limited else key
        cause = (whose, type(error))
        if isinstance(error, Conflict):
            log.debug("%s retries %s in %.3f s: %s", self.name, key, pause, error)
        elif isinstance(error, TimeoutError):
            text = "%s had no result for %s after %g s; retry in %.3f s"
            self._log.warning(cause, text, self.name, key, self._deadline, pause)
        elif isinstance(error, ApiError | str):
            self._log.warning(cause, "%s retries %s in %.3f s: %s", self.name, key, pause, error)
        else:
            self.defects = [*self.defects[-9:], error]
            self._log.warning(cause, "%s failed on %s; retry in %.3f s", self.name, key, pause, trace=error)


def own_key(change: Change[Any]) -> Sequence[Key]:
    """The key of the changed object itself, for `Controller.watch`."""
    return (change.key,)
