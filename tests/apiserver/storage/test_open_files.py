"""Whatever fails on a database leaves no file open, also while somebody still looks at the error."""

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.apiserver.storage.conftest import RecordingListener
from tests.apiserver.storage.test_backups import _broken_page, _missing_object, open_files, stored
from tests.apiserver.storage.test_sqlite import _foreign, _garbage, _newer
from tests.apiserver.storage.test_sqlite_faults import opened, run

from karmada.apiserver.storage.base import StorageFailed
from karmada.apiserver.storage.sqlite import SqliteStorage, StoredSnapshot, backup, recover, restore
from karmada.apiserver.storage.sqlite.mark import HighWaterMark, mark_of


def _lost(path: Path) -> None:
    stored(path, "/a")
    mark_of(path).write_bytes(b"%020d\n" % 99)


def _missing_and_lost(path: Path) -> None:
    _missing_object(path)
    mark_of(path).write_bytes(b"%020d\n" % 99)


async def serve(path: Path) -> None:
    await SqliteStorage(path).open(RecordingListener())


async def read(path: Path) -> None:
    await StoredSnapshot(path, "for a test").open(RecordingListener())


async def back_up(path: Path) -> None:
    backup(path, path.with_name("copy.db"))


async def put_back(path: Path) -> None:
    restore(path, path.with_name("new.db"))


async def accept(path: Path) -> None:
    recover(path)


@pytest.mark.parametrize(
    ("use", "spoil"),
    [
        *((serve, spoil) for spoil in (_garbage, _foreign, _newer, _missing_object, _lost)),
        *((read, spoil) for spoil in (_garbage, _missing_object)),
        *((back_up, spoil) for spoil in (_garbage, _broken_page)),
        *((put_back, spoil) for spoil in (_garbage, _newer, _missing_object, _broken_page)),
        *((accept, spoil) for spoil in (_garbage, _missing_and_lost)),
    ],
    ids=lambda function: function.__name__.strip("_"),
)
async def test_what_fails_leaves_no_file_open(
    tmp_path: Path, use: Callable[[Path], Any], spoil: Callable[[Path], None]
) -> None:
    spoil(tmp_path / "store.db")
    before = open_files()
    with pytest.raises(StorageFailed) as error:
        await use(tmp_path / "store.db")
    assert open_files() <= before
    assert str(error.value).startswith(f"{tmp_path / 'store.db'}: ")
    assert "closed database" not in str(error.value), "the first thing that failed is named"


async def test_a_history_that_cannot_be_read_leaves_no_file_open(tmp_path: Path, listener, obj) -> None:
    storage = await opened(tmp_path / "store.db", listener)
    record = await storage.put("/a", obj(), 0)
    run(tmp_path / "store.db", "ALTER TABLE log RENAME TO hidden")
    before = open_files()
    with pytest.raises(StorageFailed) as error:
        await storage.history("", record.revision - 1, record.revision)
    assert open_files() <= before
    assert "no such table" in str(error.value)
    await storage.close()


def test_a_mark_that_cannot_be_made_durable_is_tried_again(tmp_path: Path) -> None:
    now, tried = 0.0, 0

    def refused(file: int) -> None:
        nonlocal tried
        tried += 1
        raise OSError(errno.EIO, "Input/output error")

    mark = HighWaterMark(tmp_path / "store.db", 0, lambda: now, refused)
    for revision in (1, 2, 3):
        now = 1.0 + revision
        mark.raise_to(revision)
        mark.write_when_due()
        assert tried == revision, "the time of the last success stays"
    mark.close()
