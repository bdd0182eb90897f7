"""What the watch cache does besides serving: waiting, upkeep by the clock, bounds of its history, indexes and pages."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from karmada.apiserver.storage.base import Compacted, Record, StorageFailed, Value, Write
from karmada.apiserver.storage.delta import Delta, Stored, difference
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.apiserver.watchcache import Bounds, Index, Item, Label, StoreEvent, WatchCache
from karmada.apiserver.watchcache.history import History
from karmada.apiserver.watchcache.labelled import Labelled
from karmada.apiserver.watchcache.links import Links
from karmada.apiserver.watchcache.maintenance import Maintenance
from karmada.apiserver.watchcache.model import Selected
from karmada.machinery.transport import EventType

PODS, NODES = ("", "pods"), ("", "nodes")
NONE = Index("", {}, (), {})


def value(text: str = "") -> Value:
    return Value(b'{"metadata":{"resourceVersion":"', b'","t":"%b"}}' % text.encode())


class Recording(MemoryStorage):
    """A storage that remembers what it was asked for."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.asked: list[str] = []
        self.compactions: list[int] = []
        self.failing = False

    async def sync(self) -> None:
        self.asked.append("sync")

    async def check(self) -> None:
        self.asked.append("check")

    async def close(self) -> None:
        self.asked.append("close")

    async def compact(self, revision: int) -> None:
        if self.failing:
            raise StorageFailed("the disk is full")
        self.compactions.append(revision)


@pytest.fixture
async def storage() -> Recording:
    return Recording()


@pytest.fixture
async def store(storage: Recording) -> AsyncIterator[WatchCache]:
    store = WatchCache(storage, lambda kind, body: NONE)
    await store.start()
    yield store
    await store.stop()


async def test_a_cache_asks_its_storage_whether_it_works_and_what_others_wrote(
    store: WatchCache, storage: Recording
) -> None:
    await store.sync()
    await store.check()
    assert storage.asked == ["sync", "check"]


async def test_a_cache_that_was_not_started_has_seen_nothing() -> None:
    assert WatchCache(MemoryStorage(), lambda kind, body: NONE).revision == 0


async def test_who_waits_for_a_revision_goes_on_when_it_is_visible(store: WatchCache) -> None:
    await store.reached(store.revision)
    first, second = (asyncio.create_task(store.reached(store.revision + more)) for more in (1, 2))
    await asyncio.sleep(0)
    await store.create(PODS, "ns", "a", value(), NONE)
    await asyncio.wait_for(first, 60)
    assert not second.done()
    await store.create(PODS, "ns", "b", value(), NONE)
    await asyncio.wait_for(second, 60)
    assert store._waiting == []


async def test_who_gives_up_waiting_is_forgotten(store: WatchCache) -> None:
    waiting = asyncio.create_task(store.reached(store.revision + 1))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert store._waiting == []


async def test_objects_are_counted_by_kind(store: WatchCache) -> None:
    await store.create(PODS, "ns", "a", value(), NONE)
    await store.create(PODS, "ns", "b", value(), NONE)
    await store.create(NODES, "", "n", value(), NONE)
    assert store.counts() == {PODS: 2, NODES: 1}


async def test_a_watch_that_ends_leaves_nothing_behind(store: WatchCache) -> None:
    with store.watch(PODS, "ns") as one:
        other = store.watch(PODS, "ns")
        collection = store._contents.collection(PODS)
        other.close()
        assert list(collection.watching()) == [one]
        await store.create(PODS, "ns", "a", value(), NONE)
        assert [event.item.name for event in await anext(one)] == ["a"]
    assert collection.watchers == {}


async def test_a_resumed_watch_begins_after_its_revision_wherever_the_history_begins() -> None:
    store = WatchCache(MemoryStorage(), lambda kind, body: NONE, Bounds(events=2))
    await store.start()
    for number in range(6):
        await store.create(PODS, "ns", f"p{number}", value(), NONE)
    for after in range(3, store.revision):
        seen: list[int] = []
        with store.watch(PODS, after=after) as watcher:
            while not seen or seen[-1] < store.revision:
                seen += [event.item.revision for event in await asyncio.wait_for(anext(watcher), 60)]
        assert seen == list(range(after + 1, store.revision + 1))
    await store.stop()


