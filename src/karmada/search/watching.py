"""WATCH over all members: their watches merged into one that survives the coming and going of clusters.

Every event carries a composite resourceVersion from which the watch can be resumed without losing one:
- The version of a cluster moves with its events, in their order.
- A cluster that joins shows its objects as ADDED, one that leaves shows them as DELETED. Until the last of them is
  sent, its version is one that cannot be resumed from.
- Whoever resumes in between, or with the version of a cluster that is gone, gets 410 and lists again, as rows may have
  been missed.
- A cluster that comes back begins when everything from before is sent.
"""

import asyncio
import random
from collections.abc import Coroutine

import orjson

from karmada.apiserver.failures import gone
from karmada.apiserver.requests import reading as forms
from karmada.apiserver.requests.model import Call, Streamed
from karmada.apiserver.requests.negotiation import Form
from karmada.apiserver.requests.options import ListOptions, list_options
from karmada.apiserver.requests.selection import Selection, select
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.storage.base import Compacted
from karmada.apiserver.watchcache import Item, Match, StoreEvent, TooSlow, Watcher
from karmada.apiserver.watchcache.model import bookmark
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.transport import EventType
from karmada.search import tables
from karmada.search.access import Ask
from karmada.search.caches import MirrorSubscriptions
from karmada.search.mirror import Mirror
from karmada.search.reading import Rewrite, both, caught_up, restamped
from karmada.search.resource_versions import ResourceVersions
from karmada.search.sources import Source, SourceFinder

SECONDS = (1800, 3600)
QUEUE = 64
"""Batches that wait for the client before the members' watches are held up; a watch cache cuts off who is too slow."""
_INITIAL_END = {"k8s.io/initial-events-end": "true"}
_PARTIAL = "partial"
"""The version of a cluster whose objects are being shown as ADDED or DELETED, as it joins or leaves."""
_LEFT = bookmark(0)
"""Follows the last event of a cluster that left."""


async def watch(
    finder: SourceFinder, caches: MirrorSubscriptions, call: Call, ask: Ask, rewrite: Rewrite | None = None
) -> Streamed:
    """Open a watch; refusals come before any event."""
    options = list_options(dict(call.params), watch=True)
    selection = await select(call.served, options.label_selector, options.field_selector)
    begin = ResourceVersions.parse(options.resource_version)
    sources = await finder.sources(ask)
    refusal = sources.refusal(ask)
    if refusal is not None:
        raise refusal
    known = {source.mirror.cluster for source in sources.found}
    for cluster, version in (begin.versions or {}).items():
        if version and cluster not in known:
            raise gone(f"too old resource version: cluster {cluster} is no longer part of the answer")
    begin.keep(known)
    call.warnings += sources.warnings()
    merged = _Merged(finder, caches, call, ask, options, selection, begin, rewrite)
    try:
        for source in sources.found:
            await merged.add(source)
    except BaseException:
        merged.close()
        raise
    return Streamed(200, merged, "application/json")


