"""Clients of a storage, through a watch cache as an API server has it: writers, readers and watchers.

They write down what they ask and what is answered. All of them outlive the store: after a crash they go on with the
next one, and watchers resume where they were.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from functools import partial
from random import Random

from karmada.apiserver.storage.base import Compacted, Mismatch, StorageFailed
from karmada.apiserver.watchcache.cache import WatchCache
from karmada.apiserver.watchcache.keys import key_of, prefix_of
from karmada.apiserver.watchcache.model import NO_INDEX, Index, Item, StoreEvent
from karmada.apiserver.watchcache.watcher import TooSlow, Watcher
from karmada.machinery.transport import EventType
from karmada.testing.histories.record import KIND, History, Outcome, Read, Seen, Stream, Write, has_color, value

NAMESPACES = ("a", "b")
NAMES = ("x", "y", "z")
COLORS = ("red", "blue")
SIZES = (0, 0, 0, 100, 3_000, 20_000)

Sleep = Callable[[float], Awaitable[None]]


class Client(ABC):
    """What all of them have."""

    def __init__(self, name: str, history: History, random: Random, sleep: Sleep, shared: bool) -> None:
        """`shared` says that other servers write to the storage: a failed write may have taken effect."""
        self.name = name
        self._history = history
        self._random = random
        self._sleep = sleep
        self._shared = shared
        self._count = 0

    @abstractmethod
    async def run(self, store: WatchCache) -> None:
        """Until cancelled."""

    async def _pause(self) -> None:
        await self._sleep(self._random.choice((0, 0, 0.001, 0.01, 0.5, 5)) * self._random.random())

    async def _current(self, store: WatchCache) -> bool:
        """Make sure to see what others wrote before; whether that worked."""
        if self._shared:
            try:
                await store.sync()
            except StorageFailed:
                return False
        return True


class Writer(Client):
    """Creates, replaces and deletes objects, mostly those it knows the state of."""

    async def run(self, store: WatchCache) -> None:
        """Until cancelled."""
        while True:
            await self._pause()
            await self.write(store)

    async def write(self, store: WatchCache) -> None:
        """One attempt."""
        random, history = self._random, self._history
        namespace, name = random.choice(NAMESPACES), random.choice(NAMES)
        item = store.get(KIND, namespace, name)
        expected = item.revision if item else 0
        if random.random() < 0.1:
            expected = random.choice((0, max(0, expected - 1), store.revision))
        deletes = expected > 0 and random.random() < 0.25
        self._count += 1
        text = f"{self.name}-{self._count}"
        color = random.choice(COLORS)
        made = value(text, color, random.choice(SIZES))
        write = Write(key_of(KIND, namespace, name), text, expected, deletes, history.tick())
        history.writes.append(write)
        try:
            if deletes:
                write.revision = await store.delete(KIND, namespace, name, made, expected)
            else:
                labels = Index("", {"color": color}, (), {})
                write.revision = (await store.update(KIND, namespace, name, made, labels, expected)).revision
            write.outcome = Outcome.DONE
        except Mismatch as conflict:
            write.outcome, write.revision = Outcome.CONFLICT, conflict.actual
        except StorageFailed:
            write.outcome = Outcome.UNKNOWN if self._shared else Outcome.FAILED
        write.end = history.tick()
        history.note(f"{self.name}: {write}")


class Reader(Client):
    """Gets and lists, whole and in pages, now and as of an older revision."""

    async def run(self, store: WatchCache) -> None:
        """Until cancelled."""
        while True:
            await self._pause()
            await self._random.choice((self.get, self.whole, self.pages, self.older))(store)

    async def get(self, store: WatchCache) -> None:
        """One object."""
        start = self._history.tick()
        fresh = await self._current(store)
        namespace, name = self._random.choice(NAMESPACES), self._random.choice(NAMES)
        item = store.get(KIND, namespace, name)
        self._found(key_of(KIND, namespace, name), start, store.revision, [item] if item else [], fresh)

    async def whole(self, store: WatchCache) -> None:
        """All objects."""
        start = self._history.tick()
        fresh = await self._current(store)
        page = store.list(KIND)
        self._found(prefix_of(KIND), start, page.revision, page.items, fresh)

    async def pages(self, store: WatchCache) -> None:
        """All objects of the first page's revision, with pauses in between."""
        start = self._history.tick()
        fresh = await self._current(store)
        page = store.list(KIND, limit=2)
        end, revision, items = self._history.tick(), page.revision, list(page.items)
        while page.next:
            await self._pause()
            try:
                page = store.list(KIND, limit=2, after=page.next, at=revision)
            except Compacted:
                return
            items += page.items
        self._found(prefix_of(KIND), start, revision, items, fresh, end)

    async def older(self, store: WatchCache) -> None:
        """All objects as of a revision that was seen, unless it is forgotten."""
        start = self._history.tick()
        revision = self._random.choice(self._history.commits[-12:] or [None])
        if revision is None or revision.revision > store.revision:
            return
        try:
            page = store.list(KIND, at=revision.revision)
        except Compacted:
            return
        self._found(prefix_of(KIND), start, revision.revision, page.items, False)

    def _found(
        self, prefix: str, start: int, revision: int, items: list[Item], fresh: bool, end: int | None = None
    ) -> None:
        found = {key_of(KIND, item.namespace, item.name): item.body for item in items}
        read = Read(prefix, start, end or self._history.tick(), revision, found, fresh)
        self._history.reads.append(read)
        if len(found) != len(items):
            self._history.problems.append(f"{read}: an object twice")


