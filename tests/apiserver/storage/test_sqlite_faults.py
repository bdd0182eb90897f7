"""A database that fails under a running server: what fails is answered, and nothing else suffers from it."""

import asyncio
import os
import queue
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.apiserver.storage.conftest import RecordingListener
from tests.apiserver.storage.test_sharing import FEW, counted, filled, key, uses, work

from karmada.apiserver.storage.base import Record, StorageFailed, Write
from karmada.apiserver.storage.delta import whole
from karmada.apiserver.storage.sqlite import SqliteStorage, StoredSnapshot, Unusable, Unwritable
from karmada.apiserver.storage.sqlite.mark import HighWaterMark, mark_of, read_mark
from karmada.apiserver.storage.sqlite.storage import lock

FAILS = "BEGIN SELECT RAISE(ABORT, 'out of order'); END"


class Jobs(queue.Queue[Any]):
    """A queue to the writing thread that counts jobs, and hands out none while it is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.is_open = threading.Event()
        self.is_open.set()

    def put(self, job: Any, *rest: Any) -> None:
        self.count += 1
        super().put(job)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        job = super().get(block, timeout)
        assert self.is_open.wait(60)
        return job


def run(path: Path, *statements: str) -> None:
    """Do something to a database behind the server's back."""
    with closing(sqlite3.connect(path, isolation_level=None, timeout=60)) as db:
        for statement in statements:
            db.execute(statement)


async def opened(path: Path, listener: RecordingListener, jobs: Jobs | None = None) -> SqliteStorage:
    storage = SqliteStorage(path, queue=lambda: jobs or Jobs(), sharing=FEW)
    listener.revision = (await storage.open(listener)).revision
    return storage


async def test_writes_and_reads_of_a_broken_database_fail_and_go_on_when_it_is_mended(
    tmp_path: Path, listener, obj
) -> None:
    path, jobs = tmp_path / "store.db", Jobs()
    storage = await opened(path, listener, jobs)
    first = await storage.put("/a", obj("1"), 0)
    run(path, "ALTER TABLE log RENAME TO hidden")
    writes = [Write("/a", obj("2"), first.revision), Write("/b", None, 7)]
    failed, late = await storage.write_all(writes)
    assert isinstance(failed, StorageFailed)
    assert str(failed).startswith(f"{path}: the database failed")
    assert not isinstance(late, StorageFailed)
    with pytest.raises(StorageFailed, match="the database failed"):
        await storage.put("/a", obj("2"), first.revision)
    with pytest.raises(StorageFailed, match="the database failed"):
        await storage.history("", first.revision - 1, first.revision)
    run(path, "ALTER TABLE hidden RENAME TO log")
    assert [change.key for change in listener.changes] == ["/a"]
    second = await storage.put("/a", obj("2"), first.revision)
    assert [change.revision for change in listener.changes] == [first.revision, second.revision]
    await storage.close()


async def test_the_disk_is_asked_only_after_a_write_that_failed(tmp_path: Path, listener, obj) -> None:
    path, jobs = tmp_path / "store.db", Jobs()
    storage = await opened(path, listener, jobs)
    await storage.check()
    await storage.put("/a", obj(), 0)
    await storage.check()
    assert jobs.count == 1
    with pytest.raises(StorageFailed):
        await storage.put("/not-\ud800-text", obj(), 0)
    await storage.check()
    assert jobs.count == 3
    await storage.check()
    assert jobs.count == 3
    await storage.close()
    with pytest.raises(StorageFailed, match="is closed"):
        await storage.check()


