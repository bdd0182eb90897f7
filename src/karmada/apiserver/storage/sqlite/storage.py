"""`SqliteStorage`: durable storage in one file, for one API server.

The event loop decides conflicts and gives out revisions; the writer thread makes batches durable; the loop then
calls the listener and answers. A key has at most one write under way: a second one waits for the outcome of the
first, so that a conflict is reported only against something that is, or will never be, visible.
"""

import asyncio
import errno
import fcntl
import os
import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from queue import SimpleQueue

from karmada.apiserver.storage.base import (
    Change,
    Listener,
    Mismatch,
    Outcome,
    Record,
    Snapshot,
    StorageFailed,
    Value,
    Write,
)
from karmada.apiserver.storage.sqlite import database
from karmada.apiserver.storage.sqlite.database import Base, Row, Unusable, Unwritable
from karmada.apiserver.storage.sqlite.mark import HighWaterMark, read_mark
from karmada.apiserver.storage.sqlite.sharing import WORTH, Bases, Sharing
from karmada.apiserver.storage.sqlite.writer import Done, Queue, Writer

Settled = Callable[[StorageFailed | None], None]


class _Pending:
    """An uncommitted write: the callback for its outcome, and the writers that queue for the same key."""

    __slots__ = ("context", "settled", "waiters")

    def __init__(self, context: object, settled: Settled) -> None:
        self.context = context
        self.settled = settled
        self.waiters: list[asyncio.Future[None]] = []


class _Batch:
    """Several writes that are answered together."""

    __slots__ = ("_answer", "left", "outcomes")

    def __init__(self, outcomes: list[Outcome]) -> None:
        self.outcomes = outcomes
        self.left = 0
        """Writes under way."""
        self._answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def settled(self, position: int, failed: StorageFailed | None) -> None:
        """One of the writes has ended."""
        self.outcomes[position] = failed
        self.left -= 1
        if not self.left:
            _resolve(self._answer, None)

    async def ended(self) -> None:
        """Wait until none is under way."""
        if self.left:
            await self._answer


class SqliteStorage:
    """See `storage.base` for the contract."""

    def __init__(self, path: Path, queue: Callable[[], Queue] = SimpleQueue, sharing: Sharing = WORTH) -> None:
        """`queue` decides when the writing thread gets its jobs; `sharing`, what is stored in little room."""
        self._path = path
        self._queue = queue
        self._sharing = sharing
        self._heads: dict[str, int] = {}
        """The committed revision of every key."""
        self._pending: dict[str, _Pending] = {}
        self._outbox: list[Row] = []
        """Writes that the thread has not been given yet."""
        self._revision = 0
        """The last revision given out, committed or not."""
        self._failing = False
        """Whether the last write failed."""
        self._lock = -1
        self._writer: Writer | None = None
        self._listener: Listener | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def open(self, listener: Listener) -> Snapshot:
        """Take the file for this process, bring it up to date, load it."""
        loop = self._loop = asyncio.get_running_loop()
        self._lock = lock(self._path)
        try:
            known: dict[int, Base] = {}
            db, snapshot = await asyncio.to_thread(open_database, self._path, known)
            mark = HighWaterMark(self._path, snapshot.revision)
        except OSError as error:
            os.close(self._lock)
            found = "the disk is full" if error.errno == errno.ENOSPC else f"cannot be written: {error.strerror}"
            raise Unwritable(f"{self._path}: {found}; free some space") from error
        except BaseException:
            os.close(self._lock)
            raise
        self._heads = {record.key: record.revision for record in snapshot.records}
        self._revision = snapshot.revision
        self._listener = listener

        def settle(rows: list[Row], failed: StorageFailed | None) -> None:
            loop.call_soon_threadsafe(self._settle, rows, failed)

        def shrunk(records: list[Record]) -> None:
            loop.call_soon_threadsafe(listener.shrunk, records)

        bases = Bases(known, self._sharing)
        self._writer = Writer(db, self._path, settle, mark, bases, shrunk, self._queue)
        return snapshot

    async def put(self, key: str, value: Value, expected: int, context: object = None) -> Record:
        """Write and wait for the commit."""
        row = await self._write(Write(key, value, expected, context), deleted=False)
        return Record(key, row.value, row.revision)

    async def delete(self, key: str, last: Value, expected: int, context: object = None) -> int:
        """Write and wait for the commit."""
        row = await self._write(Write(key, last, expected, context), deleted=True)
        return row.revision

    async def write_all(self, writes: Sequence[Write]) -> list[Outcome]:
        """Begin them in one turn, so that they are one commit or a few; those whose key is busy follow."""
        batch = _Batch([None] * len(writes))
        late: list[int] = []
        for position, write in enumerate(writes):
            if write.key in self._pending:
                late.append(position)
                continue
            try:
                self._begin(write, write.value is None, partial(batch.settled, position))
                batch.left += 1
            except (Mismatch, StorageFailed) as error:
                batch.outcomes[position] = error
        for position in late:
            try:
                await self._write(writes[position], deleted=writes[position].value is None)
            except (Mismatch, StorageFailed) as error:
                batch.outcomes[position] = error
        await batch.ended()
        return batch.outcomes

    async def history(self, prefix: str, after: int, until: int) -> list[Change]:
        """Read beside the writer."""
        return await asyncio.to_thread(_history, self._path, prefix, after, until)

    async def sync(self) -> None:
        """Nobody else writes."""

    async def check(self) -> None:
        """Believe the last write; after one that failed, try again without changing anything."""
        writer = self._running()
        if self._failing:
            await _finished(writer.probe)
            self._failing = False

    async def compact(self, revision: int) -> None:
        """Forget at once, clean up in small steps between writes; returns when that is done."""
        await _finished(partial(self._running().compact, revision))

    async def close(self) -> None:
        """Finish the queue, then close the file."""
        self._send()
        writer, self._writer = self._writer, None
        if writer is None:
            return
        await asyncio.to_thread(writer.stop)
        os.close(self._lock)

    def _running(self) -> Writer:
        if self._writer is None:
            raise StorageFailed(f"{self._path}: is closed")
        return self._writer

    async def _write(self, write: Write, deleted: bool) -> Row:
        loop = asyncio.get_running_loop()
        while (ahead := self._pending.get(write.key)) is not None:
            turn: asyncio.Future[None] = loop.create_future()
            ahead.waiters.append(turn)
            await turn
        answer: asyncio.Future[None] = loop.create_future()
        row = self._begin(write, deleted, partial(_resolve, answer))
        await answer
        return row

    def _begin(self, write: Write, deleted: bool, settled: Settled) -> Row:
        """Give a write of a free key its revision, and have it committed."""
        key, value, expected, context = write
        actual = self._heads.get(key, 0)
        if actual != expected:
            raise Mismatch(key, expected, actual)
        self._running()
        revision = self._revision + 1
        row = Row(revision, key, expected, deleted, b"" if value is None else value.at(revision))
        self._revision = revision
        self._pending[key] = _Pending(context, settled)
        if not self._outbox:
            asyncio.get_running_loop().call_soon(self._send)
        self._outbox.append(row)
        return row

    def _send(self) -> None:
        """Hand over what gathered in this turn of the event loop: waking the thread once costs less than often."""
        if self._outbox:
            self._running().write(self._outbox)
            self._outbox = []

    def _settle(self, rows: list[Row], failed: StorageFailed | None) -> None:
        self._failing = failed is not None
        pending = [self._pending.pop(row.key) for row in rows]
        if failed is None and self._listener is not None:
            changes = []
            for row, write in zip(rows, pending, strict=True):
                if row.deleted:
                    del self._heads[row.key]
                    changes.append(Change(row.key, row.revision, None, row.value or None, None, write.context))
                else:
                    self._heads[row.key] = row.revision
                    changes.append(Change(row.key, row.revision, row.value, None, None, write.context))
            self._listener.committed(changes, rows[-1].revision)
        for write in pending:
            write.settled(failed)
            for turn in write.waiters:
                _resolve(turn, None)