class _Merged:
    """One open watch."""

    def __init__(
        self,
        finder: SourceFinder,
        caches: MirrorSubscriptions,
        call: Call,
        ask: Ask,
        options: ListOptions,
        selection: Selection,
        begin: ResourceVersions,
        rewrite: Rewrite | None = None,
    ) -> None:
        self._finder = finder
        self._call = call
        self._ask = ask
        self._options = options
        self._selection = selection
        self._begin = begin
        self._rewrite = rewrite
        initial = options.send_initial_events
        self._initial = initial if initial is not None else not (begin.versions or {})
        self._versions = ResourceVersions(begin.versions)
        self._queue: asyncio.Queue[tuple[str, list[StoreEvent]] | Failure | None] = asyncio.Queue(QUEUE)
        self._tasks: set[asyncio.Task[None]] = set()
        self._watchers: set[Watcher] = set()
        self._watched: set[Mirror] = set()
        self._pumps: dict[str, asyncio.Task[None]] = {}
        """By cluster, the last one that was begun."""
        self._pending: set[str] = set()
        """Clusters whose initial objects have not all been sent."""
        self._first = True
        self._end_sent = not (initial and options.bookmarks)
        self._over = False
        self._unsubscribe = caches.subscribe(ask.type, self._joined)
        seconds = min(options.timeout_seconds or random.randint(*SECONDS), SECONDS[1])
        self._ending = asyncio.get_running_loop().call_later(seconds, self._stop)

    async def add(self, source: Source, *, joined: bool = False) -> None:
        """Watch a member as well: from the version the client has of it, or all of it."""
        mirror = source.mirror
        if mirror in self._watched or self._over:
            return
        self._watched.add(mirror)
        before = self._pumps.get(mirror.cluster)
        if before is not None:
            await asyncio.wait([before])
        version = self._begin.get(mirror.cluster) if not joined else ""
        fresh = joined or self._initial or version in ("", "0")
        if not fresh:
            await caught_up(mirror, version)
        match = both(self._selection.match, source.match)
        name = self._ask.name or self._selection.name
        watcher = mirror.store.watch(
            mirror.key,
            self._ask.namespace,
            name,
            match,
            0 if fresh else int(version),
            fresh,
            self._options.bookmarks,
            fresh,
        )
        if mirror.left:
            watcher.finish()
        self._watchers.add(watcher)
        if fresh:
            self._pending.add(mirror.cluster)
        else:
            self._versions.set(mirror.cluster, version)
        self._pumps[mirror.cluster] = self._start(self._pump(mirror, watcher, match, name))

    def _joined(self, mirror: Mirror) -> None:
        self._start(self._join(mirror))

    async def _join(self, mirror: Mirror) -> None:
        for source in (await self._finder.sources(self._ask, [mirror])).found:
            await self.add(source, joined=True)

    async def _pump(self, mirror: Mirror, watcher: Watcher, match: Match | None, name: str) -> None:
        """Carry the events of one member to the client, until the member leaves."""
        with watcher:
            try:
                async for events in watcher:
                    await self._queue.put((mirror.cluster, events))
            except Compacted as error:
                await self._queue.put(gone(f"too old resource version of cluster {mirror.cluster} ({error.oldest})"))
                return
            except TooSlow as error:
                await self._queue.put(Failure(410, "Expired", f"too old resource version: {error}"))
                return
            finally:
                self._watchers.discard(watcher)
        self._watched.discard(mirror)
        left = mirror.store.list(mirror.key, self._ask.namespace, match).items
        events = [StoreEvent(EventType.DELETED, item, item) for item in left if not name or item.name == name]
        await self._queue.put((mirror.cluster, [*events, _LEFT]))

    def __aiter__(self) -> "_Merged":
        return self

    async def __anext__(self) -> bytes:
        """The next lines of the answer's body."""
        while not self._over:
            if not self._end_sent and not self._pending:
                return self._initial_end()
            batch = await self._queue.get()
            if isinstance(batch, Failure):
                self.close()
                return b'{"type":"ERROR","object":%b}\n' % orjson.dumps(batch.status())
            if batch is None:
                self.close()
            elif data := b"".join([self._line(batch[0], event) for event in batch[1]]):
                return data
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """The client is gone."""
        self.close()

    def close(self) -> None:
        """Stop watching the members."""
        if self._over:
            return
        self._over = True
        self._ending.cancel()
        self._unsubscribe()
        for watcher in tuple(self._watchers):
            watcher.close()
        for task in tuple(self._tasks):
            task.cancel()

    def _stop(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        self._start(self._queue.put(None))

    def _start(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            failure = error if isinstance(error, Failure) else Failure(500, "InternalError", "the watch failed")
            self._start(self._queue.put(failure))

    def _line(self, cluster: str, event: StoreEvent) -> bytes:
        item = event.item
        if event is _LEFT:
            self._versions.drop(cluster)
            self._pending.discard(cluster)
            return b""
        if event.type is EventType.BOOKMARK:
            self._versions.set(cluster, str(item.revision))
            if event.initial_end:
                self._pending.discard(cluster)
                return b""
            return self._bookmark() if self._options.bookmarks and self._end_sent else b""
        partial = event.previous is item or cluster in self._pending
        self._versions.set(cluster, _PARTIAL if partial else str(item.revision))
        return self._event(event.type, item)

    def _event(self, kind: EventType, item: Item) -> bytes:
        body = restamped(item, str(self._versions))
        if self._rewrite is not None:
            body = self._rewrite(body)
        form = self._call.view.form
        if form is not Form.OBJECT:
            body = self._formed(body)
        return b'{"type":"%b","object":%b}\n' % (kind.encode(), body)

    def _formed(self, body: bytes) -> bytes:
        obj: JSONObject = orjson.loads(body)
        if self._call.view.form is not Form.TABLE:
            return orjson.dumps(forms.partial(self._call, obj))
        shown: JSONObject = orjson.loads(tables.table(self._call, [obj], obj["metadata"]["resourceVersion"]))
        if not self._first:
            shown["columnDefinitions"] = None
        self._first = False
        return orjson.dumps(shown)

    def _initial_end(self) -> bytes:
        self._end_sent = True
        return self._bookmark(_INITIAL_END)

    def _bookmark(self, annotations: JSONObject | None = None) -> bytes:
        metadata: JSONObject = {"resourceVersion": str(self._versions)}
        if annotations:
            metadata["annotations"] = annotations
        served, form = self._call.served, self._call.view.form
        obj: JSONObject = {"kind": served.kind, "apiVersion": served.api_version, "metadata": metadata}
        if form is Form.TABLE:
            rows = [{"cells": [], "object": obj}] if annotations else []
            api_version = f"meta.k8s.io/{self._call.view.version}"
            obj = {"kind": "Table", "apiVersion": api_version, "metadata": metadata, "rows": rows}
        elif form is not Form.OBJECT:
            obj |= {"kind": "PartialObjectMetadata", "apiVersion": f"meta.k8s.io/{self._call.view.version}"}
        return b'{"type":"BOOKMARK","object":%b}\n' % orjson.dumps(obj)
