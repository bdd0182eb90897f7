"""Concurrent clients of a store in SQLite whose disk fills up, fails, and loses power at any operation.

A store has several lives. Each ends with a crash at a chosen operation on its disk (a write or a sync, before or after
it), with a kill, or in good order; the next one begins with what the disk kept. All of it is decided by the seed, the
order between the event loop and the writing thread included. At the end the whole history is checked: linearizable
reads and writes, nothing acknowledged lost over all lives, watches in order, without gap or repeat, resumable.
"""

import asyncio
import contextlib
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from karmada.apiserver.storage.base import FIRST_REVISION, Storage, StorageFailed
from karmada.apiserver.storage.sqlite import SqliteStorage
from karmada.apiserver.storage.sqlite.sharing import WORTH, Sharing
from karmada.apiserver.storage.sqlite.writer import Queue
from karmada.apiserver.watchcache.cache import WatchCache
from karmada.apiserver.watchcache.history import Bounds
from karmada.apiserver.watchcache.keys import key_of
from karmada.apiserver.watchcache.model import StoreEvent
from karmada.machinery.transport import EventType
from karmada.testing.histories import vfs
from karmada.testing.histories.check import check
from karmada.testing.histories.clients import Client, Observer, Reader, Writer
from karmada.testing.histories.disk import Disk, Trouble, trouble
from karmada.testing.histories.lockstep_queue import LockstepQueue
from karmada.testing.histories.record import KIND, Commit, History, Read, index
from karmada.testing.loop import run_virtual
from karmada.testing.world import SHOWN, Broken

CLIENTS: tuple[type[Client], ...] = (Writer, Writer, Writer, Reader, Observer, Observer, Observer)
LIVES = 4
OPERATIONS = 100
"""On the disk, in a life; some are longer."""
SECONDS = 15.0
DRAIN = 61.0
"""Seconds until every watcher that wants bookmarks has got one."""

EAGER = Sharing(copies=2, size=0, times=0)
"""Whatever can be shared is; every other history has it."""

Make = Callable[[Path, Callable[[], Queue], Sharing], Storage]


