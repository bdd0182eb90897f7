"""Keeps a cache in step with a collection: load once, follow changes, resume where the connection broke.

- A broken or ended watch is resumed from the last revision; nobody above notices.
- A cache that was filled from a store begins with a watch; a server that does not know its revision is loaded.
- A compacted revision (410) or an internal failure means loading again; the cache then yields only real differences.
- The load is a streaming list where the server has it, paged otherwise. A load older than what was already seen is
  refused: a replica that lags catches up soon. One that does not was restored from a backup, and is believed.
- Every failure is followed by a growing pause; it shrinks back once a watch has proved to work.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from random import Random
from typing import Generic, TypeVar

import msgspec

from karmada.machinery.backoff import Backoff, BackoffPolicy
from karmada.machinery.clock import Clock
from karmada.machinery.codec import reading
from karmada.machinery.errors import ApiError, BadRequest, Gone, Invalid, Timeout, Unavailable
from karmada.machinery.informers.cache import Cache, Change, Item, Key, number
from karmada.machinery.limits import SLICE
from karmada.machinery.resource import PAGE_SIZE, Resource, Scope, check_progress
from karmada.machinery.throttle import ThrottledLog
from karmada.machinery.transport import EventType, WatchEvent
from karmada.machinery.workqueue.initial_load import load_turns

T = TypeVar("T")
log = logging.getLogger(__name__)

PAUSES = BackoffPolicy(initial=0.2, maximum=30.0, jitter=1.0)
WATCH_SECONDS = 300
"""Servers are asked to end a watch after one to two times this long, so that connections spread after a failure."""
FIRST_TURN = 25
"""Objects of a member's first load that are read before others get their turn: about a millisecond of work. A change on
its way to three members passes the loop some sixty times, and large members load at the same time."""
LAG = 60.0
"""How long a server may answer with less than was seen before it counts as restored from a backup."""
SILENCE = 60.0
"""How long a watch may overrun what the server was asked for before the connection counts as dead."""


class _BookmarkMeta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class _Bookmark(msgspec.Struct, frozen=True, gc=False):
    metadata: _BookmarkMeta


_bookmark = msgspec.json.Decoder(_Bookmark)


class Reflector(Generic[T]):
    """Runs until cancelled; reports through `deliver` and `loaded`."""

    def __init__(
        self,
        resource: Resource[bytes],
        scope: Scope,
        cache: Cache[T],
        deliver: Callable[[list[Change[T]]], None],
        loaded: Callable[[], None],
        clock: Clock,
        random: Random,
    ) -> None:
        self._resource = resource
        self._scope = scope
        self._cache = cache
        self._deliver = deliver
        self._loaded = loaded
        self._clock = clock
        self._random = random
        self._backoff = Backoff(PAUSES, random)
        self._log = ThrottledLog(log, clock.monotonic)
        self._first = True
        self._streaming = True
        self._behind_since: float | None = None
        """Since when the server has been answering with less than was seen before."""
        self.loads = 0
        self.failure: Exception | None = None
        """Why the collection cannot be followed right now; None when it is."""

    async def run(self) -> None:
        """Load and follow for ever."""
        while True:
            opened = self._clock.monotonic()
            try:
                if self._cache.resource_version:
                    await self._follow()
                elif self._streaming:
                    await self._load_streaming()
                else:
                    await self._load_pages()
                    continue
            except Gone as error:
                self._failed(error)
                self._cache.resource_version = ""
            except ApiError as error:
                self._failed(error)
                if _is_future(error):
                    self._cache.resource_version = ""
            except Exception as error:
                name = self._resource.type.resource
                self._log.warning((type(error),), "following %s failed; loading it again", name, trace=error)
                self._failed(error)
                self._cache.resource_version = ""
            else:
                if self._clock.monotonic() - opened >= 1:
                    self._backoff.reset()
                    continue
            await self._clock.sleep(self._backoff.next())

    def _failed(self, error: Exception) -> None:
        if type(error) is not type(self.failure):
            self._log.info((type(error), False), "cannot follow %s: %s", self._resource.type.resource, error)
        self.failure = error

    async def _load_pages(self) -> None:
        items: list[Item[T]] = []
        start, limit, size = "", PAGE_SIZE, 0
        for pages in count():
            check_progress(pages, len(items))
            try:
                page = await self._resource.page(self._scope, limit=limit, start=start)
            except Gone:
                if not start:
                    raise
                items, start, limit, size = [], "", 0, 0
                continue
            for begin in range(0, len(page.items), SLICE):
                if begin:
                    await asyncio.sleep(0)
                read = [self._cache.read(body) for body in page.items[begin : begin + SLICE]]
                size += sum(item.cost for item in read)
                self._cache.check_load(size)
                items += read
            start = page.next
            if not start:
                break
        await self._take_over(items, page.resource_version)

    async def _load_streaming(self) -> None:
        params = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        patience = self._resource.timeout
        items: dict[Key, Item[T]] = {}
        size = 0
        try:
            async with self._watching(params, patience) as (batches, deadline):
                async for batch in batches:
                    if self._cache.resource_version:
                        self._apply(batch)
                        continue
                    deadline.reschedule(asyncio.get_running_loop().time() + patience)
                    for position, event in enumerate(batch):
                        if position and not position % FIRST_TURN and not self._cache.is_trusted:
                            await load_turns().next()
                        if event.type is not EventType.BOOKMARK:
                            size += _collect(items, self._cache.read(event.object, event.which, event.held), event.type)
                            self._cache.check_load(size)
                        elif (end := _end_of_load(event)) is not None:
                            await self._take_over(list(items.values()), end)
                            items.clear()
                            deadline.reschedule(asyncio.get_running_loop().time() + 2 * WATCH_SECONDS + SILENCE)
                            self._apply(batch[position + 1 :])
                            break
        except (BadRequest, Invalid, Timeout):
            # The server refuses streaming lists, or took the request for a plain watch that never says where it is.
            if self._cache.resource_version:
                raise
            self._streaming = False
            await self._load_pages()
            await self._follow()

    async def _take_over(self, items: list[Item[T]], resource_version: str) -> None:
        self._check_age(number(resource_version))
        for step, changes in enumerate(self._cache.replace(items, resource_version, initial=self._first)):
            if step:
                await asyncio.sleep(0)
            if changes:
                self._deliver(changes)
        self._first = False
        self.failure = None
        self.loads += 1
        self._loaded()

    def _check_age(self, revision: int) -> None:
        """Refuse a load that is older than what was seen, unless the server insists."""
        now, seen = self._clock.monotonic(), self._cache.revision
        if revision and revision < seen:
            if self._behind_since is None:
                self._behind_since = now
            if now - self._behind_since < LAG:
                raise Unavailable(f"the server answered with revision {revision}, {seen} was seen before")
            log.warning("%s went back from revision %d to %d", self._resource.type.resource, seen, revision)
            self._cache.revision = 0
        self._behind_since = None

    async def _follow(self) -> None:
        params = {"resourceVersion": self._cache.resource_version}
        received = False
        async with self._watching(params, 2 * WATCH_SECONDS + SILENCE) as (batches, _):
            if self._first:  # The cache was filled from a store, and the server goes on from there.
                self._first = False
                self._loaded()
            async for batch in batches:
                received = True
                self._apply(batch)
        if not received:
            await self._ask_how_far()

    async def _ask_how_far(self) -> None:
        """A watch ended without as much as a bookmark. Servers accept one from a revision that they have not reached,
        and stay silent until they have: one that was restored from a backup, perhaps for weeks."""
        page = await self._resource.page(self._scope, limit=1)
        if number(page.resource_version) < self._cache.revision:
            self._cache.resource_version = ""

    def _apply(self, batch: list[WatchEvent]) -> None:
        changes, error = self._cache.apply(batch)
        if changes:
            self._deliver(changes)
        if error is not None:
            raise error
        self.failure = None
        self._backoff.reset()

    @asynccontextmanager
    async def _watching(
        self, params: dict[str, str], patience: float
    ) -> AsyncIterator[tuple[AsyncIterator[list[WatchEvent]], asyncio.Timeout]]:
        """An open watch with a deadline: a connection that lasts longer than asked for is dead."""
        seconds = WATCH_SECONDS + self._random.randrange(WATCH_SECONDS)
        params |= {"allowWatchBookmarks": "true", "timeoutSeconds": str(seconds)}
        try:
            async with asyncio.timeout(patience) as deadline, self._resource.open_watch(self._scope, params) as stream:
                yield stream, deadline
        except TimeoutError:
            raise Timeout(f"the watch of {self._resource.type.resource} went silent") from None


def _is_future(error: ApiError) -> bool:
    """Whether a server has not come as far as it is asked about: it lags, or was restored from a backup."""
    return any(cause.get("reason") == "ResourceVersionTooLarge" for cause in error.causes)


def _end_of_load(bookmark: WatchEvent) -> str | None:
    """The revision of the bookmark that ends the initial events; None for any other bookmark."""
    metadata = reading(_bookmark.decode, bookmark.object).metadata
    ends = (metadata.annotations or {}).get("k8s.io/initial-events-end") == "true"
    return metadata.resource_version if ends else None


def _collect(items: dict[Key, Item[T]], item: Item[T], kind: EventType) -> int:
    """Take over an event of a load; by how much the load grew."""
    before = items.pop(item.key, None)
    grown = -before.cost if before is not None else 0
    if kind is not EventType.DELETED:
        items[item.key] = item
        grown += item.cost
    return grown
