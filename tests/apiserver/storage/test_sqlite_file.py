"""What is in a database file and how it is opened, said in exact numbers: earlier and later versions read it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.apiserver.storage.test_sharing import counted, filled, key, work
from tests.apiserver.storage.test_sqlite_faults import opened

from karmada.apiserver.storage.base import StorageFailed, Value
from karmada.apiserver.storage.delta import Delta, difference
from karmada.apiserver.storage.sqlite import SqliteStorage, Unusable, Unwritable
from karmada.apiserver.storage.sqlite.database import Row, append, connect, explain, pragma
from karmada.apiserver.storage.sqlite.sharing import Bases, Sharing, likeness_of


def test_a_file_is_opened_with_settings_for_one_writer(tmp_path: Path) -> None:
    expected = {
        "application_id": 0x6B61726D,
        "user_version": 1,
        "auto_vacuum": 2,
        "wal_autocheckpoint": 4000,
        "journal_size_limit": 2 * 4000 * 4096,
        "temp_store": 2,
        "busy_timeout": 10_000,
    }
    for _ in range(2):
        with closing(connect(tmp_path / "store.db")) as db:
            assert {name: pragma(db, name) for name in expected} == expected


def failure(code: int | None) -> sqlite3.Error:
    error = sqlite3.OperationalError("odd")
    if code is not None:
        error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("code", "sort", "message"),
    [
        (sqlite3.SQLITE_CORRUPT, Unusable, "is corrupt or not a database"),
        (sqlite3.SQLITE_NOTADB, Unusable, "is corrupt or not a database"),
        (None, Unusable, "is corrupt or not a database"),
        (sqlite3.SQLITE_FULL, Unwritable, "the disk is full"),
        (sqlite3.SQLITE_READONLY, StorageFailed, "is read-only"),
        (sqlite3.SQLITE_CANTOPEN, StorageFailed, "cannot be opened; check that the folder exists"),
        (sqlite3.SQLITE_BUSY, StorageFailed, "is locked by another process"),
        (sqlite3.SQLITE_IOERR, StorageFailed, "the disk failed to read or write"),
        (sqlite3.SQLITE_IOERR_FSYNC, StorageFailed, "the disk failed to read or write"),
        (sqlite3.SQLITE_ERROR, StorageFailed, "the database failed"),
    ],
)
def test_an_error_is_explained_by_its_code(tmp_path: Path, code: int | None, sort: type, message: str) -> None:
    for path in (tmp_path / "store.db", tmp_path / "none" / "store.db"):
        found = explain(failure(code), path)
        assert type(found) is sort
        assert str(found).startswith(f"{path}: {message}")


@pytest.mark.parametrize(
    ("code", "sort"),
    [
        (sqlite3.SQLITE_IOERR, Unwritable),
        (sqlite3.SQLITE_CANTOPEN, Unwritable),
        (sqlite3.SQLITE_FULL, Unwritable),
        (sqlite3.SQLITE_BUSY, StorageFailed),
    ],
)
def test_where_no_room_is_left_that_is_the_reason(code: int, sort: type) -> None:
    assert type(explain(failure(code), Path("/proc/store.db"))) is sort, "nothing can be stored in /proc"


async def test_an_empty_store_begins_at_the_second_revision_and_counts_by_one(tmp_path: Path, listener, obj) -> None:
    storage = SqliteStorage(tmp_path / "store.db")
    assert await storage.open(listener) == ([], 2)
    first = await storage.put("/a", obj(), 0)
    assert (first.revision, await storage.delete("/a", obj(), first.revision)) == (3, 4)
    await storage.close()


async def test_a_long_history_comes_five_hundred_at_a_time(tmp_path: Path, listener, obj) -> None:
    path = tmp_path / "store.db"
    with closing(connect(path)) as db:
        for begin in range(3, 603, 100):
            append(db, [Row(number, f"/{number}", 0, False, b"x") for number in range(begin, begin + 100)])
    storage = await opened(path, listener)
    assert [len(await storage.history("", after, 602)) for after in (2, 502, 602)] == [500, 100, 0]
    await storage.close()


# Differences.


def test_a_difference_begins_with_the_size_in_four_bytes() -> None:
    found = difference(b'{"a":"1"}', b'{"a":"22"}')
    assert found is not None
    assert found[:4] == b"\0\0\0\x0a"
    assert (Delta(b'{"a":"1"}', found).size, Delta(b'{"a":"1"}', found).whole()) == (10, b'{"a":"22"}')


@pytest.mark.parametrize(("length", "small"), [(256, True), (257, False)])
def test_of_short_pieces_only_what_differs_is_kept(length: int, small: bool) -> None:
    before, after = (b'"%b%b%b"' % (b"x" * 200, middle, b"x" * (length - 201)) for middle in (b"a", b"b"))
    found = difference(before, after)
    assert found is not None
    assert (len(found) < 20) is small
    assert (len(found) > 257) is not small
    assert Delta(before, found).whole() == after


def test_what_differs_several_times_in_the_same_way_is_kept_once() -> None:
    name = b"a-rather-long-name-of-a-namespace"
    before, after = (b",".join(b'"n":"%b"' % one for one in [value] * 20) for value in (b"-", name))
    found = difference(before, after)
    assert found is not None
    assert (found.count(name), Delta(before, found).whole()) == (1, after)


def test_objects_of_other_groups_are_not_alike() -> None:
    assert likeness_of("/apps/jobs/a/web") != likeness_of("/batch/jobs/a/web")
    assert likeness_of("/apps/jobs/a/web/status") == ""


# What is worth sharing.


async def shared(path: Path, listener, sharing: Sharing, *objects: Value) -> int:
    """How many of some objects of one name are stored as differences."""
    storage = SqliteStorage(path, sharing=sharing)
    listener.revision = (await storage.open(listener)).revision
    for number, one in enumerate(objects):
        last = await storage.put(key(number), one, 0)
    await storage.compact(last.revision)
    await storage.close()
    return counted(path, "shared") if counted(path, "sqlite_schema WHERE name = 'shared'") else 0


@pytest.mark.parametrize(("size", "found"), [(1023, 0), (1024, 8)])
async def test_only_objects_of_a_kibibyte_are_shared(tmp_path: Path, listener, size: int, found: int) -> None:
    digits = [len(str(revision)) for revision in range(3, 11)]
    objects = [Value(b'"', b'"%b"%b' % (b"-" * (2 - more), b"x" * (size - 5))) for more in digits]
    assert await shared(tmp_path / "store.db", listener, Sharing(), *objects) == found


@pytest.mark.parametrize(("more", "found"), [(0, 2), (-1, 1)])
async def test_an_object_must_be_four_times_its_difference(tmp_path: Path, listener, more: int, found: int) -> None:
    def thing(word: bytes, filler: int) -> Value:
        return Value(b'{"r":"', b'","w":"%b","f":"%b"}' % (word, b"f" * filler))

    base, body = thing(b"b" * 60, 400).at(4), thing(b"a" * 60, 400).at(3)
    changes = difference(base, body)
    assert changes is not None
    filler = 400 + 4 * len(changes) - len(body) + more
    sharing = Sharing(copies=2, size=0)
    objects = thing(b"a" * 60, filler), thing(b"b" * 60, filler)
    assert await shared(tmp_path / "store.db", listener, sharing, *objects) == found


async def test_objects_that_are_mostly_unlike_are_not_shared(tmp_path: Path, listener) -> None:
    objects = [work(number, letter * 3000) for number, letter in enumerate("abc")]
    assert await shared(tmp_path / "store.db", listener, Sharing(copies=3, size=0), *objects) == 0


async def test_objects_of_another_shape_have_a_base_of_their_own(tmp_path: Path, listener) -> None:
    plain, other = work(0), work(0, '","more":"')
    objects = [plain, plain, plain, other, other, other, plain]
    assert await shared(tmp_path / "store.db", listener, Sharing(copies=3, size=0), *objects) == 7
    assert counted(tmp_path / "store.db", "base") == 2


async def test_sorts_of_which_too_many_wait_are_counted_anew(tmp_path: Path) -> None:
    sharing = Sharing(copies=2, size=0, times=0)
    with closing(connect(tmp_path / "store.db")) as db:
        names = [*(f"/g/k/a/{number}" for number in range(20_001)), "/g/k/b/0", "/g/k/b/1"]
        rows = [Row(revision, name, 0, False, b'"x"') for revision, name in enumerate(names, 3)]
        db.execute("BEGIN")
        for begin in range(0, len(rows), 500):
            append(db, rows[begin : begin + 500])
        few, many = Bases({}, sharing), Bases({}, sharing)
        assert few.shrink(db, 2, 20_002) == many.shrink(db, 2, 20_003) == []
        assert many.shrink(db, 20_003, 20_004) == []
        assert [record.key for record in few.shrink(db, 20_003, 20_004)] == ["/g/k/a/0", "/g/k/b/0"]
        db.execute("ROLLBACK")


async def test_a_file_that_shares_has_tables_for_it(tmp_path: Path, listener) -> None:
    storage, _ = await filled(tmp_path / "store.db", listener)
    await storage.close()
    assert counted(tmp_path / "store.db", "sqlite_schema WHERE name IN ('base', 'shared', 'unused')") == 3