@pytest.mark.parametrize(
    "fault",
    [
        f"CREATE TRIGGER fault BEFORE UPDATE ON meta WHEN NEW.name = 'compacted' {FAILS}",
        f"CREATE TRIGGER fault BEFORE UPDATE ON meta WHEN NEW.name = 'swept' {FAILS}",
        f"CREATE TRIGGER fault BEFORE DELETE ON log {FAILS}",
    ],
    ids=["to be forgotten", "swept", "removed"],
)
async def test_a_compaction_that_fails_leaves_everything_as_it_was(tmp_path: Path, listener, fault: str) -> None:
    path = tmp_path / "store.db"
    storage = await opened(path, listener)
    records = [await storage.put(key(cluster), work(cluster), 0) for cluster in range(5)]
    run(path, fault)
    for _ in range(2):
        with pytest.raises(StorageFailed, match="out of order"):
            await storage.compact(records[-1].revision)
    edited = await storage.put(key(0), work(0, "edited"), records[0].revision)
    seen = await storage.history("", records[-1].revision, edited.revision)
    assert [change.revision for change in seen] == [edited.revision]
    run(path, "DROP TRIGGER fault")
    await storage.compact(edited.revision)
    await storage.close()
    uses(path)
    assert (counted(path, "base"), counted(path, "shared"), counted(path, "log")) == (1, 5, 0)
    again = SqliteStorage(path)
    found = (await again.open(listener)).records
    await again.close()
    assert {one.key: whole(one.value) for one in found} == {one.key: one.value for one in [*records, edited]}


async def test_a_compaction_that_is_cut_off_by_the_end_says_so(tmp_path: Path, listener, obj) -> None:
    path, jobs = tmp_path / "store.db", Jobs()
    storage = await opened(path, listener, jobs)
    records = await asyncio.gather(*(storage.put(f"/{number}", obj(), 0) for number in range(300)))
    jobs.is_open.clear()
    compaction = asyncio.create_task(storage.compact(max(record.revision for record in records)))
    await asyncio.sleep(0)
    closing_ = asyncio.create_task(storage.close())
    await asyncio.sleep(0)
    jobs.is_open.set()
    await closing_
    with pytest.raises(StorageFailed, match="compaction goes on at the next start"):
        await compaction


async def test_what_was_begun_before_the_end_is_answered(tmp_path: Path, listener, obj) -> None:
    before = len(os.listdir("/proc/self/fd"))
    storage = await opened(tmp_path / "store.db", listener)
    writing = asyncio.create_task(storage.put("/a", obj(), 0))
    await asyncio.sleep(0)
    await storage.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "sqlite-writer"]
    record = await writing
    assert listener.changes[-1].revision == record.revision == read_mark(tmp_path / "store.db")
    await storage.close()
    del writing
    assert len(os.listdir("/proc/self/fd")) <= before
    assert {entry.name for entry in os.scandir(tmp_path)} == {"store.db", "store.db.lock", "store.db.mark"}


async def test_a_process_can_end_without_closing(tmp_path: Path, listener) -> None:
    storage = await opened(tmp_path / "store.db", listener)
    assert [thread.daemon for thread in threading.enumerate() if thread.name == "sqlite-writer"] == [True]
    await storage.close()


