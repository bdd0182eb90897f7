"""Storage that lost what was acknowledged, or cannot be written: noticed, served read-only, and accepted on request."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from karmada.apiserver.storage.base import Compacted, StorageFailed
from karmada.apiserver.storage.sqlite import (
    SqliteStorage,
    StoredSnapshot,
    Unwritable,
    backup,
    recover,
    restore,
)
from karmada.apiserver.storage.sqlite.mark import HighWaterMark, mark_of, read_mark

_CRASH = """
import asyncio, os, sys
from pathlib import Path
from karmada.apiserver.storage.base import Value
from karmada.apiserver.storage.sqlite import SqliteStorage
from karmada.apiserver.storage.sqlite.mark import read_mark

class Silent:
    def committed(self, changes, revision): pass
    def replaced(self, snapshot): pass

async def main():
    path = Path(sys.argv[1])
    storage = SqliteStorage(path)
    await storage.open(Silent())
    for number in range(20):
        last = await storage.put(f"/{number}", Value(b"", b"x" * 1000), 0)
    while read_mark(path) < last.revision:
        await asyncio.sleep(0.01)
    os._exit(1)

asyncio.run(main())
"""


@pytest.fixture
def crashed(tmp_path: Path) -> Path:
    """The database of a process that died after 20 acknowledged writes, all marked; they are in its log only."""
    path = tmp_path / "store.db"
    subprocess.run([sys.executable, "-c", _CRASH, str(path)], check=False, timeout=60)
    assert path.with_name("store.db-wal").stat().st_size > 20_000
    return path


def _log_removed(path: Path) -> None:
    path.with_name("store.db-wal").unlink()


def _log_truncated(path: Path) -> None:
    log = path.with_name("store.db-wal")
    os.truncate(log, log.stat().st_size // 2)


def _log_emptied(path: Path) -> None:
    os.truncate(path.with_name("store.db-wal"), 0)


def _emptied(path: Path) -> None:
    for left in ("-wal", "-shm"):
        path.with_name(path.name + left).unlink()
    os.truncate(path, 0)


def _removed(path: Path) -> None:
    for left in ("", "-wal", "-shm"):
        path.with_name(path.name + left).unlink()


@pytest.mark.parametrize("lose", [_log_removed, _log_truncated, _log_emptied, _emptied, _removed])
async def test_a_database_that_lost_acknowledged_writes_is_not_written(
    crashed: Path, listener, lose: Callable[[Path], None]
) -> None:
    lose(crashed)
    for _ in range(2):  # nor after another look at it
        with pytest.raises(Unwritable, match=r"acknowledged writes up to revision \d+ are lost.*`karmada recover`"):
            await SqliteStorage(crashed).open(listener)


async def test_a_process_that_merely_died_lost_nothing(crashed: Path, listener) -> None:
    storage = SqliteStorage(crashed)
    assert len((await storage.open(listener)).records) == 20
    await storage.close()
    assert recover(crashed) is None


async def test_what_is_left_is_served_read_only(crashed: Path, listener, obj) -> None:
    _log_truncated(crashed)
    storage = StoredSnapshot(crashed, "acknowledged writes are lost")
    snapshot = await storage.open(listener)
    assert 0 < len(snapshot.records) < 20
    with pytest.raises(StorageFailed, match="writes are lost"):
        await storage.put("/new", obj(), 0)
    with pytest.raises(StorageFailed, match="writes are lost"):
        await storage.delete("/0", obj(), snapshot.records[0].revision)
    with pytest.raises(StorageFailed, match="writes are lost"):
        await storage.check()
    with pytest.raises(Compacted):
        await storage.history("", 3, snapshot.revision)
    assert not await storage.mended()
    await storage.close()


async def test_a_loss_that_was_accepted_never_uses_lost_revisions_again(crashed: Path, listener, obj) -> None:
    _log_truncated(crashed)
    mark = read_mark(crashed)
    loss = recover(crashed)
    assert loss is not None
    first, last = loss
    assert last == mark
    assert 3 < first <= mark
    assert recover(crashed) is None
    storage = SqliteStorage(crashed)
    snapshot = await storage.open(listener)
    assert len(snapshot.records) == first - 3
    listener.revision = snapshot.revision
    assert (await storage.put("/new", obj(), 0)).revision > mark
    with pytest.raises(Compacted):
        await storage.history("", mark, snapshot.revision)
    await storage.close()


async def test_an_accepted_loss_of_everything_is_an_empty_store_above_the_lost_revisions(
    crashed: Path, listener, obj
) -> None:
    mark = read_mark(crashed)
    _removed(crashed)
    assert recover(crashed) is not None
    storage = SqliteStorage(crashed)
    snapshot = await storage.open(listener)
    assert snapshot.records == []
    assert snapshot.revision > mark
    await storage.close()


async def test_a_restored_database_does_not_answer_for_the_mark_of_another(tmp_path: Path, listener, obj) -> None:
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    storage = SqliteStorage(path)
    listener.revision = (await storage.open(listener)).revision
    backup(path, copy)
    await storage.put("/later", obj(), 0)
    await storage.close()
    path.unlink()
    restore(copy, path)
    again = SqliteStorage(path)
    await again.open(listener)
    await again.close()


async def test_an_orderly_end_marks_the_last_revision(tmp_path: Path, listener, obj) -> None:
    path = tmp_path / "store.db"
    storage = SqliteStorage(path)
    listener.revision = (await storage.open(listener)).revision
    record = await storage.put("/a", obj(), 0)
    older = tmp_path / "older.db"
    await storage.close()
    assert read_mark(path) == record.revision
    shutil.copy(path, older)
    again = SqliteStorage(path)
    await again.open(listener)
    await again.put("/b", obj(), 0)
    await again.close()
    shutil.copy(older, path)  # somebody puts an old copy back
    with pytest.raises(Unwritable, match="are lost"):
        await SqliteStorage(path).open(listener)


async def test_an_idle_database_is_marked_up_to_its_last_write(crashed: Path, listener) -> None:
    mark = read_mark(crashed)
    storage = SqliteStorage(crashed)
    assert (await storage.open(listener)).revision == mark
    await storage.close()


async def test_commits_in_a_row_are_marked_before_the_database_is_idle(tmp_path: Path, listener, obj) -> None:
    path = tmp_path / "store.db"
    storage = SqliteStorage(path)
    listener.revision = (await storage.open(listener)).revision
    number = 0
    while not (mark := read_mark(path)):
        last = await storage.put(f"/{number}", obj(), 0)
        number += 1
    assert mark <= last.revision
    await storage.close()


def test_a_mark_follows_commits_ten_times_a_second(tmp_path: Path) -> None:
    path, now = tmp_path / "store.db", 0.0
    mark = HighWaterMark(path, 4, lambda: now)
    assert mark.due_in() is None
    mark.raise_to(5)
    assert mark.due_in() == pytest.approx(0.1)
    mark.write_when_due()
    assert read_mark(path) == 0
    now = 0.25
    assert mark.due_in() == 0.0
    mark.raise_to(6)
    mark.write_when_due()
    assert (read_mark(path), mark.due_in()) == (6, None)
    mark.close()


def test_a_mark_never_goes_back(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    mark = HighWaterMark(path, 3, lambda: 0.0)
    mark.raise_to(5)
    mark.raise_to(4)
    mark.close()
    assert read_mark(path) == 5


@pytest.mark.parametrize("text", ["", "soon", "\0" * 21])
async def test_a_mark_that_says_nothing_is_none(tmp_path: Path, listener, text: str) -> None:
    path = tmp_path / "store.db"
    mark_of(path).write_text(text)
    storage = SqliteStorage(path)
    await storage.open(listener)
    await storage.close()