@pytest.mark.parametrize("at", ["", "ns"])
async def test_pages_end_where_the_objects_do(store: WatchCache, at: str) -> None:
    for name in "abcd":
        await store.create(PODS, "ns", name, value(), Index("", {"c": name}, (), {}))
    await store.create(PODS, "zz" if at else "ns", "z", value(), NONE)
    count = 4 if at else 5
    whole = store.list(PODS, at, limit=count)
    assert (len(whole.items), whole.next, whole.remaining) == (count, "", 0)
    part = store.list(PODS, at, limit=count - 1)
    assert (len(part.items), bool(part.next), part.remaining) == (count - 1, True, 1)
    assert (part.revision, store.list(PODS, at).remaining) == (store.revision, 0)


async def test_a_matching_page_that_is_full_with_the_last_object_is_the_last(store: WatchCache) -> None:
    for name in "abc":
        await store.create(PODS, "ns", name, value(), NONE)
    last = store.list(PODS, match=lambda item: item.name != "a", limit=2)
    assert ([item.name for item in last.items], last.next, last.remaining) == (["b", "c"], "", 0)
    middle = store.list(PODS, match=lambda item: item.name != "c", limit=2)
    assert ([item.name for item in middle.items], middle.next, middle.remaining) == (["a", "b"], "ns/b", 0)
    unlimited = store.list(PODS, match=lambda item: item.name != "c")
    assert (len(unlimited.items), unlimited.next, unlimited.remaining) == (2, "", 0)


@pytest.mark.parametrize("count", [199, 200, 201])
async def test_the_first_and_the_last_object_are_found_by_their_label(store: WatchCache, count: int) -> None:
    for number in range(count):
        await store.create(PODS, "ns", f"p{number:03}", value(), Index("", {"n": str(number % (count - 1))}, (), {}))
    looked: list[str] = []

    def match(item: Item) -> bool:
        looked.append(item.name)
        return item.index.labels["n"] == "0"

    found = store.list(PODS, match=match, label=Label("n", "0"))
    assert [item.name for item in found.items] == ["p000", f"p{count - 1:03}"]
    assert len(looked) == (count if count < 200 else 2)


# Indexes and forms.


async def test_objects_are_indexed_anew_when_what_is_indexed_changes() -> None:
    labels: dict[str, str] = {}
    store = WatchCache(MemoryStorage(), lambda kind, body: Index("new", dict(labels), ("boss",), {}))
    await store.start()
    await store.create(PODS, "ns", "a", value(), Index("old", {"c": "blue"}, (), {}))
    for number in range(200):
        await store.create(PODS, "ns", f"p{number}", value(), Index("", {"c": "blue"}, (), {}))
    assert store.by_uid("old") is not None

    def red() -> list[str]:

        def match(item: Item) -> bool:
            return item.index.labels.get("c") == "red"

        return [item.name for item in store.list(PODS, match=match, label=Label("c", "red")).items]

    assert red() == []
    labels["c"] = "red"
    store.reindex(PODS)
    assert len(red()) == 201
    assert store.by_uid("old") is None
    assert len(store.owned_by("boss")) == 201
    await store.stop()


async def test_an_object_is_held_in_another_form_unless_it_has_changed(store: WatchCache) -> None:
    item = await store.create(PODS, "ns", "a", value("x"), NONE)
    body = item.body
    form: Stored = body[:1] + body[1:]
    assert form is not body
    store.shrunk([Record("/core/pods/ns/a", form, item.revision), Record("/core/pods/ns/gone", form, 3)])
    found = store.get(PODS, "ns", "a")
    assert found is not None
    assert found.stored is form
    store.shrunk([Record("/core/pods/ns/a", b"{}", item.revision + 1), Record("/core/none/ns/a", b"{}", 3)])
    assert found.body == body


def test_links_follow_uids_and_owners() -> None:
    def index(uid: str, *owners: str) -> Index:
        return Index(uid, {}, owners, {})

    links = Links()
    links.change("a", None, index("u1", "o1", "o1", "o2"))
    links.change("b", None, index("", "o1"))
    assert (links.by_uid, links.owned) == ({"u1": "a"}, {"o1": {"a", "b"}, "o2": {"a"}})
    links.change("a", index("u1", "o1", "o1", "o2"), index("u2", "o1"))
    assert (links.by_uid, links.owned) == ({"u2": "a"}, {"o1": {"a", "b"}})
    links.change("c", None, index("u2"))
    links.change("a", index("u2", "o1"), None)
    assert (links.by_uid, links.owned) == ({"u2": "c"}, {"o1": {"b"}})
    links.change("b", index("", "o1"), index("u3", "o1"))
    assert links.by_uid == {"u2": "c", "u3": "b"}
    links.change("b", index("u3", "o1"), index("", "o1"))
    links.change("b", index("", "o1"), index("", "o1"))
    links.change("b", index("", "o1"), None)
    assert links.owned == {}