class Observer(Client):
    """Watches, stops, and resumes after the last event or bookmark it saw; begins anew when the server asks for it."""

    def __init__(self, name: str, history: History, random: Random, sleep: Sleep, shared: bool) -> None:
        super().__init__(name, history, random, sleep, shared)
        self._resume = 0
        self.stream: Stream | None = None
        """What it reads just now."""
        self.bookmarks = False
        self.draining = False
        """It is to read on for ever."""

    async def run(self, store: WatchCache) -> None:
        """Until cancelled."""
        self.stream, self.draining = None, False
        while True:
            if not self.draining:
                await self._pause()
            try:
                with self._watch(store) as watcher:
                    await self._follow(watcher)
            except Compacted as compacted:
                if not self._shared and not self._begins < compacted.oldest <= self._history.compacted:
                    self._history.problems.append(f"{self.stream}: refused, as {compacted.oldest} is compacted")
                self._resume = 0
            except TooSlow:
                self._history.note(f"{self.name}: too slow")
            except StorageFailed as error:
                self._failed(error)
                await self._sleep(1)

    def _failed(self, error: StorageFailed) -> None:
        self._history.note(f"{self.name}: {error}")
        if not self._shared:
            self._history.problems.append(f"{self.stream}: cannot go on: {error}")

    @property
    def _begins(self) -> int:
        return self.stream.after if self.stream else 0

    def _watch(self, store: WatchCache) -> Watcher:
        random = self._random
        if random.random() < 0.2:  # where compaction draws the line
            self._resume = max(0, self._history.compacted - random.choice((0, 0, 0, 1)))
        if self._resume > store.revision:  # a server that is behind refuses such a watch
            self._resume = 0
        initial = not self._resume and random.random() < 0.5
        namespace, color = random.choice(("", *NAMESPACES)), random.choice((None, *COLORS))
        prefix = prefix_of(KIND) + (f"{namespace}/" if namespace else "")
        self.bookmarks = random.random() < 0.5
        self.stream = Stream(prefix, color, self._resume or store.revision, initial)
        self._history.note(f"{self.name}: {self.stream}")
        watcher = store.watch(
            KIND,
            namespace,
            match=partial(has_color, color) if color else None,
            after=self._resume,
            initial=initial,
            bookmarks=self.bookmarks,
            initial_end=initial and self.bookmarks,
        )
        self._history.streams.append(self.stream)
        return watcher

    async def _follow(self, watcher: Watcher) -> None:
        async for batch in watcher:
            for event in batch:
                self._take(event)
            if self.draining:
                continue
            await self._pause()
            if self._random.random() < 0.2:
                return

    def _take(self, event: StoreEvent) -> None:
        assert self.stream is not None
        item = event.item
        is_mark = event.type is EventType.BOOKMARK
        key = "" if is_mark else key_of(KIND, item.namespace, item.name)
        self.stream.events.append(Seen(event.type, key, item.revision, item.body))
        if not is_mark and item.index is NO_INDEX:
            self._history.problems.append(f"{self.stream}: {key}@{item.revision} has no labels")
        if not self.stream.initial or is_mark or item.revision > self.stream.after:
            self._resume = item.revision