async def test_writes_that_gather_are_committed_some_hundred_at_a_time(tmp_path: Path, obj) -> None:
    sizes: list[int] = []

    class Sizes(RecordingListener):
        def committed(self, changes: list[Any], revision: int) -> None:
            sizes.append(len(changes))

    jobs = Jobs()
    storage = await opened(tmp_path / "store.db", Sizes(), jobs)
    jobs.is_open.clear()
    writing = []
    for number in range(514):
        writing.append(asyncio.create_task(storage.put(f"/{number}", obj(), 0)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    jobs.is_open.set()
    await asyncio.gather(*writing)
    assert sizes == [512, 2]
    await storage.close()


@pytest.mark.parametrize("keys", [("/a", "/\ud800"), ("/\ud800", "/a"), ("/\ud800",), ("/\ud800", "/\ud801", "/a")])
async def test_of_a_few_writes_one_that_cannot_be_stored_fails_alone(tmp_path: Path, listener, obj, keys) -> None:
    storage = await opened(tmp_path / "store.db", listener)
    outcomes = await storage.write_all([Write(name, obj(), 0) for name in keys])
    assert [outcome is None for outcome in outcomes] == [name == "/a" for name in keys]
    assert [change.key for change in listener.changes] == [name for name in keys if name == "/a"]
    await storage.close()


async def test_of_several_writes_of_a_key_the_later_ones_follow_the_first(tmp_path: Path, listener, obj) -> None:
    storage = await opened(tmp_path / "store.db", listener)
    start = listener.revision
    writes = [
        Write("/a", obj("1"), 0, "first"),
        Write("/a", obj("2"), start + 1, "second"),
        Write("/a", None, start + 2, "third"),
    ]
    assert await storage.write_all(writes) == [None, None, None]
    again = await storage.put("/a", obj("3"), 0)
    gone = await storage.delete("/a", obj("last"), again.revision)
    assert [(change.revision - start, change.value, change.last, change.context) for change in listener.changes] == [
        (1, obj("1").at(start + 1), None, "first"),
        (2, obj("2").at(start + 2), None, "second"),
        (3, None, None, "third"),
        (4, again.value, None, None),
        (5, None, obj("last").at(gone), None),
    ]
    await storage.close()


# The mark and the lock.


async def test_a_mark_that_cannot_be_written_is_named_each_time(tmp_path: Path, listener) -> None:
    path = tmp_path / "store.db"
    mark_of(path).mkdir()
    for _ in range(2):
        with pytest.raises(Unwritable, match="cannot be written: Is a directory; free some space"):
            await SqliteStorage(path).open(listener)


def test_a_mark_is_made_durable_at_most_once_a_second(tmp_path: Path) -> None:
    before, now = len(os.listdir("/proc/self/fd")), 0.0
    synced: list[int] = []
    mark = HighWaterMark(tmp_path / "store.db", 0, lambda: now, synced.append)
    for revision, (now, syncs) in enumerate(((0.9, 0), (1.0, 1), (1.5, 1), (2.0, 2), (2.9, 2), (4.0, 3)), 1):
        mark.raise_to(revision)
        mark.write_when_due()
        assert (read_mark(tmp_path / "store.db"), len(synced)) == (revision, syncs), now
    mark.close()
    assert len(synced) == 4
    assert len(os.listdir("/proc/self/fd")) <= before


async def test_a_file_that_is_refused_stays_free_for_others(tmp_path: Path, listener) -> None:
    path = tmp_path / "store.db"
    before = len(os.listdir("/proc/self/fd"))
    held = lock(path)
    for refused in (SqliteStorage(path), StoredSnapshot(path, "for a test")):
        with pytest.raises(Unusable, match="in use"):
            await refused.open(listener)
    os.close(held)
    path.write_bytes(b"this is not a database" * 1000)
    for _ in range(2):
        for broken in (SqliteStorage(path), StoredSnapshot(path, "for a test")):
            with pytest.raises(Unusable, match="restore a backup"):
                await broken.open(listener)
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.parametrize("make", [Path.touch, lambda path: None], ids=["empty", "missing"])
async def test_what_is_not_there_is_served_as_an_empty_store(tmp_path: Path, listener, obj, make) -> None:
    path = tmp_path / "store.db"
    make(path)
    storage = StoredSnapshot(path, "for a test")
    assert await storage.open(listener) == ((), 2)
    outcomes = await storage.write_all([Write("/a", obj(), 0), Write("/b", None, 3)])
    assert [str(outcome) for outcome in outcomes] == ["for a test"] * 2
    await storage.close()
    os.close(lock(path))


async def test_a_database_that_can_be_written_again_is_mended(tmp_path: Path, listener, obj) -> None:
    path = tmp_path / "store.db"
    storage = await opened(path, listener)
    record = await storage.put("/a", obj(), 0)
    await storage.close()
    reader = StoredSnapshot(path, "for a test")
    assert (await reader.open(listener)).records == [Record("/a", record.value, record.revision)]
    assert await reader.mended()
    mark_of(path).write_bytes(b"%020d\n" % (record.revision + 1))
    assert not await reader.mended()
    await reader.close()


async def test_a_base_is_used_on_after_a_restart(tmp_path: Path, listener) -> None:
    path = tmp_path / "store.db"
    storage, _ = await filled(path, listener)
    await storage.close()
    storage = await opened(path, listener)
    last = await storage.put(key(77), work(77), 0)
    await storage.compact(last.revision)
    await storage.close()
    uses(path)
    assert (counted(path, "base"), counted(path, "shared"), counted(path, "log")) == (1, 21, 0)