# History.


def event(revision: int, size: int = 10, deleted: bool = False, previous: int = 0) -> StoreEvent:
    before = Item("ns", "a", 1, NONE, b"x" * previous) if previous else None
    kind = EventType.DELETED if deleted else EventType.MODIFIED
    return StoreEvent(kind, Item("ns", "a", revision, NONE, b"x" * size), before)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def revisions(history: History, after: int) -> list[int]:
    return [one.item.revision for one in history.since(PODS, after)]


def test_history_is_bounded_by_the_number_of_events() -> None:
    history = History(0, Bounds(events=3), Clock())
    for revision in range(1, 6):
        history.append(PODS if revision != 4 else NODES, event(revision))
    assert history.floor == 2
    assert revisions(history, 2) == [5, 3]
    assert revisions(history, 3) == [5]
    with pytest.raises(Compacted) as refused:
        history.since(PODS, 1)
    assert refused.value.oldest == 2


def test_history_is_bounded_by_the_bytes_that_it_alone_keeps() -> None:
    history = History(0, Bounds(bytes=100), Clock())
    history.append(PODS, event(1, size=1000))
    history.append(PODS, event(2, previous=60))
    history.append(PODS, event(3, previous=40))
    assert history.floor == 0
    history.append(PODS, event(4, size=1, deleted=True))
    assert history.floor == 2
    history.append(PODS, event(5, size=20, deleted=True, previous=39))
    assert history.floor == 2
    history.append(PODS, event(6, size=1, deleted=True))
    assert history.floor == 3


def test_history_is_bounded_by_age() -> None:
    clock = Clock()
    history = History(0, Bounds(seconds=10), clock)
    history.append(PODS, event(1))
    clock.now = 10.0
    history.append(PODS, event(2))
    assert history.floor == 0
    clock.now = 10.5
    history.append(PODS, event(3))
    assert history.floor == 1
    assert Bounds() == (50_000, 32 << 20, 300.0)


# Upkeep.


async def periods(count: int, storage: Recording, revisions: list[int]) -> tuple[int, Maintenance]:
    """Let some periods pass; how many bookmarks were sent."""
    sent = 0

    def bookmark() -> None:
        nonlocal sent
        sent += 1

    upkeep = Maintenance(storage, lambda: revisions[min(sent, len(revisions)) - 1], bookmark, 60.0)
    upkeep.start()
    await asyncio.sleep(60.0 * count + 1)
    await upkeep.stop()
    await upkeep.stop()
    return sent, upkeep


@pytest.mark.looptime
async def test_bookmarks_are_sent_and_history_of_five_periods_is_kept(storage: Recording) -> None:
    sent, _ = await periods(8, storage, [10, 20, 30, 40, 50, 60, 70, 70])
    assert sent == 8
    assert storage.compactions == [10, 20, 30]


@pytest.mark.looptime
async def test_what_was_compacted_is_not_compacted_again(storage: Recording) -> None:
    await periods(9, storage, [10])
    assert storage.compactions == [10]


@pytest.mark.looptime
async def test_no_more_than_so_many_changes_are_kept(storage: Recording) -> None:
    await periods(3, storage, [200_000, 200_001, 500_000])
    assert storage.compactions == [1, 300_000]


@pytest.mark.looptime
async def test_a_storage_that_fails_is_asked_again_later(storage: Recording, caplog: pytest.LogCaptureFixture) -> None:
    storage.failing = True
    await periods(7, storage, [10, 20, 30, 40, 50, 60, 70])
    assert storage.compactions == []
    assert caplog.text.count("history is not compacted now, next attempt in 60 s: the disk is full") == 2


@pytest.mark.looptime
async def test_a_stopped_cache_does_nothing_by_the_clock(storage: Recording) -> None:
    store = WatchCache(storage, lambda kind, body: NONE)
    await store.start()
    await store.stop()
    await asyncio.sleep(3600)
    assert (storage.asked, storage.compactions) == (["close"], [])


async def test_upkeep_has_ended_when_it_is_stopped(storage: Recording, caplog: pytest.LogCaptureFixture) -> None:
    upkeep = Maintenance(storage, lambda: 0, lambda: None)
    upkeep.start()
    task = upkeep._task
    assert task is not None
    await upkeep.stop()
    assert task.done()
    await asyncio.sleep(0)
    assert caplog.text == ""


