"""The store against a model that keeps everything in a list, under random operations."""

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from karmada.apiserver.storage.base import Compacted, Mismatch, Storage, Value
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.apiserver.storage.sqlite import SqliteStorage
from karmada.apiserver.watchcache import Bounds, Index, Item, WatchCache, Watcher

PODS = ("", "pods")
NAMESPACES, NAMES, COLOURS = ["a", "a-b", "b"], ["x", "x.y", "y"], ["red", "blue"]


class Write(NamedTuple):
    """An entry of the model's log; colour is None for a deletion."""

    revision: int
    place: tuple[str, str]
    colour: str | None


class Seen(NamedTuple):
    type: str
    place: tuple[str, str]
    revision: int


def value(colour: str) -> Value:
    return Value(b'{"metadata":{"resourceVersion":"', b'"},"colour":"%b"}' % colour.encode())


def index(kind: tuple[str, str], body: bytes) -> Index:
    return Index("", {"colour": "red" if b'"red"' in body else "blue"}, (), {})


def red(item: Item) -> bool:
    return item.index.labels["colour"] == "red"


class Watch(NamedTuple):
    watcher: Watcher
    after: int
    namespace: str
    only_red: bool
    got: list[Seen]


class StoreMachine(RuleBasedStateMachine):
    """Every rule does the same to the store and to the model's log."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.memory = MemoryStorage()
        self.log: list[Write] = []
        self.watches: list[Watch] = []
        self.compacted = 0
        self.start()
        self.first = self.store.revision

    def open_storage(self) -> Storage:
        """A storage on the data of the last one."""
        return self.memory

    def start(self) -> None:
        self.storage = self.open_storage()
        self.store = WatchCache(self.storage, index, Bounds(events=4), buffer=1000)
        self.runner.run(self.store.start())
        self.started_at = self.store.revision

    def teardown(self) -> None:
        try:
            for watch in self.watches:
                self.read(watch)
            self.runner.run(self.store.stop())
        finally:
            self.runner.close()

    def state(self, revision: int | None = None) -> dict[tuple[str, str], Write]:
        found: dict[tuple[str, str], Write] = {}
        for write in self.log:
            if revision is not None and write.revision > revision:
                break
            found[write.place] = write
        return {place: write for place, write in found.items() if write.colour is not None}

    @rule(namespace=st.sampled_from(NAMESPACES), name=st.sampled_from(NAMES), colour=st.sampled_from(COLOURS))
    def put(self, namespace: str, name: str, colour: str) -> None:
        old = self.state().get((namespace, name))
        body = value(colour)
        item = self.runner.run(
            self.store.update(PODS, namespace, name, body, index(PODS, body.at(1)), old.revision if old else 0)
        )
        self.log.append(Write(item.revision, (namespace, name), colour))

    @rule(namespace=st.sampled_from(NAMESPACES), name=st.sampled_from(NAMES))
    def delete(self, namespace: str, name: str) -> None:
        old = self.state().get((namespace, name))
        if old is None:
            self.refused(lambda: self.store.delete(PODS, namespace, name, value("red"), 7))
            return
        revision = self.runner.run(self.store.delete(PODS, namespace, name, value("red"), old.revision))
        self.log.append(Write(revision, (namespace, name), None))

    @rule(namespace=st.sampled_from(NAMESPACES), name=st.sampled_from(NAMES))
    def conflict(self, namespace: str, name: str) -> None:
        old = self.state().get((namespace, name))
        wrong = 0 if old else 5
        self.refused(lambda: self.store.update(PODS, namespace, name, value("red"), index(PODS, b""), wrong))

    def refused(self, write: Callable[[], object]) -> None:
        with pytest.raises(Mismatch):
            self.runner.run(write())

    @rule(back=st.integers(0, 8), namespace=st.sampled_from(["", *NAMESPACES]), only_red=st.booleans())
    def watch(self, back: int, namespace: str, only_red: bool) -> None:
        after = max(self.store.revision - back, self.first, self.compacted)
        watcher = self.store.watch(PODS, namespace, match=red if only_red else None, after=after)
        self.watches.append(Watch(watcher, after, namespace, only_red, []))

    @precondition(lambda self: self.watches)
    @rule(data=st.data())
    def read_one(self, data: st.DataObject) -> None:
        self.read(data.draw(st.sampled_from(self.watches)))

    def read(self, watch: Watch) -> None:
        wanted = self.expected(watch)

        async def take() -> None:
            async with asyncio.timeout(5):
                while len(watch.got) < len(wanted):
                    for event in await anext(watch.watcher):
                        item = event.item
                        watch.got.append(Seen(event.type, (item.namespace, item.name), item.revision))
                        assert b'"resourceVersion":"%d"' % item.revision in item.body

        self.runner.run(take())
        assert watch.got == wanted

    def expected(self, watch: Watch) -> list[Seen]:
        found: list[Seen] = []
        before: dict[tuple[str, str], str | None] = {}
        for write in self.log:
            old, new = before.get(write.place), write.colour
            before[write.place] = new
            if write.revision <= watch.after or watch.namespace not in ("", write.place[0]):
                continue
            was, now = (colour == "red" if watch.only_red else colour is not None for colour in (old, new))
            if now or was:
                kind = "DELETED" if not now else "MODIFIED" if was else "ADDED"
                found.append(Seen(kind, write.place, write.revision))
        return found

    @rule(back=st.integers(0, 6), limit=st.integers(1, 4), namespace=st.sampled_from(["", *NAMESPACES]))
    def list_in_pages(self, back: int, limit: int, namespace: str) -> None:
        at = max(self.store.revision - back, self.first)
        names, position = [], ""
        try:
            while True:
                page = self.store.list(PODS, namespace, limit=limit, after=position, at=at)
                names += [(item.namespace, item.name, item.revision) for item in page.items]
                position = page.next
                if not position:
                    break
        except Compacted:
            assert back > 4 or at < self.started_at  # more than it remembers, or before it was there
            return
        state = self.state(at)
        chosen = [(*place, write.revision) for place, write in state.items() if namespace in ("", place[0])]
        assert names == sorted(chosen, key=lambda entry: f"{entry[0]}/{entry[1]}")

    @rule()
    def compact(self) -> None:
        for watch in self.watches:
            self.read(watch)
        # one that has not begun to read may find that its past is gone
        self.watches = [watch for watch in self.watches if watch.got]
        self.runner.run(self.storage.compact(self.store.revision))
        self.compacted = self.store.revision

    @rule()
    def restart(self) -> None:
        for watch in self.watches:
            self.read(watch)
        self.watches.clear()
        self.runner.run(self.store.stop())
        self.start()

    @invariant()
    def reads_see_the_writes(self) -> None:
        state = self.state()
        for namespace in NAMESPACES:
            for name in NAMES:
                item = self.store.get(PODS, namespace, name)
                write = state.get((namespace, name))
                assert (item.revision if item else None) == (write.revision if write else None)
        assert self.store.revision == (self.log[-1].revision if self.log else self.first)


class SqliteStoreMachine(StoreMachine):
    """The same on a file."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        super().__init__()

    def open_storage(self) -> Storage:
        return SqliteStorage(Path(self.folder.name) / "store.db")

    def teardown(self) -> None:
        super().teardown()
        self.folder.cleanup()


def _settings(examples: int) -> settings:
    slow = [HealthCheck.too_slow]
    return settings(max_examples=examples, stateful_step_count=40, deadline=None, suppress_health_check=slow)


TestInMemory = StoreMachine.TestCase
TestInMemory.settings = _settings(100)
TestInSqlite = SqliteStoreMachine.TestCase
TestInSqlite.settings = _settings(20)
