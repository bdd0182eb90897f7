"""What is special to etcd: several servers on one, and a server that goes away."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import pytest

from karmada.apiserver.storage.base import Compacted, Mismatch, StorageFailed, Value
from karmada.apiserver.storage.etcd import EtcdStorage, Tls
from karmada.apiserver.storage.etcd.client import EtcdClient, Event, KeyValue, Span, WatchStream
from karmada.apiserver.storage.etcd.storage import trusts_progress, with_past
from karmada.apiserver.watchcache import Index, WatchCache

pytestmark = pytest.mark.tools

Obj = Callable[..., Value]
PODS = ("", "pods")
NONE = Index("", {}, (), {})


def index(kind: tuple[str, str], body: bytes) -> Index:
    return Index("", {"text": body.decode().rpartition('text":"')[2].rstrip('"}')}, (), {})


@pytest.fixture
async def pair(etcd) -> AsyncIterator[tuple[WatchCache, WatchCache]]:
    """Two API servers' stores on one etcd."""
    stores = [WatchCache(EtcdStorage((etcd.endpoint,)), index) for _ in range(2)]
    for store in stores:
        await store.start()
    yield stores[0], stores[1]
    for store in stores:
        await store.stop()


@pytest.mark.parametrize(
    ("version", "trusted"),
    [
        ((3, 4, 23), False),
        ((3, 4, 31), True),
        ((3, 5, 1), False),
        ((3, 5, 13), True),
        ((3, 6, 0), True),
        ((3, 7, 0), True),
        ((3, 3, 99), False),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, tuple) else None,
)
def test_progress_is_trusted_only_where_it_cannot_overtake_events(version: tuple[int, ...], trusted: bool) -> None:
    assert trusts_progress(version) is trusted


PAST = KeyValue(b"k", b"v", 6)


@pytest.mark.parametrize(
    "event",
    [Event(b"k", 7, b"v", None, creates=True), Event(b"k", 7, b"v", PAST), Event(b"k", 7, None, PAST)],
    ids=["creation", "replacement", "deletion"],
)
def test_an_event_of_the_past_comes_with_the_state_before_it(event: Event) -> None:
    assert with_past(event) is event


@pytest.mark.parametrize("value", [b"v", None], ids=["replacement", "deletion"])
def test_an_event_whose_past_was_compacted_meanwhile_is_not_taken_for_a_creation(value: bytes | None) -> None:
    with pytest.raises(Compacted):
        with_past(Event(b"k", 7, value, None))


async def test_a_creation_is_distinguished_from_a_replacement_whose_past_is_unknown(etcd) -> None:
    client = EtcdClient((etcd.endpoint,))
    first = await client.put(b"/a", b"v", 0)
    await client.put(b"/a", b"w", first.revision)
    async with client.watch(Span(b"/a", b"/b"), 1) as stream:
        events = (await stream.read()).events
    await client.close()
    assert [(event.creates, event.previous) for event in events] == [(True, None), (False, None)]


class Finished:
    """A call that ended before it was used, as gRPC reports it."""

    async def read(self) -> None:
        raise asyncio.InvalidStateError("RPC already finished.")

    async def write(self, message: object) -> None:
        raise asyncio.InvalidStateError("RPC already finished.")


async def test_a_watch_that_ended_meanwhile_is_a_failure_that_can_be_got_over() -> None:
    stream = WatchStream(Finished(), lambda error: StorageFailed(str(error)))
    for use in (stream.read, stream.ask_progress):
        with pytest.raises(StorageFailed, match="has ended"):
            await use()


class Slow:
    """A call that is cancelled as a whole when somebody who writes to it is, as gRPC does it."""

    def __init__(self) -> None:
        self.cancelled = False
        self.written = asyncio.Event()

    async def write(self, message: object) -> None:
        try:
            await self.written.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise

    async def read(self) -> None:
        raise asyncio.CancelledError


async def test_whoever_gives_up_asking_how_far_a_watch_is_does_not_end_it() -> None:
    call = Slow()
    stream = WatchStream(call, lambda error: StorageFailed(str(error)))
    progress = asyncio.create_task(stream.ask_progress())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    progress.cancel()
    with pytest.raises(asyncio.CancelledError):
        await progress
    assert not call.cancelled
    call.written.set()


async def test_a_watch_that_is_cancelled_by_others_is_a_failure_that_can_be_got_over() -> None:
    stream = WatchStream(Slow(), lambda error: StorageFailed(str(error)))
    with pytest.raises(StorageFailed, match="was cancelled"):
        await stream.read()