@pytest.mark.looptime
async def test_upkeep_that_dies_is_reported(
    storage: Recording, caplog: pytest.LogCaptureFixture, failures: list[str]
) -> None:
    def broken() -> None:
        raise ZeroDivisionError

    upkeep = Maintenance(storage, lambda: 0, broken)
    upkeep.start()
    await asyncio.sleep(61)
    assert "the store's upkeep has died: no bookmarks and no compaction any more" in caplog.text
    await upkeep.stop()


# Watchers, and what they are handed.


async def test_several_writes_at_once_are_events_and_a_deletion_shows_the_last_state(store: WatchCache) -> None:
    with store.watch(PODS) as watcher:
        assert await store.write_all([Write("/core/pods/ns/a", value("x"), 0, NONE)]) == [None]
        assert await store.write_all([Write("/core/pods/ns/a", None, 3)]) == [None]
        events = await anext(watcher)
    assert [event.type for event in events] == ["ADDED", "DELETED"]
    assert events[1].item.body == b'{"metadata":{"resourceVersion":"4","t":"x"}}'


async def test_what_happens_outside_of_a_selection_is_not_seen(store: WatchCache) -> None:
    with store.watch(PODS, match=lambda item: item.name == "seen") as watcher:
        await store.create(PODS, "ns", "a", value(), NONE)
        await store.update(PODS, "ns", "a", value(), NONE, 3)
        await store.delete(PODS, "ns", "a", value(), 4)
        await store.create(PODS, "ns", "seen", value(), NONE)
        assert [event.item.name for event in await anext(watcher)] == ["seen"]


@pytest.mark.parametrize(("count", "gathered"), [(1, 1), (500, 500), (501, 0)])
async def test_what_has_gathered_is_taken_once_by_whoever_knows_it(
    store: WatchCache, count: int, gathered: int
) -> None:
    with store.watch(PODS) as watcher, store.watch(PODS) as other:
        assert not watcher.take([])
        for number in range(count):
            await store.create(PODS, "ns", f"p{number}", value(), NONE)
        found = watcher.gathered()
        assert len(found) == gathered
        if found:
            assert not other.take(found[:-1])
            assert other.take(found) is True
            assert other.take(found) is False
            assert other.gathered() == []
            assert await anext(watcher) == found
        watcher.close()
        assert watcher.gathered() == []
        assert watcher.take(found) is False


async def test_a_watch_of_the_past_has_gathered_nothing(store: WatchCache) -> None:
    for number in range(3):
        await store.create(PODS, "ns", f"p{number}", value(), NONE)
    with store.watch(PODS, after=3) as watcher:
        assert len(watcher.gathered()) == 2
    small = WatchCache(MemoryStorage(), lambda kind, body: NONE, Bounds(events=1))
    await small.start()
    for number in range(3):
        await small.create(PODS, "ns", f"p{number}", value(), NONE)
    with small.watch(PODS, after=3) as watcher:
        assert watcher.gathered() == []
        assert not watcher.take([])
    await small.stop()


def test_an_object_knows_its_size_and_whether_it_ends_whatever_its_form() -> None:
    base = b'{"metadata":{"name":"a","deletionTimestamp":"2026-01-01T00:00:00Z"}}'
    alike = base.replace(b'"a"', b'"longer"')
    changes = difference(base, alike)
    assert changes is not None
    item = Item("ns", "longer", 3, NONE, Delta(base, changes))
    assert (item.body, item.size, item.ends) == (alike, len(alike), True)
    assert Item("ns", "a", 3, NONE, base).size == len(base)
    assert Item("ns", "a", 3, NONE, b'{"metadata":{"name":"a"}}').ends is False
    nested = b'{"metadata":{"name":"a"},"spec":{"deletionTimestamp":"x"}}'
    assert Item("ns", "a", 3, NONE, nested).ends is False


def test_selected_fields_are_found_by_their_names() -> None:
    found = Selected({"spec.nodeName": 0, "status.phase": 1}, ("n1", "Running"))
    assert [found.get(name) for name in ("spec.nodeName", "status.phase", "none")] == ["n1", "Running", ""]
    assert found.get("none", "x") == "x"


def test_four_labels_are_kept_and_the_one_that_was_asked_for_longest_ago_goes() -> None:
    labelled, read = Labelled(), []

    def everything(name: str) -> Any:
        read.append(name)
        yield "key", {name: "1"}

    for name in ("a", "b", "c", "d", "a", "e", "a", "b"):
        assert labelled.keys(Label(name, "1"), everything(name)) == {"key"}
    assert read == ["a", "b", "c", "d", "e", "b"]
