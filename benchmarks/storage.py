"""The store under load: durable writes, lists, watchers, memory per object; and what alike objects take (`alike`).

Objects are 3 KB, all of one size. Rates are the best of three, as other users of the disk disturb them. CPU figures
count all threads of the process, kernel included; the memory figure comes from a fresh process.
"""

import asyncio
import gc
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

from benchmarks import alike
from benchmarks.result import Result
from karmada.apiserver.storage.base import Storage, Value
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.apiserver.storage.sqlite import SqliteStorage
from karmada.apiserver.watchcache import Index, WatchCache, Watcher

_KIND = ("apps", "deployments")
_HEAD = b'{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"resourceVersion":"'


_SPEC = b"x" * 2900


def run() -> list[Result]:
    """All figures."""
    results = []
    for writers, target in ((1, 1_000.0), (16, 6_000.0), (64, 8_000.0)):
        rate, cpu = max(asyncio.run(_writes(writers, 2_000)) for _ in range(3))
        results.append(Result(f"durable puts, {writers} writers", rate, "1/s", target, higher_is_better=True))
        results.append(Result(f"CPU per durable put, {writers} writers", cpu * 1e6, "µs"))
    results += asyncio.run(_reads())
    results.append(Result("event to 50 watchers", asyncio.run(_fan_out(50)) * 1e6, "µs CPU", 1000.0))
    memory = subprocess.run([sys.executable, "-m", "benchmarks.storage"], check=True, capture_output=True, text=True)
    results.append(Result("memory of 10,000 objects of 3 KB", float(memory.stdout), "MB", 60.0))
    return results + alike.run()


def _object(number: int) -> tuple[str, str, Value, Index]:
    name, namespace = f"object-{number}", f"namespace-{number % 50}"
    value = Value(_HEAD, b"".join((b'","name":"', name.encode(), b'"},"spec":"', _SPEC, b'"}')))
    labels = {"app": name, "tier": "backend"}
    return namespace, name, value, Index(f"uid-{number:032}", labels, (f"owner-{number % 100}",), {})


async def _store(storage: Storage) -> WatchCache:
    store = WatchCache(storage, lambda kind, body: Index("", {}, (), {}))
    await store.start()
    return store


async def _fill(store: WatchCache, count: int, writers: int = 16) -> None:
    numbers: Iterator[int] = iter(range(count))

    async def write() -> None:
        for number in numbers:
            await store.create(_KIND, *_object(number))

    await asyncio.gather(*(write() for _ in range(writers)))


async def _writes(writers: int, count: int) -> tuple[float, float]:
    """Writes per second, and CPU seconds per write."""
    with tempfile.TemporaryDirectory() as folder:
        store = await _store(SqliteStorage(Path(folder) / "store.db"))
        begun, cpu = time.perf_counter(), time.process_time()
        await _fill(store, count, writers)
        begun, cpu = time.perf_counter() - begun, time.process_time() - cpu
        await store.stop()
    return count / begun, cpu / count


async def _reads() -> list[Result]:
    store = await _store(MemoryStorage())
    await _fill(store, 10_000)
    revision = store.revision
    joined = _best(lambda: len(b",".join([item.body for item in store.list(_KIND).items])))
    found = _best(lambda: len(store.list(_KIND).items))
    page = _best(lambda: len(store.list(_KIND, limit=500).items))
    chosen = _best(lambda: len(store.list(_KIND, match=lambda item: item.index.labels.get("app") == "none").items))
    namespace, name, value, index = _object(0)
    await store.update(_KIND, namespace, name, value, index, store.list(_KIND, namespace).items[0].revision)
    older = _best(lambda: len(store.list(_KIND, limit=500, at=revision).items))
    await store.stop()
    return [
        Result("list 10,000 objects", found * 1e3, "ms"),
        Result("list 10,000 objects, joined (30 MB)", joined * 1e3, "ms"),
        Result("list the first 500 of 10,000 objects", page * 1e3, "ms"),
        Result("list 10,000 objects through a selector", chosen * 1e3, "ms"),
        Result("list 500 of 10,000 objects at an older revision", older * 1e3, "ms"),
    ]


def _best(action: Callable[[], int]) -> float:
    """CPU seconds of the fastest of some attempts."""
    times = []
    for _ in range(7):
        begun = time.process_time()
        action()
        times.append(time.process_time() - begun)
    return min(times)


async def _fan_out(count: int) -> float:
    """CPU seconds of one event that this many watchers read and turn into lines."""
    store = await _store(MemoryStorage())
    watchers = [store.watch(_KIND) for _ in range(count)]

    async def follow(watcher: Watcher) -> int:
        return sum([len(b"".join([event.line for event in events])) async for events in watcher])

    tasks = [asyncio.create_task(follow(watcher)) for watcher in watchers]
    events = 1000
    cpu = time.process_time()
    for number in range(events):
        await store.create(_KIND, *_object(number))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    cpu = time.process_time() - cpu
    for watcher in watchers:
        watcher.close()
    await asyncio.gather(*tasks)
    await store.stop()
    return cpu / events


async def _memory() -> float:
    """Megabytes that 10,000 objects add to this process."""
    with tempfile.TemporaryDirectory() as folder:
        store = await _store(SqliteStorage(Path(folder) / "store.db"))
        process = psutil.Process()
        gc.collect()
        before = process.memory_info().rss
        await _fill(store, 10_000)
        gc.collect()
        added = process.memory_info().rss - before
        await store.stop()
    return added / 1e6


if __name__ == "__main__":
    print(asyncio.run(_memory()))
