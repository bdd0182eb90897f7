"""What the pipeline relies on: reads see committed writes, events come once and in order."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from karmada.apiserver.storage.base import Compacted, Mismatch, Record, Snapshot, Value
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.apiserver.watchcache import Bounds, Index, Item, Label, StoreEvent, TooSlow, WatchCache, Watcher

PODS = ("", "pods")
NODES = ("", "nodes")


def value(text: str = "") -> Value:
    return Value(b'{"metadata":{"resourceVersion":"', b'","t":"%b"}}' % text.encode())


def index(**labels: str) -> Index:
    return Index("", labels, (), {})


def red(item: Item) -> bool:
    return item.index.labels.get("colour") == "red"


@pytest.fixture
async def store() -> AsyncIterator[WatchCache]:
    store = WatchCache(MemoryStorage(), lambda kind, body: index(), buffer=5)
    await store.start()
    yield store
    await store.stop()


async def read(watcher: Watcher) -> list[tuple[str, str, int]]:
    events = await asyncio.wait_for(anext(watcher), 1)
    return [(event.type, event.item.name, event.item.revision) for event in events]


async def test_a_created_object_is_read_with_its_revision_inside(store: WatchCache) -> None:
    item = await store.create(PODS, "ns", "a", value("x"), index())
    assert item.revision == store.revision == 3
    assert item.body == b'{"metadata":{"resourceVersion":"3","t":"x"}}'
    got = store.get(PODS, "ns", "a")
    assert got is not None
    assert got.body is item.body
    assert store.get(NODES, "ns", "a") is None


async def test_writes_name_the_revision_they_expect(store: WatchCache) -> None:
    await store.create(PODS, "ns", "a", value(), index())
    with pytest.raises(Mismatch):
        await store.create(PODS, "ns", "a", value(), index())
    with pytest.raises(Mismatch):
        await store.update(PODS, "ns", "a", value(), index(), 1)
    with pytest.raises(Mismatch):
        await store.delete(PODS, "ns", "b", value(), 3)
    await store.update(PODS, "ns", "a", value(), index(), 3)
    assert await store.delete(PODS, "ns", "a", value(), 4) == 5
    assert store.get(PODS, "ns", "a") is None


async def test_lists_come_in_the_byte_order_of_keys(store: WatchCache) -> None:
    for namespace, name in [("a", "x"), ("a-b", "x"), ("b", "y"), ("a", "a.b"), ("a", "a")]:
        await store.create(PODS, namespace, name, value(), index())
    names = [(item.namespace, item.name) for item in store.list(PODS).items]
    assert names == [("a-b", "x"), ("a", "a"), ("a", "a.b"), ("a", "x"), ("b", "y")]
    assert [item.name for item in store.list(PODS, "a").items] == ["a", "a.b", "x"]


async def test_pages_stay_at_the_revision_of_the_first(store: WatchCache) -> None:
    for name in "abcde":
        await store.create(PODS, "ns", name, value(), index())
    first = store.list(PODS, limit=2)
    assert (first.remaining, [item.name for item in first.items]) == (3, ["a", "b"])
    await store.delete(PODS, "ns", "c", value(), 5)
    await store.update(PODS, "ns", "d", value("new"), index(), 6)
    await store.create(PODS, "ns", "bb", value(), index())
    second = store.list(PODS, limit=2, after=first.next, at=first.revision)
    assert [(item.name, item.revision) for item in second.items] == [("c", 5), ("d", 6)]
    last = store.list(PODS, limit=2, after=second.next, at=first.revision)
    assert ([item.name for item in last.items], last.next, last.remaining) == (["e"], "", 0)


async def test_a_limited_list_with_a_match_fills_its_page(store: WatchCache) -> None:
    for number in range(6):
        await store.create(PODS, "ns", f"p{number}", value(), index(colour="red" if number % 2 else "blue"))
    page = store.list(PODS, match=red, limit=2)
    assert [item.name for item in page.items] == ["p1", "p3"]
    assert [item.name for item in store.list(PODS, match=red, limit=2, after=page.next).items] == ["p5"]


async def test_a_watch_sees_each_later_event_once(store: WatchCache) -> None:
    await store.create(PODS, "ns", "a", value(), index())
    with store.watch(PODS) as now, store.watch(PODS, after=2) as resumed:
        await store.update(PODS, "ns", "a", value(), index(), 3)
        await store.delete(PODS, "ns", "a", value(), 4)
        assert await read(now) == [("MODIFIED", "a", 4), ("DELETED", "a", 5)]
        assert await read(resumed) == [("ADDED", "a", 3), ("MODIFIED", "a", 4), ("DELETED", "a", 5)]


@pytest.mark.parametrize(
    ("namespace", "name", "seen"),
    [("", "", ["a", "b", "a"]), ("one", "", ["a", "b"]), ("one", "a", ["a"]), ("", "a", ["a", "a"])],
    ids=["all", "namespace", "object", "name-everywhere"],
)
async def test_a_watch_is_limited_to_its_place(store: WatchCache, namespace: str, name: str, seen: list[str]) -> None:
    with store.watch(PODS, namespace, name) as live:
        for where, what in [("one", "a"), ("one", "b"), ("two", "a")]:
            await store.create(PODS, where, what, value(), index())
        await store.create(NODES, "", "a", value(), index())
        assert [event[1] for event in await read(live)] == seen
    with store.watch(PODS, namespace, name, after=2) as resumed:
        assert [event[1] for event in await read(resumed)] == seen
    with store.watch(PODS, namespace, name, initial=True) as initial:
        assert [event[1] for event in await read(initial)] == sorted(seen) if namespace else True


async def test_entering_and_leaving_a_selection_is_added_and_deleted(store: WatchCache) -> None:
    with store.watch(PODS, match=red) as watcher:
        await store.create(PODS, "ns", "a", value("1"), index(colour="blue"))
        await store.update(PODS, "ns", "a", value("2"), index(colour="red"), 3)
        await store.update(PODS, "ns", "a", value("3"), index(colour="red"), 4)
        await store.update(PODS, "ns", "a", value("4"), index(colour="blue"), 5)
        await store.update(PODS, "ns", "a", value("5"), index(colour="red"), 6)
        await store.delete(PODS, "ns", "a", value("6"), 7)
        events = await anext(watcher)
    assert [(event.type, event.item.revision) for event in events] == [
        ("ADDED", 4),
        ("MODIFIED", 5),
        ("DELETED", 6),
        ("ADDED", 7),
        ("DELETED", 8),
    ]
    left = events[2]
    assert left.line == b'{"type":"DELETED","object":{"metadata":{"resourceVersion":"6","t":"3"}}}\n'


async def test_initial_events_end_with_a_marked_bookmark(store: WatchCache) -> None:
    for name in "ba":
        await store.create(PODS, "ns", name, value(), index())
    with store.watch(PODS, initial=True, initial_end=True) as watcher:
        await store.create(PODS, "ns", "c", value(), index())
        events = await anext(watcher)
    assert [(event.type, event.item.name) for event in events] == [
        ("ADDED", "a"),
        ("ADDED", "b"),
        ("BOOKMARK", ""),
        ("ADDED", "c"),
    ]
    assert [event.initial_end for event in events] == [False, False, True, False]
    assert events[2].item.revision == 4


async def test_a_watcher_that_does_not_keep_up_is_cut_off(store: WatchCache) -> None:
    with store.watch(PODS) as slow, store.watch(PODS) as good:
        for number in range(6):
            await store.create(PODS, "ns", f"p{number}", value(), index())
            assert len(await read(good)) == 1
        with pytest.raises(TooSlow):
            await read(slow)


async def test_a_watcher_is_cut_off_by_the_size_of_what_it_does_not_read(store: WatchCache) -> None:
    large = value("x" * (20 << 20))
    await store.create(PODS, "ns", "old", large, index())
    with store.watch(PODS, initial=True) as slow, store.watch(PODS) as good:
        for number in range(4):
            await store.create(PODS, "ns", f"p{number}", large, index())
            assert len(await read(good)) == 1
        with pytest.raises(TooSlow, match="MiB behind"):
            await read(slow)


async def test_what_a_watcher_has_read_no_longer_counts_against_it() -> None:
    """Nor what it has read of a backlog that comes in several batches."""
    store = WatchCache(MemoryStorage(), lambda kind, body: index(), buffer=10_000)
    await store.start()
    half, small = value("x" * (33 << 20)), value()
    with store.watch(PODS) as watcher:
        await store.create(PODS, "ns", "first", half, index())
        for number in range(600):
            await store.create(PODS, "ns", f"p{number}", small, index())
        assert len(await read(watcher)) == 500  # the large one among them
        await store.create(PODS, "ns", "second", half, index())
        assert len(await read(watcher)) == 102
        await store.create(PODS, "ns", "third", half, index())
        assert [name for _, name, _ in await read(watcher)] == ["third"]
        for name in ("fourth", "fifth"):
            await store.create(PODS, "ns", name, half, index())
        with pytest.raises(TooSlow, match="2 events and 66 MiB behind"):
            await read(watcher)
    await store.stop()


async def test_revisions_beyond_the_history_are_compacted() -> None:
    store = WatchCache(MemoryStorage(history=3), lambda kind, body: index(), Bounds(events=3))
    await store.start()
    for number in range(5):
        await store.create(PODS, "ns", f"p{number}", value(), index())
    with pytest.raises(Compacted):
        store.list(PODS, at=3)
    with store.watch(PODS, after=4) as watcher:
        assert [event[2] for event in await read(watcher)] == [5, 6, 7]
    await store.stop()


async def test_owners_and_uids_are_indexed(store: WatchCache) -> None:
    await store.create(PODS, "ns", "a", value(), Index("u1", {}, ("o1", "o2"), {}))
    await store.create(NODES, "", "n", value(), Index("u2", {}, ("o1",), {}))
    assert [item.name for _, item in store.owned_by("o1")] == ["n", "a"]
    found = store.by_uid("u1")
    assert found is not None
    assert found[0] == PODS
    await store.update(PODS, "ns", "a", value(), Index("u1", {}, ("o2",), {}), 3)
    assert [item.name for _, item in store.owned_by("o1")] == ["n"]
    await store.delete(PODS, "ns", "a", value(), 5)
    assert store.owned_by("o2") == []
    assert store.by_uid("u1") is None


async def test_stopping_ends_watches(store: WatchCache) -> None:
    watcher = store.watch(PODS)
    await store.stop()
    assert [events async for events in watcher] == []


async def test_a_finished_watch_ends_after_what_has_happened_was_read(store: WatchCache) -> None:
    watcher = store.watch(PODS)
    await store.create(PODS, "default", "a", value(), index())
    store.finish()
    await store.create(PODS, "default", "b", value(), index())
    assert [[event.item.name for event in events] async for events in watcher] == [["a"]]
    watcher.close()


async def test_a_watcher_whose_match_fails_ends_alone(store: WatchCache) -> None:
    def broken(item: Item) -> bool:
        raise ZeroDivisionError

    with store.watch(PODS, match=broken) as bad, store.watch(PODS) as good:
        await store.create(PODS, "ns", "a", value(), index())
        assert await read(good) == [("ADDED", "a", 3)]
        with pytest.raises(ZeroDivisionError):
            await read(bad)


async def test_an_object_that_cannot_be_indexed_is_still_served(caplog: pytest.LogCaptureFixture) -> None:
    storage = MemoryStorage()
    store = WatchCache(storage, lambda kind, body: index())
    await store.start()
    await store.create(PODS, "ns", "a", value("secret"), index(colour="red"))
    await store.stop()

    def broken(kind: tuple[str, str], body: bytes) -> Index:
        raise ValueError(body)

    again = WatchCache(storage, broken)
    await again.start()
    assert [item.name for item in again.list(PODS).items] == ["a"]
    assert again.list(PODS, match=red).items == []
    assert "/core/pods/ns/a" in caplog.text
    assert "secret" not in caplog.text
    await again.delete(PODS, "ns", "a", value(), 3)
    await again.stop()


async def test_many_initial_events_come_in_batches_that_fit_a_write(store: WatchCache) -> None:
    for number in range(1100):
        await store.create(PODS, "ns", f"p{number:04}", value(), index())
    with store.watch(PODS, initial=True, initial_end=True) as watcher:
        sizes, names = [], []
        while len(names) < 1101:
            events = await read(watcher)
            sizes.append(len(events))
            names += [event[1] for event in events]
    assert names == [*(f"p{number:04}" for number in range(1100)), ""]
    assert max(sizes) <= 500


async def test_watchers_share_one_encoded_line_while_it_is_fresh(store: WatchCache) -> None:
    with store.watch(PODS) as one, store.watch(PODS) as other:
        await store.create(PODS, "ns", "a", value(), index())
        (first,), (second,) = await anext(one), await anext(other)
        assert first.line is second.line
    for number in range(1001):
        await store.create(PODS, "ns", f"p{number}", value(), index())
    assert first.line is not first.line
    assert first.line == b'{"type":"ADDED","object":{"metadata":{"resourceVersion":"3","t":""}}}\n'


async def test_listeners_hear_every_change_even_beside_one_that_fails(
    store: WatchCache, caplog: pytest.LogCaptureFixture, failures: list[str]
) -> None:
    received: list[tuple[str, str]] = []

    def broken(kind: tuple[str, str], event: StoreEvent) -> None:
        raise ValueError(event.item.body)

    store.subscribe(broken)
    store.subscribe(lambda kind, event: received.append((kind[1], event.type)))
    await store.create(PODS, "ns", "a", value(), index())
    await store.create(NODES, "", "n", value(), index())
    await store.delete(PODS, "ns", "a", value(), 3)
    assert received == [("pods", "ADDED"), ("nodes", "ADDED"), ("pods", "DELETED")]
    assert caplog.text.count("a listener failed") == 3
    assert "resourceVersion" not in caplog.text


async def test_a_replaced_state_ends_watches_and_gives_listeners_the_difference(store: WatchCache) -> None:
    for name in ("same", "gone", "changed"):
        await store.create(PODS, "ns", name, value(), index())
    received: list[tuple[str, str, int]] = []
    store.subscribe(lambda kind, event: received.append((event.type, event.item.name, event.item.revision)))
    watcher = store.watch(PODS)
    state = [("same", 3), ("changed", 8), ("new", 9)]
    store.replaced(Snapshot([Record(f"/core/pods/ns/{name}", value().at(at), at) for name, at in state], 9))
    assert received == [("DELETED", "gone", 9), ("MODIFIED", "changed", 8), ("ADDED", "new", 9)]
    assert [item.name for item in store.list(PODS).items] == ["changed", "new", "same"]
    assert store.revision == 9
    with pytest.raises(Compacted):
        await anext(watcher)
    with pytest.raises(Compacted):
        store.list(PODS, at=8)


async def test_a_list_by_a_label_looks_only_at_those_that_have_it(store: WatchCache) -> None:
    for number in range(600):
        await store.create(PODS, f"ns{number % 3}", f"p{number:03d}", value(), index(app=f"a{number % 100}"))
    looked_at: list[str] = []

    def match(item: Item) -> bool:
        looked_at.append(item.name)
        return item.index.labels.get("app") == "a7"

    def listed(namespace: str = "", **more: int) -> list[str]:
        page = store.list(PODS, namespace, match, label=Label("app", "a7"), **more)
        return [item.name for item in page.items]

    everywhere = ["p207", "p507", "p107", "p407", "p007", "p307"]
    assert sorted(listed()) == sorted(everywhere)
    assert len(looked_at) == 6
    assert listed() == [item.name for item in store.list(PODS, match=match).items], "the same order"
    first = store.list(PODS, "", match, 2, label=Label("app", "a7"))
    rest = store.list(PODS, "", match, 0, first.next, label=Label("app", "a7"))
    assert [item.name for item in (*first.items, *rest.items)] == listed()
    assert set(listed("ns1")) == {item.name for item in store.list(PODS, "ns1", match).items}
    was = store.get(PODS, "ns1", "p007")
    assert was is not None
    before = store.revision
    await store.update(PODS, "ns1", "p007", value(), index(app="other"), was.revision)
    gone = store.get(PODS, "ns2", "p107")
    assert gone is not None
    await store.delete(PODS, "ns2", "p107", value(), gone.revision)
    await store.create(PODS, "ns0", "new", value(), index(app="a7"))
    del looked_at[:]
    assert sorted(listed()) == ["new", "p207", "p307", "p407", "p507"]
    assert len(looked_at) == 5
    assert sorted(listed(at=before)) == sorted(everywhere), "as it was"


async def test_of_the_labels_that_lists_name_a_few_are_kept(store: WatchCache) -> None:
    for number in range(300):
        await store.create(PODS, "ns", f"p{number:03d}", value(), index(**{f"l{n}": str(number) for n in range(10)}))
    for name in [f"l{n}" for n in range(10)] * 2:
        found = store.list(PODS, match=lambda item, name=name: item.index.labels[name] == "5", label=Label(name, "5"))
        assert [item.name for item in found.items] == ["p005"]
    await store.create(PODS, "ns", "more", value(), index(l9="5"))
    found = store.list(PODS, match=lambda item: item.index.labels.get("l9") == "5", label=Label("l9", "5"))
    assert [item.name for item in found.items] == ["more", "p005"]
