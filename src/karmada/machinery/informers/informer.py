"""A collection, locally: read it, index it, handle its changes.

Reading before the first load raises `NotSynced`: a cache that has not synced knows nothing, least of all that something
is absent. Handlers are plain functions that get batches of real differences; they must not block (they enqueue keys).
A handler that fails is logged and does not disturb the others. A handler added late first gets what is already there.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable
from random import Random
from typing import Generic, TypeVar

from karmada.machinery.clock import REAL, Clock
from karmada.machinery.codec import BYTES, Codec
from karmada.machinery.informers.cache import Cache, Change, IndexFunction, Item, Key, Room
from karmada.machinery.informers.reflector import Reflector
from karmada.machinery.resource import EVERYTHING, Resource, Scope
from karmada.machinery.throttle import ThrottledLog
from karmada.machinery.transport import GroupVersionResource, Transport

T = TypeVar("T")
log = logging.getLogger(__name__)

Handler = Callable[[list[Change[T]]], None]
PATIENCE = 5.0
"""Seconds that a first load is waited for."""


class NotSynced(RuntimeError):
    """A cache was read before its first load: await `synced()` first."""


class Informer(Generic[T]):
    """One collection (or a part of it) followed by one task."""

    def __init__(
        self,
        transport: Transport,
        type_: GroupVersionResource,
        codec: Codec[T],
        scope: Scope = EVERYTHING,
        *,
        project: Callable[[bytes], bytes] | None = None,
        clock: Clock = REAL,
        random: Random | None = None,
        timeout: float = 60.0,
        room: Room | None = None,
    ) -> None:
        self.type = type_
        self.scope = scope
        self.codec = codec
        self._cache = Cache(codec, project, room)
        self._log = ThrottledLog(log, clock.monotonic)
        self._handlers: list[Handler[T]] = []
        self._load_handlers: list[Callable[[], None]] = []
        self._synced = asyncio.Event()
        self._readable: Cache[T] | None = None
        """The cache, once its first load is complete."""
        encoded = Resource(transport, type_, BYTES, timeout=timeout)
        self.reflector = Reflector(
            encoded, scope, self._cache, self._deliver, self._loaded, clock, random or clock.random()
        )

    async def run(self) -> None:
        """Follow the collection until cancelled; run exactly once, by whoever owns the informer."""
        try:
            await self.reflector.run()
        finally:
            self._cache.close()

    @property
    def has_synced(self) -> bool:
        """Whether the first load is complete and every handler has seen it."""
        return self._synced.is_set()

    async def synced(self) -> None:
        """Wait for the first load."""
        await self._synced.wait()

    async def is_loaded(self, patience: float = PATIENCE) -> bool:
        """Whether the first load is complete; waits a while for it, unless it is known to fail. For those who have
        others to look after and another way to know."""
        if not self.has_synced and self.reflector.failure is None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await self.synced()
        return self.has_synced

    def add_index(self, name: str, function: IndexFunction[T]) -> None:
        """Keep an index for `indexed`."""
        self._cache.add_index(name, function)

    def add_handler(self, handler: Handler[T], *, replay: bool = True) -> None:
        """Register a handler of every change; it is called at once with what is there already, unless it knows that."""
        self._handlers.append(handler)
        if replay and self._cache.items:
            self._call(handler, [Change(None, item, True) for item in self._cache.items.values()])

    def add_load_handler(self, handler: Callable[[], None]) -> None:
        """Register a handler of every complete load: what came and went since the one before shows as no change."""
        self._load_handlers.append(handler)

    def remove_handler(self, handler: Handler[T]) -> None:
        """Unregister a handler."""
        self._handlers.remove(handler)

    def get(self, name: str, namespace: str = "") -> T | None:
        """The object, or None when the synced cache has none."""
        item = (self._readable or self._read()).items.get(Key(namespace, name))
        return None if item is None else item.value

    def item(self, key: Key) -> Item[T] | None:
        """The object with its encoded form."""
        return (self._readable or self._read()).items.get(key)

    def values(self, namespace: str = "") -> list[T]:
        """All objects, or those of a namespace."""
        return [item.value for item in self.all_items(namespace)]

    def all_items(self, namespace: str = "") -> list[Item[T]]:
        """All objects with their encoded form, or those of a namespace."""
        cache = self._read()
        return list((cache.namespace(namespace) if namespace else cache.items).values())

    def indexed(self, index: str, value: str) -> list[T]:
        """The objects with an index value."""
        return [item.value for item in self.indexed_items(index, value)]

    def indexed_items(self, index: str, value: str) -> list[Item[T]]:
        """The objects with an index value, with their encoded form."""
        return self._read().indexed(index, value)

    def index_values(self, index: str) -> Iterable[str]:
        """All values of an index."""
        return self._read().index_values(index)

    def __len__(self) -> int:
        return len(self._read().items)

    def _read(self) -> Cache[T]:
        if self._readable is None:
            raise NotSynced(f"{self.type.resource} has not synced yet")
        return self._readable

    def _loaded(self) -> None:
        self._readable = self._cache
        self._synced.set()
        for handler in tuple(self._load_handlers):
            try:
                handler()
            except Exception as error:
                cause = ("load", type(error))
                self._log.warning(cause, "a handler of loads of %s failed", self.type.resource, trace=error)

    def _deliver(self, changes: list[Change[T]]) -> None:
        for handler in tuple(self._handlers):
            self._call(handler, changes)

    def _call(self, handler: Handler[T], changes: list[Change[T]]) -> None:
        try:
            handler(changes)
        except Exception as error:
            text = "a handler of %s failed on %d changes"
            self._log.warning((type(error),), text, self.type.resource, len(changes), trace=error)
            if len(changes) > 1:
                # The rest of the batch must not be lost with the one that failed.
                for change in changes:
                    self._call(handler, [change])
