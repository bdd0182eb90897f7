"""`EtcdStorage`: objects in an etcd, which several API servers may share.

A write is a transaction on the key's mod-revision. Everything visible comes from one watch, own writes included:
a write is answered when that watch has delivered it. Keys live under a prefix. An object's revision is the
mod-revision and cannot be inside the stored value, so values are stored with the place of the cut in front.

Differences that etcd makes: the final state of a deleted object is its previous one; and when the connection
breaks during a write, its outcome is unknown: it may become visible later although it failed here.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence

from karmada.apiserver.storage.base import (
    Change,
    Compacted,
    Listener,
    Mismatch,
    Outcome,
    Record,
    Snapshot,
    StorageFailed,
    Value,
    Write,
    restamp,
)
from karmada.apiserver.storage.delta import whole
from karmada.apiserver.storage.etcd.client import Batch, EtcdClient, Event, KeyValue, Span, Tls, WatchStream

_LOG = logging.getLogger(__name__)
_PAGE = 500
_VISIBLE_WITHIN = 10.0
_PROGRESS_SINCE = ((3, 4, 31), (3, 5, 13), (3, 6, 0))
"""From these versions of each line on, a progress answer never overtakes events."""


class EtcdStorage:
    """See `storage.base` for the contract."""

    def __init__(self, endpoints: tuple[str, ...], prefix: str = "/karmada", tls: Tls | None = None) -> None:
        """Endpoints are host:port; the prefix must not be that of another program's objects."""
        self._endpoints = endpoints
        self._prefix = prefix.encode()
        self._tls = tls
        self._tick = self._prefix + b"/\x00tick"
        """A key without meaning; writing it makes a revision that the watch must reach."""
        self._received = 0
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._mine: dict[bytes, list[tuple[bytes, object]]] = {}
        """Values being written by this process, and their contexts, by key."""
        self._stream: WatchStream | None = None
        self._trusts_progress = False
        self._follower: asyncio.Task[None] | None = None
        self._client: EtcdClient | None = None

    async def open(self, listener: Listener) -> Snapshot:
        """Connect, read everything, follow."""
        self._client = EtcdClient(self._endpoints, self._tls)
        try:
            self._trusts_progress = trusts_progress(await self._client.version())
            snapshot = await self._snapshot(self._client)
        except BaseException:
            await self._client.close()
            raise
        self._received = snapshot.revision
        self._follower = asyncio.create_task(self._follow(self._client, listener))
        self._follower.add_done_callback(_report)
        return snapshot

    async def put(self, key: str, value: Value, expected: int, context: object = None) -> Record:
        """A transaction."""
        client = self._running()
        stored, name = b"%d\n%b%b" % (len(value.head), value.head, value.tail), self._prefix + key.encode()
        own = (stored, context)
        self._mine.setdefault(name, []).append(own)
        try:
            swap = await client.put(name, stored, expected)
            if not swap.done:
                await self._show(swap.actual)
                raise Mismatch(key, expected, swap.actual)
            await self._visible(swap.revision)
        finally:
            writes = self._mine[name]
            writes.remove(own)
            if not writes:
                del self._mine[name]
        return Record(key, value.at(swap.revision), swap.revision)

    async def delete(self, key: str, last: Value, expected: int, context: object = None) -> int:
        """A transaction; `last` is not kept."""
        return await self._delete(key, expected)

    async def _delete(self, key: str, expected: int) -> int:
        swap = await self._running().delete(self._prefix + key.encode(), expected)
        if not swap.done:
            await self._show(swap.actual)
            raise Mismatch(key, expected, swap.actual)
        await self._visible(swap.revision)
        return swap.revision

    async def write_all(self, writes: Sequence[Write]) -> list[Outcome]:
        """A transaction for each, side by side."""
        return list(await asyncio.gather(*map(self._one, writes)))

    async def _one(self, write: Write) -> Outcome:
        key, value, expected, context = write
        try:
            await (self._delete(key, expected) if value is None else self.put(key, value, expected, context))
        except (Mismatch, StorageFailed) as error:
            return error
        return None

    async def history(self, prefix: str, after: int, until: int) -> list[Change]:
        """A second watch, up to a write of our own that is certainly later."""
        if after >= until:
            return []
        client = self._running()
        await client.touch(self._tick)
        wanted = self._prefix + prefix.encode()
        changes: list[Change] = []
        async with _deadline(), client.watch(self._span(), after, previous=True) as stream:
            while len(changes) < _PAGE:
                batch = await stream.read()
                events = [event for event in batch.events if event.revision <= until and event.key.startswith(wanted)]
                changes += [change for event in events if (change := self._change(with_past(event))) is not None]
                if batch.events and batch.revision >= until:
                    break
        return changes

    async def sync(self) -> None:
        """Ask etcd for its latest revision, and wait until the watch has come that far."""
        client = self._running()
        if not self._trusts_progress:
            await self._visible(await client.touch(self._tick))
            return
        target = await client.revision()
        async with _deadline():
            while self._received < target:
                with contextlib.suppress(StorageFailed):
                    if self._stream is not None:
                        await self._stream.ask_progress()
                with contextlib.suppress(StorageFailed):
                    await self._visible(target, within=0.1)

    async def check(self) -> None:
        """Ask a majority."""
        await self._running().revision()

    async def compact(self, revision: int) -> None:
        """For everyone who uses this etcd."""
        await self._running().compact(revision)

    async def close(self) -> None:
        """Stop following, hang up."""
        client, self._client = self._client, None
        if client is None:
            return
        if self._follower is not None:
            self._follower.cancel()
            await asyncio.wait([self._follower])
        await client.close()

    def _running(self) -> EtcdClient:
        if self._client is None or self._follower is None or self._follower.done():
            raise StorageFailed("the connection to etcd is closed")
        return self._client

    def _span(self) -> Span:
        return Span(self._prefix + b"/", self._prefix + b"0")

    async def _snapshot(self, client: EtcdClient) -> Snapshot:
        span = self._span()
        records: list[Record] = []
        revision = 0
        while True:
            found = await client.range(span, _PAGE, revision)
            revision = revision or found.revision
            records += [self._record(item) for item in found.items if item.key != self._tick]
            if not found.more:
                return Snapshot(records, revision)
            span = span._replace(start=found.items[-1].key + b"\x00")

    def _record(self, item: KeyValue) -> Record:
        key = item.key[len(self._prefix) :].decode()
        return Record(key, _stamped(item.value, item.revision), item.revision)

    def _change(self, event: Event) -> Change | None:
        """What the listener is called with for an event; nothing for ticks."""
        if event.key == self._tick:
            return None
        previous = self._record(event.previous) if event.previous else None
        key, revision = event.key[len(self._prefix) :].decode(), event.revision
        if event.value is None:
            last = restamp(whole(previous.value), previous.revision, revision) if previous else None
            return Change(key, revision, None, last, previous)
        context = next((context for stored, context in self._mine.get(event.key, ()) if stored == event.value), None)
        return Change(key, revision, _stamped(event.value, revision), None, previous, context)

    async def _follow(self, client: EtcdClient, listener: Listener) -> None:
        """Deliver changes until cancelled, over broken connections and compactions."""
        delay = 0.05
        while True:
            try:
                async with client.watch(self._span(), self._received) as stream:
                    self._stream, delay = stream, 0.05
                    while True:
                        self._deliver(await stream.read(), listener)
            except Compacted:
                try:
                    snapshot = await self._snapshot(client)
                except StorageFailed as error:
                    _LOG.warning("cannot read etcd again after a compaction, trying on: %s", error)
                else:
                    _LOG.warning("changes in etcd were compacted before they were seen; everything was read again")
                    listener.replaced(snapshot)
                    self._advance(snapshot.revision)
            except StorageFailed as error:
                _LOG.warning("lost the watch on etcd, trying again in %.2f s: %s", delay, error)
            finally:
                self._stream = None
            await asyncio.sleep(delay)
            delay = min(delay * 2, 5.0)

    def _deliver(self, batch: Batch, listener: Listener) -> None:
        if not batch.events and not self._trusts_progress:
            return
        changes = [change for event in batch.events if (change := self._change(event)) is not None]
        revision = max(batch.revision, self._received)
        listener.committed(changes, revision)
        self._advance(revision)

    def _advance(self, revision: int) -> None:
        self._received = revision
        for wanted, waiter in self._waiting:
            if wanted <= revision and not waiter.done():
                waiter.set_result(None)

    async def _visible(self, revision: int, within: float = _VISIBLE_WITHIN) -> None:
        """Wait until the listener was called with a revision."""
        if revision <= self._received:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (revision, waiter)
        self._waiting.append(entry)
        try:
            async with asyncio.timeout(within):
                await waiter
        except TimeoutError:
            raise StorageFailed(f"etcd has committed revision {revision}, but its watch does not deliver it") from None
        finally:
            self._waiting.remove(entry)

    async def _show(self, actual: int) -> None:
        """A conflict is answered when its author can see what it conflicts with, lest it tries again blindly."""
        if actual:
            await self._visible(actual)
        else:
            await self.sync()


def trusts_progress(version: tuple[int, ...]) -> bool:
    """Whether a progress answer of this etcd means that all earlier events have been sent."""
    same_line = (fixed for fixed in _PROGRESS_SINCE if fixed[:2] == version[:2])
    return version >= next(same_line, _PROGRESS_SINCE[-1])


@contextlib.asynccontextmanager
async def _deadline() -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(_VISIBLE_WITHIN):
            yield
    except TimeoutError:
        raise StorageFailed(f"etcd did not answer within {_VISIBLE_WITHIN:.0f} s") from None


def _report(follower: asyncio.Task[None]) -> None:
    if not follower.cancelled() and follower.exception() is not None:
        _LOG.error("following etcd has failed; writes are refused from now on", exc_info=follower.exception())


def with_past(event: Event) -> Event:
    """The event, if it has the state before it: a compaction meanwhile may have taken that away (`Compacted`)."""
    if event.previous is None and not event.creates:
        raise Compacted(event.revision)
    return event


def _stamped(stored: bytes, revision: int) -> bytes:
    length, _, body = stored.partition(b"\n")
    cut = int(length)
    return b"%b%d%b" % (body[:cut], revision, body[cut:])
