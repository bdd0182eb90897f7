"""Concurrent clients of two API servers on a real etcd of three members that are killed and suspended.

Not a simulation: processes, sockets, signals. The seed decides what clients ask and which member fails how; what the
machine does meanwhile it does not. A third connection witnesses every commit; histories are checked as those of SQLite.
"""

import asyncio
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from karmada.apiserver.storage.base import Change, Record, Snapshot, Storage, StorageFailed
from karmada.apiserver.storage.delta import whole
from karmada.apiserver.storage.etcd import EtcdStorage
from karmada.apiserver.watchcache.cache import WatchCache
from karmada.apiserver.watchcache.history import Bounds
from karmada.testing.histories.check import check
from karmada.testing.histories.clients import Client, Observer, Reader, Writer
from karmada.testing.histories.record import Commit, History, Read, index
from karmada.testing.stage.etcd_cluster import MEMBERS, EtcdCluster
from karmada.testing.world import SHOWN, Broken

CLIENTS: tuple[type[Client], ...] = (Writer, Writer, Reader, Observer, Observer)
"""Of each server."""
FAULTS = 3
PATIENCE = 60.0
HASTE = 0.1
"""Clients need not pause for as long as in virtual time."""

Make = Callable[[tuple[str, ...], str], Storage]


def explore(seed: int, make: Make = EtcdStorage) -> list[str]:
    """Run one history; its steps. Raises `Broken` when something is wrong with it."""
    with tempfile.TemporaryDirectory(prefix="karmada-etcd-history-") as folder:
        history = asyncio.run(_live(Path(folder), seed, make))
    problems = check(history)
    if problems:
        shown = "\n  ".join(history.steps[-SHOWN:])
        raise Broken(f"seed {seed}: storage in etcd: {problems[0]} ({len(problems)} in all)\n  {shown}")
    return history.steps


class _Witness:
    """Hears of every commit."""

    def __init__(self, history: History) -> None:
        self._history = history
        self.revision = 0

    def committed(self, changes: list[Change], revision: int) -> None:
        self._history.commits += [Commit(change.revision, change.key, change.value) for change in changes]
        self.revision = revision

    def shrunk(self, records: Sequence[Record]) -> None:
        self._history.problems.append(f"the witness received {len(records)} objects in another form")

    def replaced(self, snapshot: Snapshot) -> None:
        self._history.problems.append(f"the witness was asked to relist at {snapshot.revision}")


async def _live(folder: Path, seed: int, make: Make) -> History:
    random = Random(f"etcd history {seed}")
    history = History()
    witness = _Witness(history)
    async with EtcdCluster(folder) as cluster:
        one, two, three = cluster.endpoints
        seeing = EtcdStorage((three, one, two))
        witness.revision = (await seeing.open(witness)).revision
        stores = [
            WatchCache(make(endpoints, "/karmada"), index, Bounds(events=random.choice((5, 1000))))
            for endpoints in ((one, two, three), (two, three, one))
        ]
        for store in stores:
            await store.start()
        clients = _clients(history, seed)
        tasks = [asyncio.create_task(client.run(stores[number % 2])) for number, client in enumerate(clients)]
        tasks.append(asyncio.create_task(_compact(seeing, history, witness, random)))
        for _ in range(FAULTS):
            await asyncio.sleep(random.choice((0.5, 3)) * random.random())
            await _fault(cluster, history, random)
        await cluster.healthy()
        await _drain(history, witness, stores, clients, tasks)
        await _ended(tasks)
        await _whole(history, cluster)
        for store in stores:
            await store.stop()
        await seeing.close()
    return history


def _clients(history: History, seed: int) -> list[Client]:
    clients: list[Client] = []
    for number, sort in enumerate(sort for sort in CLIENTS for _ in range(2)):
        name = f"{sort.__name__.lower()}-{number}"
        clients.append(sort(name, history, Random(f"{name} {seed}"), _hurried, True))
    return clients


async def _hurried(seconds: float) -> None:
    await asyncio.sleep(0.001 + seconds * HASTE)


async def _fault(cluster: EtcdCluster, history: History, random: Random) -> None:
    victims = random.sample(MEMBERS, random.choice((1, 1, 2)))
    seconds = 0.2 + random.random()
    harm = random.choice((cluster.kill, cluster.suspend))
    history.note(f"{harm.__name__} {' and '.join(victims)} for {seconds:.1f} s")
    await asyncio.gather(*(harm(victim, seconds) for victim in victims))


async def _compact(storage: Storage, history: History, witness: _Witness, random: Random) -> None:
    """Never beyond what the witness has heard of."""
    while True:
        await asyncio.sleep(2 * random.random())
        target = witness.revision - random.choice((1, 5, 20))
        if target > history.compacted:
            history.compacted = target
            history.note(f"compact {target}")
            try:
                await storage.compact(target)
            except StorageFailed as error:
                history.note(error)


async def _drain(
    history: History,
    witness: _Witness,
    stores: list[WatchCache],
    clients: list[Client],
    tasks: list[asyncio.Task[None]],
) -> None:
    """No more writes: both servers, the witness and all watchers must get everything."""
    observers = [client for client in clients if isinstance(client, Observer)]
    for observer in observers:
        observer.draining = True
    await _ended([task for client, task in zip(clients, tasks, strict=False) if not isinstance(client, Observer)])
    try:
        async with asyncio.timeout(PATIENCE):
            revision = await _quiet(witness, stores)
    except TimeoutError:
        history.problems.append(f"a server does not follow a healthy etcd after {PATIENCE:.0f} s")
        return
    await asyncio.sleep(0.5)
    history.note(f"quiet at {revision}")
    for observer in observers:
        if observer.stream is not None:
            observer.stream.complete_until = revision


async def _quiet(witness: _Witness, stores: list[WatchCache]) -> int:
    """Wait until everybody has heard of everything; the last revision."""
    for store in stores:
        await _synced(store)
    revision = max(store.revision for store in stores)
    while witness.revision < revision or any(store.revision < revision for store in stores):
        for store in stores:
            await _synced(store)
        await asyncio.sleep(0.05)
    return revision


async def _synced(store: WatchCache) -> None:
    while True:
        try:
            await store.sync()
            return
        except StorageFailed:
            await asyncio.sleep(0.1)


async def _ended(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    for outcome in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(outcome, Exception):
            raise outcome


async def _whole(history: History, cluster: EtcdCluster) -> None:
    """What a newcomer reads."""
    late = EtcdStorage(cluster.endpoints)
    start = history.tick()
    snapshot = await late.open(_Witness(History()))
    await late.close()
    found = {record.key: whole(record.value) for record in snapshot.records}
    history.reads.append(Read("/", start, history.tick(), snapshot.revision, found, fresh=True))
