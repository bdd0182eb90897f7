"""What is special to the database file: faults, formats, backups."""

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from karmada.apiserver.storage.base import Compacted, Record, StorageFailed
from karmada.apiserver.storage.sqlite import SqliteStorage, Unusable, backup, restore
from karmada.apiserver.storage.sqlite.database import FORMAT, Row, append, connect, explain


async def test_the_file_is_for_its_owner_only(tmp_path: Path, listener, obj) -> None:
    storage = SqliteStorage(tmp_path / "store.db")
    await storage.open(listener)
    await storage.put("/a", obj(), 0)
    assert {entry.name: oct(entry.stat().st_mode & 0o777) for entry in os.scandir(tmp_path)} == dict.fromkeys(
        ("store.db", "store.db-wal", "store.db-shm", "store.db.lock", "store.db.mark"), "0o600"
    )
    await storage.close()


def test_a_commit_reaches_the_disk_before_it_is_answered(tmp_path: Path) -> None:
    db = connect(tmp_path / "store.db")
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert db.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL: the log is synced at each commit
    db.close()


class _Statements(sqlite3.Connection):
    """A connection that notes its statements."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, isolation_level=None)
        self.texts: set[str] = set()

    def execute(self, text: str, *values: Any) -> sqlite3.Cursor:
        self.texts.add(text)
        return super().execute(text, *values)


def test_batches_of_every_size_are_written_whole_and_by_few_statements(tmp_path: Path) -> None:
    connect(tmp_path / "store.db").close()
    db = _Statements(tmp_path / "store.db")
    rows: list[Row] = []
    for size in range(1, 130):
        first = len(rows) + 3
        batch = [Row(revision, f"/{revision}", 0, False, b"%d" % revision) for revision in range(first, first + size)]
        append(db, batch)
        rows += batch
    assert len(db.texts) <= 9  # SQLite keeps with each what it wrote last
    assert db.execute("SELECT * FROM log ORDER BY revision").fetchall() == rows
    db.close()


def test_a_batch_with_a_row_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    db = connect(tmp_path / "store.db")
    append(db, [Row(3, "/a", 0, False, b"a")])
    with pytest.raises(sqlite3.IntegrityError):
        append(db, [Row(revision, "/b", 0, False, b"b") for revision in (4, 5, 3)])
    assert db.execute("SELECT key FROM log").fetchall() == [("/a",)]
    assert db.execute("SELECT key FROM current").fetchall() == [("/a",)]
    db.close()


async def test_a_second_server_is_refused(tmp_path: Path, listener) -> None:
    first, second = SqliteStorage(tmp_path / "store.db"), SqliteStorage(tmp_path / "store.db")
    await first.open(listener)
    with pytest.raises(Unusable, match="in use by another API server"):
        await second.open(listener)
    await first.close()
    await second.open(listener)
    await second.close()


def _garbage(path: Path) -> None:
    path.write_bytes(b"this is not a database" * 1000)


def _truncated(path: Path) -> None:
    with connect(path) as db:
        append(db, [Row(revision, f"/{revision}", 0, False, b"x" * 3000) for revision in range(3, 103)])
    db.close()
    os.truncate(path, path.stat().st_size // 2)


def _foreign(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE theirs (a)")
    db.commit()
    db.close()


def _newer(path: Path) -> None:
    db = connect(path)
    db.execute(f"PRAGMA user_version = {FORMAT + 1}")
    db.close()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_garbage, "corrupt or not a database .* restore a backup"),
        (_truncated, "corrupt or not a database .* restore a backup"),
        (_foreign, "database of another program"),
        (_newer, f"newer version \\(format {FORMAT + 1}, this one knows {FORMAT}\\)"),
        (Path.mkdir, "cannot be opened for writing"),
    ],
    ids=["garbage", "truncated", "foreign", "newer", "directory"],
)
async def test_a_file_that_cannot_be_used_is_named_with_a_remedy(tmp_path: Path, listener, spoil, message: str) -> None:
    path = tmp_path / "store.db"
    spoil(path)
    storage = SqliteStorage(path)
    with pytest.raises(Unusable, match=message) as error:
        await storage.open(listener)
    assert str(path) in str(error.value)


async def test_a_missing_folder_is_named(tmp_path: Path, listener) -> None:
    with pytest.raises(Unusable, match="No such file or directory"):
        await SqliteStorage(tmp_path / "no" / "store.db").open(listener)


def test_a_read_only_file_is_named_with_a_remedy(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    connect(path).close()
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    with pytest.raises(sqlite3.Error) as error:
        db.execute("DELETE FROM log")
    db.close()
    assert "make the file and its folder writable" in str(explain(error.value, path))


_FULL = """
import asyncio, resource, sys
from pathlib import Path
from karmada.apiserver.storage.base import StorageFailed, Value
from karmada.apiserver.storage.sqlite import SqliteStorage

class Silent:
    def committed(self, changes, revision): print("committed", *(change.key for change in changes))
    def replaced(self, snapshot): raise AssertionError

