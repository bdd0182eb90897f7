"""An etcd that others use as well, that is large, and that goes away."""

import asyncio
import logging
import uuid
from collections.abc import Callable

import grpc.aio
import pytest
from tests.apiserver.storage.conftest import RecordingListener
from tests.apiserver.storage.etcd_relay import Relay

from karmada.apiserver.storage.base import Change, Compacted, Mismatch, StorageFailed, Value
from karmada.apiserver.storage.etcd import EtcdStorage
from karmada.apiserver.storage.etcd.client import EtcdClient

pytestmark = pytest.mark.tools

Obj = Callable[..., Value]


async def opened(endpoint: str, listener: RecordingListener, prefix: str = "/karmada") -> EtcdStorage:
    storage = EtcdStorage((endpoint,), prefix)
    listener.revision = (await storage.open(listener)).revision
    return storage


def prefixes() -> tuple[str, str]:
    return f"/test-{uuid.uuid4()}", f"/test-{uuid.uuid4()}"


async def test_what_others_write_elsewhere_holds_up_nothing(shared_etcd, obj: Obj, listener) -> None:
    mine, theirs = prefixes()
    storage = await opened(shared_etcd.endpoint, listener, mine)
    other = await opened(shared_etcd.endpoint, RecordingListener(), theirs)
    first = await storage.put("/a", obj(), 0)
    later = await other.put("/b", obj(), 0)
    await storage.sync()
    assert listener.revision >= later.revision
    seen = await storage.history("", first.revision - 1, later.revision)
    assert [change.key for change in seen] == ["/a"]
    assert await storage.history("", later.revision, later.revision) == []
    assert [change.key for change in listener.changes] == ["/a"]
    await storage.close()
    await other.close()


async def test_nothing_goes_on_after_the_end(shared_etcd, listener) -> None:
    storage = await opened(shared_etcd.endpoint, listener, prefixes()[0])
    client = EtcdClient((shared_etcd.endpoint,))
    await client.revision()
    await client.close()
    with pytest.raises(grpc.aio.UsageError):
        await client.revision()
    await storage.close()
    await storage.close()
    assert not [task for task in asyncio.all_tasks() if "EtcdStorage" in repr(task.get_coro())]
    with pytest.raises(StorageFailed, match="is closed"):
        await storage.check()


async def test_a_context_belongs_to_one_write(shared_etcd, obj: Obj, listener) -> None:
    prefix = prefixes()[0]
    storage = await opened(shared_etcd.endpoint, listener, prefix)
    other = await opened(shared_etcd.endpoint, RecordingListener(), prefix)
    first = await storage.put("/a", obj("1"), 0, "mine")
    second = await storage.put("/a", obj("2"), first.revision)
    third = await other.put("/a", obj("1"), second.revision, "theirs")
    await storage.sync()
    assert [(change.revision, change.context) for change in listener.changes] == [
        (first.revision, "mine"),
        (second.revision, None),
        (third.revision, None),
    ]
    with pytest.raises(Mismatch) as error:
        await storage.delete("/a", obj("1"), second.revision)
    assert (error.value.key, error.value.expected, error.value.actual) == ("/a", second.revision, third.revision)
    await storage.close()
    await other.close()


async def test_all_of_a_large_store_is_read(shared_etcd, obj: Obj, listener) -> None:
    prefix = prefixes()[0]
    storage = await opened(shared_etcd.endpoint, listener, prefix)
    texts = {f"/{number:04}": "x" * (10_000 if number < 550 else 1) for number in range(1100)}
    for begin in range(0, 1100, 100):
        names = list(texts)[begin : begin + 100]
        await asyncio.gather(*(storage.put(name, obj(texts[name]), 0) for name in names))
    await storage.history("", listener.revision - 1, listener.revision)
    again = EtcdStorage((shared_etcd.endpoint,), prefix)
    snapshot = await again.open(RecordingListener())
    expected = {change.key: (change.value, change.revision) for change in listener.changes}
    assert {record.key: (record.value, record.revision) for record in snapshot.records} == expected
    assert [record.key for record in snapshot.records] == sorted(texts)
    assert snapshot.revision >= listener.revision
    await storage.close()
    await again.close()


