"""`StoredSnapshot`: what a database holds, for an API server that can serve it but must not write.

It is read once, without writing anything: a full disk does not hinder it. Writes are refused with the reason.
"""

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from karmada.apiserver.storage.base import (
    EMPTY,
    Change,
    Compacted,
    Listener,
    Outcome,
    Record,
    Snapshot,
    StorageFailed,
    Value,
    Write,
)
from karmada.apiserver.storage.sqlite import database
from karmada.apiserver.storage.sqlite.storage import lock, open_database


class StoredSnapshot:
    """See `storage.base` for the contract; every write fails."""

    def __init__(self, path: Path, reason: str) -> None:
        self._path = path
        self._reason = reason
        self._revision = 0
        self._lock = -1

    async def open(self, listener: Listener) -> Snapshot:
        """Take the file for this process and read it."""
        self._lock = lock(self._path)
        try:
            snapshot = await asyncio.to_thread(_read, self._path)
        except BaseException:
            os.close(self._lock)
            raise
        self._revision = snapshot.revision
        return snapshot

    async def put(self, key: str, value: Value, expected: int, context: object = None) -> Record:
        """Refused."""
        raise StorageFailed(self._reason)

    async def delete(self, key: str, last: Value, expected: int, context: object = None) -> int:
        """Refused."""
        raise StorageFailed(self._reason)

    async def write_all(self, writes: Sequence[Write]) -> list[Outcome]:
        """Refused."""
        return [StorageFailed(self._reason)] * len(writes)

    async def history(self, prefix: str, after: int, until: int) -> list[Change]:
        """Nothing is known of the past: clients list again."""
        raise Compacted(self._revision)

    async def sync(self) -> None:
        """Nobody writes."""

    async def check(self) -> None:
        """Writes fail."""
        raise StorageFailed(self._reason)

    async def compact(self, revision: int) -> None:
        """There is no history."""

    async def close(self) -> None:
        """Close the file."""
        os.close(self._lock)

    async def mended(self) -> bool:
        """Whether the database could be opened for writing now."""
        try:
            db, _ = await asyncio.to_thread(open_database, self._path)
        except StorageFailed:
            return False
        db.close()
        return True


def _read(path: Path) -> Snapshot:
    if not path.exists() or not path.stat().st_size:
        return EMPTY
    # In a connection that has the file for itself, the index of the log is kept in memory and needs no room on disk.
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        try:
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
            return database.load(db)
        except sqlite3.Error as error:
            raise database.explain(error, path) from error