def explore(seed: int, make: Make = SqliteStorage, clients: Sequence[int] = range(len(CLIENTS))) -> list[str]:
    """Run one history, with some of the clients; its steps. Raises `Broken` when something is wrong with it."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="karmada-history-", dir=memory if memory.is_dir() else None) as folder:
        history = run_virtual(lambda: _lives(Path(folder), seed, make, clients), seed)
    problems = check(history)
    if problems:
        shown = "\n  ".join(history.steps[-SHOWN:])
        raise Broken(f"seed {seed}: storage: {problems[0]} ({len(problems)} in all)\n  {shown}")
    return history.steps


def shorter(seed: int, make: Make = SqliteStorage) -> str:
    """The story of a seed that breaks, with as few clients as break as well."""
    clients, story = list(range(len(CLIENTS))), ""
    for left_out in (None, *clients):
        fewer = [client for client in clients if client != left_out]
        try:
            explore(seed, make, fewer)
        except Broken as broken:
            clients, story = fewer, str(broken)
    return f"{story}\n  with {', '.join(CLIENTS[client].__name__.lower() for client in clients)}"


async def _lives(folder: Path, seed: int, make: Make, who: Sequence[int]) -> History:
    random = Random(f"history {seed}")
    history = History()
    clients: list[Client] = []
    for number in who:
        sort = CLIENTS[number]
        name = f"{sort.__name__.lower()}-{number}"
        clients.append(sort(name, history, Random(f"{name} {seed}"), asyncio.sleep, False))
    place = folder / "0"
    place.mkdir()
    for number in range(1, LIVES + 1):
        last = number == LIVES
        life = Life(place, history, random, make, EAGER if seed % 2 else WORTH, calm=last)
        place = await life.live(clients, folder / str(number), orderly=last or random.random() < 0.3)
    return history


class Life:
    """A store from its start to its end."""

    def __init__(
        self, folder: Path, history: History, random: Random, make: Make, sharing: Sharing, calm: bool
    ) -> None:
        """A calm one has no faults."""
        self._folder = folder
        self._history = history
        self._random = random
        self._queue = LockstepQueue()
        crash_at = 10**9 if calm or random.random() < 0.2 else random.randrange(OPERATIONS)
        bad = Trouble(0, 0, vfs.OK) if calm else trouble(random, OPERATIONS)
        self._disk = Disk(folder, random, crash_at, bad, self._slow)
        self._storage = make(folder / "store.db", lambda: self._queue, sharing)
        self._store = WatchCache(
            self._storage, index, Bounds(events=random.choice((1, 5, 1000))), buffer=random.choice((3, 1000))
        )
        self._tasks: list[asyncio.Task[None]] = []
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def live(self, clients: list[Client], following: Path, orderly: bool) -> Path:
        """Until the end; where the next life begins."""
        vfs.watch(self._folder, self._disk)
        try:
            if await self._opened():
                self._tasks = [asyncio.create_task(self._work())]
                self._tasks += [asyncio.create_task(client.run(self._store)) for client in clients]
                self._tasks.append(asyncio.create_task(self._upkeep()))
                await self._end(clients, orderly)
                await self._store.stop()
        finally:
            vfs.unwatch(self._folder)
        if not self._disk.crashed:
            self._history.note("closed in good order")
            return self._folder
        self._history.note(f"crashed at {self._disk.crashed}, operation {self._disk.operations}")
        self._disk.survivors(following)
        return following

    async def _opened(self) -> bool:
        history = self._history
        try:
            await self._store.start()
        except StorageFailed as error:
            if not self._disk.failing:
                history.problems.append(f"cannot be opened: {error}")
            self._disk.crash(f"start ({str(error).partition('store.db: ')[2]})", power=False)
            return False
        known = max(history.revision, FIRST_REVISION)
        while changes := await self._storage.history("", known, self._store.revision):
            history.recovered([Commit(change.revision, change.key, change.value) for change in changes])
            known = changes[-1].revision
        page = self._store.list(KIND)
        found = {key_of(KIND, item.namespace, item.name): item.body for item in page.items}
        history.reads.append(Read("/", history.tick(), history.tick(), page.revision, found, fresh=True))
        history.note(f"opened at revision {page.revision}, {known} known")
        self._store.subscribe(self._committed)
        return True

    async def _end(self, clients: list[Client], orderly: bool) -> None:
        async def script() -> None:
            await asyncio.sleep(SECONDS * self._random.random())
            if orderly:
                await self._drain(clients)
            else:
                self._crash_now("a kill", power=self._random.random() < 0.5)

        self._tasks.append(asyncio.create_task(script()))
        self._tasks[-1].add_done_callback(lambda task: self._finish())
        try:
            await self._over
        finally:
            for task in self._tasks:
                task.cancel()
            for task in self._tasks:
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    async def _drain(self, clients: list[Client]) -> None:
        """No more writes: every watcher must get all there is, and a bookmark if it wants one."""
        observers = [client for client in clients if isinstance(client, Observer)]
        for observer in observers:
            observer.draining = True
        for client, task in zip(clients, self._tasks[1:], strict=False):
            if not isinstance(client, Observer):
                task.cancel()
        await asyncio.sleep(DRAIN)
        revision = self._store.revision
        await asyncio.sleep(DRAIN)
        for observer in observers:
            stream = observer.stream
            if stream is None:
                continue
            stream.complete_until = revision
            if observer.bookmarks and not any(
                seen.type is EventType.BOOKMARK and seen.revision == revision for seen in stream.events
            ):
                self._history.problems.append(f"{stream}: no bookmark at {revision}")

    async def _work(self) -> None:
        """Let the writing thread run from time to time."""
        while True:
            await self._queue.wanted()
            await asyncio.sleep(self._random.choice((0, 0.001, 0.1)) * self._random.random())
            self._queue.turn()
            self._look()

    async def _upkeep(self) -> None:
        """Compact, and have the log put into the database, at random moments."""
        while True:
            await asyncio.sleep(10 * self._random.random())
            if self._random.random() < 0.5:
                target = max(FIRST_REVISION, self._store.revision - self._random.choice((0, 1, 3, 10)))
                self._history.compacted = max(self._history.compacted, target)
                self._history.note(f"compact {target}")
                with contextlib.suppress(StorageFailed):
                    await self._storage.compact(target)
            else:
                self._history.note("checkpoint")
                with contextlib.suppress(sqlite3.Error), contextlib.closing(_connected(self._folder)) as db:
                    db.execute("PRAGMA wal_checkpoint")
                self._look()

    def _committed(self, kind: tuple[str, str], event: StoreEvent) -> None:
        item = event.item
        body = None if event.type is EventType.DELETED else item.body
        self._history.commits.append(Commit(item.revision, key_of(KIND, item.namespace, item.name), body))

    def _slow(self) -> None:
        if self._random.random() < 0.5:
            self._queue.pause()

    def _crash_now(self, what: str, power: bool) -> None:
        self._disk.crash(what, power)
        self._look()

    def _look(self) -> None:
        """After a crash nobody is answered any more."""
        if self._disk.crashed:
            for task in self._tasks:
                task.cancel()
            self._finish()

    def _finish(self) -> None:
        if not self._over.done():
            self._over.set_result(None)


def _connected(folder: Path) -> sqlite3.Connection:
    return sqlite3.connect(folder / "store.db", isolation_level=None, timeout=0)