async def test_what_is_compacted_can_be_compacted_again(etcd, obj: Obj, listener) -> None:
    storage = await opened(etcd.endpoint, listener)
    for number in range(3):
        last = await storage.put(f"/{number}", obj(), 0)
    for revision in (last.revision, last.revision, last.revision - 1):
        await storage.compact(revision)
    with pytest.raises(Compacted):
        await storage.history("", last.revision - 2, last.revision)
    etcd.kill()
    for use in (storage.compact(last.revision), storage.check()):
        with pytest.raises(StorageFailed, match="UNAVAILABLE"):
            await use
    await storage.close()


async def test_a_second_endpoint_that_is_down_does_no_harm(shared_etcd, obj: Obj, listener) -> None:
    storage = EtcdStorage((shared_etcd.endpoint, "127.0.0.1:1"), prefixes()[0])
    listener.revision = (await storage.open(listener)).revision
    await storage.put("/a", obj(), 0)
    await storage.close()


class Failing(RecordingListener):
    """A listener that breaks its promise not to fail."""

    def __init__(self) -> None:
        super().__init__()
        self.called = asyncio.Event()

    def committed(self, changes: list[Change], revision: int) -> None:
        if changes:
            self.called.set()
            raise RuntimeError("cannot be")


async def test_a_storage_that_cannot_follow_any_more_refuses_writes(
    shared_etcd, obj: Obj, listener, caplog: pytest.LogCaptureFixture, failures: list[str]
) -> None:
    prefix, broken = prefixes()[0], Failing()
    storage = await opened(shared_etcd.endpoint, broken, prefix)
    other = await opened(shared_etcd.endpoint, listener, prefix)
    with caplog.at_level(logging.ERROR):
        await other.put("/a", obj(), 0)
        await asyncio.wait_for(broken.called.wait(), 60)
        for _ in range(10):
            await asyncio.sleep(0)
    assert "following etcd has failed" in caplog.text
    with pytest.raises(StorageFailed, match="the connection to etcd is closed"):
        await storage.put("/b", obj(), 0)
    caplog.clear()
    await storage.close()
    await other.close()
    assert "following etcd has failed" not in caplog.text


async def test_where_progress_can_be_trusted_nothing_is_written_to_be_up_to_date(shared_etcd, obj: Obj) -> None:
    mine, theirs = prefixes()
    relay = Relay(shared_etcd.endpoint, "3.6.0-rc.1")
    await relay.start()
    listener = RecordingListener()
    storage = await opened(relay.endpoint, listener, mine)
    other = await opened(shared_etcd.endpoint, RecordingListener(), theirs)
    await storage.put("/a", obj(), 0)
    for number in range(3):
        later = await other.put(f"/{number}", obj(), 0)
        await storage.sync()
        assert listener.revision >= later.revision
        await storage.sync()
    assert "/etcdserverpb.KV/Put" not in relay.asked
    assert [change.key for change in listener.changes] == ["/a"]
    with pytest.raises(Mismatch) as error:
        await storage.delete("/none", obj(), 5)
    assert error.value.actual == 0
    await storage.close()
    await other.close()
    await relay.stop()


@pytest.mark.looptime
async def test_a_watch_that_does_not_deliver_is_named(shared_etcd, obj: Obj, listener) -> None:
    relay = Relay(shared_etcd.endpoint, "3.6.0")
    await relay.start()
    storage = await opened(relay.endpoint, listener, prefixes()[0])
    relay.is_silent = True
    with pytest.raises(StorageFailed, match=r"has committed revision \d+, but its watch does not deliver it"):
        await storage.put("/a", obj(), 0)
    with pytest.raises(StorageFailed, match="etcd did not answer within 10 s"):
        await storage.history("", listener.revision, listener.revision + 1)
    await storage.close()
    await relay.stop()
