"""Backups of several databases as of one moment, what they refuse, and what is in the files that they make."""

import os
import sqlite3
import threading
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from tests.apiserver.storage.test_sharing import counted, filled
from tests.apiserver.storage.test_sqlite_faults import opened, run

from karmada.apiserver.storage.base import StorageFailed
from karmada.apiserver.storage.sqlite import SqliteStorage, Unusable, backup, recover, restore
from karmada.apiserver.storage.sqlite.backup import Cut
from karmada.apiserver.storage.sqlite.database import Row, append, connect
from karmada.apiserver.storage.sqlite.mark import mark_of

LEAP = 1_000_000_000


def stored(path: Path, *names: str) -> Path:
    """A database with some objects."""
    with closing(connect(path)) as db:
        append(db, [Row(number, name, 0, False, b"x" * 3000) for number, name in enumerate(names, 3)])
    return path


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def keeps_a_log(path: Path) -> bool:
    """Whether the header says that there may be a log beside the file."""
    return path.read_bytes()[18:20] != b"\1\1"


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_cut_waits_for_whoever_is_writing(tmp_path: Path) -> None:
    first, second = stored(tmp_path / "first.db", "/a"), stored(tmp_path / "second.db", "/a")
    with closing(connect(second)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        append(writer, [Row(4, "/b", 0, False, b"x")])

        def cut() -> None:
            with Cut([first, second]) as cut:
                cut.copy(second, tmp_path / "copy.db")

        cutting = threading.Thread(target=cut)
        cutting.start()
        cutting.join(0.5)  # one that does not wait is through by then, as a rule
        writer.execute("COMMIT")
        cutting.join(60)
    assert counted(tmp_path / "copy.db", "current") == 2


def test_what_is_written_after_the_cut_is_not_in_the_copies(tmp_path: Path) -> None:
    before = open_files()
    first, second = stored(tmp_path / "first.db", "/a"), stored(tmp_path / "second.db", "/a")
    with Cut([first, second]) as cut:
        with closing(connect(first)) as db:
            append(db, [Row(4, "/b", 0, False, b"x")])
        cut.copy(first, tmp_path / "copy.db")
        with pytest.raises(Unusable, match="exists already"):
            cut.copy(second, tmp_path / "copy.db")
    assert counted(tmp_path / "copy.db", "current") == 1
    assert not keeps_a_log(tmp_path / "copy.db")
    assert open_files() <= before
    assert cut is not None


def test_a_cut_of_what_is_not_there_or_no_database_fails_as_a_whole(tmp_path: Path) -> None:
    good, garbage = stored(tmp_path / "good.db", "/a"), tmp_path / "garbage.db"
    garbage.write_bytes(b"no database" * 1000)
    for sources, why in (
        ([good, tmp_path / "none.db"], "none.db: no such file"),
        ([good, garbage], "restore a backup"),
    ):
        with pytest.raises(Unusable, match=why), Cut(sources):
            pass
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(Unusable, match=r"no/copy.db.partial: cannot be written: No such file"):
        backup(good, tmp_path / "no" / "copy.db")
    with pytest.raises(Unusable, match=r"none.db: no such file"):
        restore(tmp_path / "none.db", tmp_path / "new.db")
    assert not list(tmp_path.glob("new.db*"))


def _missing_object(path: Path) -> None:
    stored(path, "/a", "/b")
    run(path, "DELETE FROM log WHERE revision = 3")


def _broken_page(path: Path) -> None:
    stored(path, *(f"/{number}" for number in range(100)))
    with closing(connect(path)) as db:
        page = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'current'").fetchone()[0]
        db.execute("PRAGMA journal_mode = DELETE")
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [(_missing_object, "objects are missing from the log"), (_broken_page, "; use another backup")],
)
def test_a_backup_that_lacks_something_is_not_restored(tmp_path: Path, spoil, why: str) -> None:
    copy, target = tmp_path / "backup.db", tmp_path / "store.db"
    spoil(copy)
    with pytest.raises(Unusable, match=why) as error:
        restore(copy, target)
    assert str(error.value).startswith(f"{copy}: ")
    assert {entry.name for entry in os.scandir(tmp_path)} == {"backup.db", "store.db.lock"}


def test_a_corrupt_database_is_not_backed_up(tmp_path: Path) -> None:
    _broken_page(tmp_path / "store.db")
    with pytest.raises(Unusable, match="use another backup"):
        backup(tmp_path / "store.db", tmp_path / "backup.db")
    assert {entry.name for entry in os.scandir(tmp_path)} == {"store.db"}


async def test_a_plain_backup_that_fails_names_the_database(tmp_path: Path, listener) -> None:
    path, copy = tmp_path / "store.db", tmp_path / "backup.db"
    storage, _ = await filled(path, listener)
    await storage.close()
    run(path, "DROP TABLE base")
    with pytest.raises(StorageFailed, match="no such table") as error:
        backup(path, copy, plain=True)
    assert str(error.value).startswith(f"{path}: ")
    assert not copy.exists()
    assert not [entry.name for entry in os.scandir(tmp_path) if entry.name.endswith(".partial")]


async def test_a_backup_shares_what_the_database_shares_unless_it_is_plain(tmp_path: Path, listener) -> None:
    before = open_files()
    path = tmp_path / "store.db"
    storage, records = await filled(path, listener)
    await storage.close()
    with Cut([path]) as cut:
        cut.copy(path, tmp_path / "cut.db")
    make = {"copy.db": backup, "plain.db": partial(backup, plain=True)}
    for name, copy in make.items():
        copy(path, tmp_path / name)
    restore(tmp_path / "copy.db", tmp_path / "restored.db")
    files = ("cut.db", "copy.db", "plain.db", "restored.db")
    assert [version(tmp_path / name) for name in files] == [2, 2, 1, 2]
    assert (counted(tmp_path / "plain.db", "log"), counted(tmp_path / "plain.db", "log WHERE deleted OR previous")) == (
        20,
        0,
    )
    assert not any(keeps_a_log(tmp_path / name) for name in files)
    assert open_files() <= before
    again = SqliteStorage(tmp_path / "restored.db")
    assert (await again.open(listener)).revision == records[-1].revision + LEAP
    await again.close()
    with pytest.raises(Unusable, match="exists already"):
        restore(tmp_path / "copy.db", tmp_path / "restored.db")


async def test_a_loss_is_accepted_only_of_a_database_that_can_be_read(tmp_path: Path, listener, obj) -> None:
    path = tmp_path / "store.db"
    storage = await opened(path, listener)
    for name in ("/a", "/b"):
        last = await storage.put(name, obj(), 0)
    await storage.close()
    mark_of(path).write_bytes(b"%020d\n" % (last.revision + 10))
    run(path, "UPDATE current SET revision = 99 WHERE key = '/a'")
    for _ in range(2):
        with pytest.raises(Unusable, match="objects are missing from the log"):
            recover(path)
    run(path, "UPDATE current SET revision = 3 WHERE key = '/a'")
    assert recover(path) == (last.revision + 1, last.revision + 10)
    assert recover(path) is None
    again = SqliteStorage(path)
    assert (await again.open(listener)).revision == last.revision + 10 + LEAP
    await again.close()