async def main():
    storage = SqliteStorage(Path(sys.argv[1]))
    await storage.open(Silent())
    small, large = Value(b"", b"small"), Value(b"", b"x" * 500_000)
    await storage.put("/before", small, 0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
    try:
        await storage.put("/large", large, 0)
    except StorageFailed as error:
        print("failed", error)
    await storage.check()
    await storage.put("/small", small, 0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, resource.RLIM_INFINITY))
    for action in (lambda: storage.put("/tiny", small, 0), storage.check):
        try:
            await action()
        except StorageFailed as error:
            print("failed", error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await storage.check()
    await storage.put("/large", large, 0)
    await storage.close()

asyncio.run(main())
"""


async def test_a_full_disk_fails_the_write_and_nothing_else(tmp_path: Path, listener) -> None:
    path = tmp_path / "store.db"
    result = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", _FULL, str(path)], capture_output=True, text=True, timeout=60
    )
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[0] == "committed /before"
    assert lines[1].startswith(f"failed {path}: ")
    assert lines[2] == "committed /small"
    assert all(line.startswith(f"failed {path}: ") for line in lines[3:5])
    assert lines[5:] == ["committed /large"]
    storage = SqliteStorage(path)
    assert [record.key for record in (await storage.open(listener)).records] == ["/before", "/large", "/small"]
    await storage.close()


async def test_a_write_that_cannot_be_stored_fails_alone(tmp_path: Path, listener, obj) -> None:
    storage = SqliteStorage(tmp_path / "store.db")
    await storage.open(listener)
    keys = ["/a", "/b", "/not-\ud800-text", "/c"]
    outcomes = await asyncio.gather(*(storage.put(key, obj(), 0) for key in keys), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Record, Record, StorageFailed, Record]
    assert [change.key for change in listener.changes] == ["/a", "/b", "/c"]
    await storage.close()


async def test_compaction_frees_the_rows_nobody_needs(tmp_path: Path, listener, obj) -> None:
    path = tmp_path / "store.db"
    storage = SqliteStorage(path)
    await storage.open(listener)
    for name in ("/a", "/b"):
        revision = 0
        for number in range(600):
            revision = (await storage.put(name, obj(str(number)), revision)).revision
    await storage.delete("/b", obj(), revision)
    last = await storage.put("/c", obj(), 0)
    await storage.compact(last.revision)
    await storage.close()
    db = sqlite3.connect(path)
    assert db.execute("SELECT key FROM log ORDER BY key").fetchall() == [("/a",), ("/c",)]
    db.close()


async def test_compaction_gives_room_back(tmp_path: Path, listener, obj) -> None:
    path = tmp_path / "store.db"
    storage = SqliteStorage(path)
    await storage.open(listener)
    records = await asyncio.gather(*(storage.put(f"/{number}", obj("x" * 10_000), 0) for number in range(2000)))
    last = await asyncio.gather(*(storage.delete(record.key, obj(), record.revision) for record in records))
    await storage.compact(max(last))
    await storage.put("/small", obj(), 0)
    await storage.close()
    assert sum(entry.stat().st_size for entry in os.scandir(tmp_path)) < 5_000_000


async def test_an_interrupted_compaction_goes_on_at_the_next_one(tmp_path: Path, listener, obj) -> None:
    path = tmp_path / "store.db"
    storage = SqliteStorage(path)
    await storage.open(listener)
    first = await storage.put("/a", obj("1"), 0)
    second = await storage.put("/a", obj("2"), first.revision)
    await storage.close()
    db = connect(path)
    db.execute("UPDATE meta SET value = ? WHERE name = 'compacted'", (second.revision,))
    db.close()
    again = SqliteStorage(path)
    snapshot = await again.open(listener)
    assert snapshot.records == [Record("/a", second.value, second.revision)]
    with pytest.raises(Compacted):
        await again.history("", first.revision, second.revision)
    await again.compact(second.revision)
    await again.close()
    db = connect(path)
    assert db.execute("SELECT count(*) FROM log").fetchone() == (1,)
    db.close()


async def test_a_backup_taken_during_writes_is_restored_whole(tmp_path: Path, listener, obj) -> None:
    path, copy, other = (tmp_path / name for name in ("store.db", "backup.db", "restored.db"))
    storage = SqliteStorage(path)
    await storage.open(listener)
    acknowledged = await asyncio.gather(*(storage.put(f"/{number}", obj("x" * 1000), 0) for number in range(200)))

    async def busy() -> None:
        for number in range(200, 400):
            await storage.put(f"/{number}", obj(), 0)

    writing = asyncio.create_task(busy())
    await asyncio.to_thread(backup, path, copy)
    await writing
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    await asyncio.to_thread(restore, copy, other)
    restored = SqliteStorage(other)
    snapshot = await restored.open(listener)
    assert set(acknowledged) <= set(snapshot.records)
    assert len({record.key for record in snapshot.records}) == len(snapshot.records)
    newest = await storage.put("/newest", obj(), 0)
    assert snapshot.revision > newest.revision
    with pytest.raises(Compacted):
        await restored.history("", newest.revision, snapshot.revision)
    listener.revision = snapshot.revision
    record = acknowledged[0]
    await restored.put(record.key, obj(), record.revision)
    await restored.close()
    await storage.close()


async def test_restoring_never_overwrites(tmp_path: Path, listener, obj) -> None:
    path, copy = tmp_path / "store.db", tmp_path / "backup.db"
    storage = SqliteStorage(path)
    await storage.open(listener)
    backup(path, copy)
    with pytest.raises(Unusable, match="in use"):
        restore(copy, path)
    await storage.close()
    with pytest.raises(Unusable, match="exists already"):
        restore(copy, path)
    with pytest.raises(Unusable, match="exists already"):
        backup(path, copy)


@pytest.mark.parametrize("spoil", [_garbage, _truncated, _newer], ids=["garbage", "truncated", "newer"])
def test_a_bad_backup_is_not_restored(tmp_path: Path, spoil) -> None:
    copy, target = tmp_path / "backup.db", tmp_path / "store.db"
    spoil(copy)
    with pytest.raises(StorageFailed):
        restore(copy, target)
    assert not target.exists()
    assert not list(tmp_path.glob("*.partial"))