async def test_servers_see_each_others_writes(pair: tuple[WatchCache, WatchCache], obj: Obj) -> None:
    here, there = pair
    with there.watch(PODS) as watcher:
        created = await here.create(PODS, "ns", "a", obj("1"), NONE)
        await there.sync()
        seen = there.get(PODS, "ns", "a")
        assert seen is not None
        assert (seen.body, seen.revision) == (created.body, created.revision)
        assert seen.index.labels == {"text": "1"}
        updated = await there.update(PODS, "ns", "a", obj("2"), NONE, created.revision)
        with pytest.raises(Mismatch):
            await here.update(PODS, "ns", "a", obj("3"), NONE, created.revision)
        mine = here.get(PODS, "ns", "a")
        assert mine is not None
        assert mine.revision == updated.revision
        gone = await here.delete(PODS, "ns", "a", obj("2"), updated.revision)
        found = []
        while len(found) < 3:
            found += await asyncio.wait_for(anext(watcher), 60)
    assert [(event.type, event.item.revision) for event in found] == [
        ("ADDED", created.revision),
        ("MODIFIED", updated.revision),
        ("DELETED", gone),
    ]
    assert found[2].item.body == obj("2").at(gone)


async def test_a_conflict_with_a_deletion_is_seen_by_its_author(pair: tuple[WatchCache, WatchCache], obj: Obj) -> None:
    here, there = pair
    created = await here.create(PODS, "ns", "a", obj(), NONE)
    await here.delete(PODS, "ns", "a", obj(), created.revision)
    with pytest.raises(Mismatch) as error:
        await there.update(PODS, "ns", "a", obj(), NONE, created.revision)
    assert error.value.actual == 0
    assert there.get(PODS, "ns", "a") is None


async def test_changes_survive_a_crash_of_etcd(etcd, obj: Obj, listener) -> None:
    storage = EtcdStorage((etcd.endpoint,))
    listener.revision = (await storage.open(listener)).revision
    first = await storage.put("/a", obj("1"), 0)
    etcd.kill()
    with pytest.raises(StorageFailed, match=f"etcd {etcd.endpoint}"):
        await storage.put("/b", obj(), 0)
    await asyncio.to_thread(etcd.start)
    other = EtcdStorage((etcd.endpoint,))
    await other.open(type(listener)())
    second = await other.put("/a", obj("2"), first.revision)
    await listener.until(second.revision)
    assert [(change.key, change.revision) for change in listener.changes if change.key == "/a"] == [
        ("/a", first.revision),
        ("/a", second.revision),
    ]
    assert listener.snapshots == []
    await storage.close()
    await other.close()


class Wire:
    """A TCP relay that can be cut."""

    def __init__(self, target: str) -> None:
        self._host, _, self._port = target.partition(":")
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.endpoint = ""

    async def join(self) -> None:
        port = int(self.endpoint.rpartition(":")[2] or 0)
        self._server = await asyncio.start_server(self._relay, "127.0.0.1", port)
        self.endpoint = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def cut(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.close()
        if self._tasks:
            await asyncio.wait(self._tasks)
        self._writers.clear()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to_reader, to_writer = await asyncio.open_connection(self._host, int(self._port))
        self._writers |= {writer, to_writer}
        for source, sink in ((reader, to_writer), (to_reader, writer)):
            task = asyncio.create_task(_pump(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
    sink.close()


async def test_changes_that_were_compacted_unseen_end_watches(etcd, obj: Obj, listener) -> None:
    wire = Wire(etcd.endpoint)
    await wire.join()
    store, other = WatchCache(EtcdStorage((wire.endpoint,)), index), EtcdStorage((etcd.endpoint,))
    await store.start()
    listener.revision = (await other.open(listener)).revision
    first = await store.create(PODS, "ns", "a", obj("1"), NONE)
    watcher = store.watch(PODS)
    await wire.cut()
    await other.delete("/core/pods/ns/a", obj("1"), first.revision)
    await other.put("/core/pods/ns/b", obj("2"), 0)
    record = await other.put("/core/pods/ns/c", obj("3"), 0)
    await other.compact(record.revision)
    await wire.join()
    with pytest.raises(Compacted):
        await asyncio.wait_for(anext(watcher), 60)
    await store.reached(record.revision)
    assert [item.name for item in store.list(PODS).items] == ["b", "c"]
    await store.stop()
    await other.close()
    await wire.cut()


async def test_an_unreachable_etcd_is_named(etcd, listener) -> None:
    etcd.kill()
    with pytest.raises(StorageFailed, match=f"etcd {etcd.endpoint}: UNAVAILABLE"):
        await EtcdStorage((etcd.endpoint,)).open(listener)


async def test_the_next_endpoint_is_used_when_one_is_down(etcd, obj: Obj, listener) -> None:
    storage = EtcdStorage(("127.0.0.1:1", etcd.endpoint))
    listener.revision = (await storage.open(listener)).revision
    await storage.put("/a", obj(), 0)
    await storage.close()


async def test_client_certificates_are_shown_to_etcd(secure_etcd, certificates, obj: Obj, listener) -> None:
    ca, certificate, key = (file.read_bytes() for file in certificates)
    with pytest.raises(StorageFailed, match="UNAVAILABLE"):
        await EtcdStorage((secure_etcd.endpoint,), tls=Tls(ca)).open(listener)
    storage = EtcdStorage((secure_etcd.endpoint,), tls=Tls(ca, certificate, key))
    listener.revision = (await storage.open(listener)).revision
    await storage.put("/a", obj(), 0)
    await storage.close()