async def _finished(job: Callable[[Done], None]) -> None:
    """Give the writer a job and wait until it is done."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def finished(failed: StorageFailed | None) -> None:
        loop.call_soon_threadsafe(_resolve, done, failed)

    job(finished)
    await done


def _resolve(future: asyncio.Future[None], failed: StorageFailed | None) -> None:
    if future.done():
        return  # its author was cancelled; the write stands all the same
    if failed is None:
        future.set_result(None)
    else:
        future.set_exception(failed)


def lock(path: Path) -> int:
    """Take the file for this process until the descriptor is closed; two servers must never share it."""
    try:
        descriptor = os.open(f"{path}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Unusable(f"{path}: cannot be opened for writing: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise Unusable(f"{path}: is in use by another API server; stop it, or choose another file") from error
    return descriptor


def open_database(path: Path, known: dict[int, Base] | None = None) -> tuple[sqlite3.Connection, Snapshot]:
    """Open a database for writing; raises `Unwritable` if it has lost what was acknowledged, or the disk is full.

    `known` is filled with the bases of what it holds.
    """
    mark = read_mark(path)
    if mark and not (path.exists() and path.stat().st_size):
        raise _lost(path, mark, "is missing or empty")
    db = database.connect(path)
    try:
        snapshot = database.load(db, known)
        if snapshot.revision < mark:
            raise _lost(path, mark, f"ends at revision {snapshot.revision}")
        database.probe(db)
    except sqlite3.Error as error:
        explained = database.explain(error, path)
        db.close()
        raise explained from error
    except BaseException:
        db.close()
        raise
    return db, snapshot


def _lost(path: Path, mark: int, found: str) -> Unwritable:
    return Unwritable(
        f"{path}: acknowledged writes up to revision {mark} are lost, the database {found}; nothing is written to it: "
        "restore a backup, or accept the loss with `karmada recover`"
    )


def _history(path: Path, prefix: str, after: int, until: int) -> list[Change]:
    db = sqlite3.connect(path, isolation_level=None)
    try:
        return database.history(db, prefix, after, until)
    except sqlite3.Error as error:
        raise database.explain(error, path) from error
    finally:
        db.close()
