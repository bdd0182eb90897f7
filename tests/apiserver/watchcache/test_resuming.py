"""Watches that come back, wait, or look far into the past."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from karmada.apiserver.storage.base import Compacted, Storage, Value
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.apiserver.storage.sqlite import SqliteStorage
from karmada.apiserver.watchcache import Bounds, Index, Item, WatchCache, Watcher

PODS, NODES = ("", "pods"), ("", "nodes")


def value(text: str) -> Value:
    return Value(b'{"metadata":{"resourceVersion":"', b'"},"colour":"%b"}' % text.encode())


def index(kind: tuple[str, str], body: bytes) -> Index:
    return Index("", {"colour": "red" if b'"red"' in body else "blue"}, (), {})


def red(item: Item) -> bool:
    return item.index.labels["colour"] == "red"


async def put(store: WatchCache, name: str, colour: str = "blue", kind: tuple[str, str] = PODS) -> Item:
    old = store.get(kind, "ns", name)
    body = value(colour)
    return await store.update(kind, "ns", name, body, index(kind, body.at(0)), old.revision if old else 0)


async def drop(store: WatchCache, name: str) -> int:
    old = store.get(PODS, "ns", name)
    assert old is not None
    return await store.delete(PODS, "ns", name, value("gone"), old.revision)


async def take(watcher: Watcher, count: int) -> list[tuple[str, str, int]]:
    """This many events and not one more."""
    found: list[tuple[str, str, int]] = []
    while len(found) < count:
        events = await asyncio.wait_for(anext(watcher), 5)
        found += [(event.type, event.item.name, event.item.revision) for event in events]
    assert len(found) == count
    return found


Make = Callable[[], WatchCache]


@pytest.fixture(params=["memory", "sqlite"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Stores that remember two events themselves."""
    memory = MemoryStorage()

    def fresh() -> WatchCache:
        storage: Storage = memory if request.param == "memory" else SqliteStorage(tmp_path / "store.db")
        return WatchCache(storage, index, Bounds(events=2))

    return fresh


@pytest.fixture
async def store(make: Make) -> AsyncIterator[WatchCache]:
    store = make()
    await store.start()
    yield store
    await store.stop()


async def _story(store: WatchCache) -> list[tuple[str, str, int]]:
    a = await put(store, "a")
    b = await put(store, "b", "red")
    a2 = await put(store, "a", "red")
    await put(store, "node", kind=NODES)
    gone = await drop(store, "b")
    a3 = await put(store, "a")
    return [
        ("ADDED", "a", a.revision),
        ("ADDED", "b", b.revision),
        ("MODIFIED", "a", a2.revision),
        ("DELETED", "b", gone),
        ("MODIFIED", "a", a3.revision),
    ]


async def test_a_watch_resumes_from_before_the_history_in_memory(store: WatchCache) -> None:
    start = store.revision
    story = await _story(store)
    for position in range(len(story)):
        after = story[position - 1][2] if position else start
        with store.watch(PODS, after=after) as watcher:
            expected = story[position:]
            assert await take(watcher, len(expected)) == expected
            new = await put(store, "new")
            assert await take(watcher, 1) == [("ADDED", "new", new.revision)]
            await drop(store, "new")
            story += [("ADDED", "new", new.revision), ("DELETED", "new", store.revision)]


async def test_a_selection_resumes_with_its_transitions(store: WatchCache) -> None:
    start = store.revision
    story = await _story(store)
    with store.watch(PODS, match=red, after=start) as watcher:
        types = [(event[0], event[1]) for event in await take(watcher, 4)]
    assert types == [("ADDED", "b"), ("ADDED", "a"), ("DELETED", "b"), ("DELETED", "a")]
    assert story


async def test_a_watch_resumes_after_a_restart(store: WatchCache, make: Make) -> None:
    start = store.revision
    story = await _story(store)
    await store.stop()
    again = make()
    await again.start()
    with again.watch(PODS, after=start) as watcher:
        assert await take(watcher, len(story)) == story
        new = await put(again, "new")
        assert await take(watcher, 1) == [("ADDED", "new", new.revision)]
    await again.stop()


async def test_events_during_the_look_back_come_after_it(store: WatchCache) -> None:
    start = store.revision
    story = await _story(store)
    with store.watch(PODS, after=start) as watcher:
        more = [await put(store, name) for name in "xyz"]
        expected = story + [("ADDED", item.name, item.revision) for item in more]
        assert await take(watcher, len(expected)) == expected


async def test_a_compacted_revision_ends_the_watch(store: WatchCache) -> None:
    start = store.revision
    await _story(store)
    await store._storage.compact(store.revision)
    with store.watch(PODS, after=start) as watcher:
        with pytest.raises(Compacted):
            await anext(watcher)
        with pytest.raises(Compacted):
            await anext(watcher)


async def test_a_watch_from_the_future_sees_only_what_is_later(store: WatchCache) -> None:
    first = await put(store, "a")
    with store.watch(PODS, after=first.revision + 1) as watcher:
        await put(store, "b")
        last = await put(store, "c")
        assert await take(watcher, 1) == [("ADDED", "c", last.revision)]


async def test_waiting_for_a_revision_ends_when_it_is_visible(store: WatchCache) -> None:
    await store.reached(store.revision)
    waiting = asyncio.create_task(store.reached(store.revision + 2))
    await put(store, "a")
    await asyncio.sleep(0)
    assert not waiting.done()
    await put(store, "b")
    await asyncio.wait_for(waiting, 5)


@pytest.mark.looptime
async def test_bookmarks_come_by_the_clock() -> None:
    store = WatchCache(MemoryStorage(), index)
    await store.start()
    await put(store, "node", kind=NODES)
    with store.watch(PODS, after=store.revision, bookmarks=True) as wants, store.watch(PODS) as plain:
        events = await asyncio.wait_for(anext(wants), 61)
        assert [(event.type, event.item.revision) for event in events] == [("BOOKMARK", store.revision)]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(plain), 300)
    await store.stop()


@pytest.mark.looptime
async def test_history_is_forgotten_by_the_clock() -> None:
    storage = MemoryStorage()
    store = WatchCache(storage, index, Bounds(seconds=300), clock=asyncio.get_running_loop().time)
    await store.start()
    start = store.revision
    await put(store, "a")
    await asyncio.sleep(290)
    assert len(await storage.history("", start, store.revision)) == 1
    await asyncio.sleep(120)
    await put(store, "b")
    with pytest.raises(Compacted):
        store.list(PODS, at=start)
    with pytest.raises(Compacted):
        await storage.history("", start, store.revision)
    await store.stop()
