"""The one thread that writes to the database: whatever waits when it is free becomes one transaction.

Between two transactions it takes at most one short step of cleaning up, so compaction never holds writes back
for long. It ends when it is asked to, after everything queued before that.
"""

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, Protocol

from karmada.apiserver.storage.base import Record, StorageFailed
from karmada.apiserver.storage.sqlite.compaction import sweep
from karmada.apiserver.storage.sqlite.database import Row, append, explain, forget, probe
from karmada.apiserver.storage.sqlite.mark import HighWaterMark
from karmada.apiserver.storage.sqlite.sharing import Bases
from karmada.machinery.os_errors import spelled

_BATCH = 512

Settle = Callable[[list[Row], StorageFailed | None], None]
Done = Callable[[StorageFailed | None], None]
Shrunk = Callable[[list[Record]], None]


class _Compaction(NamedTuple):
    revision: int
    done: Done


class _Probe(NamedTuple):
    done: Done


class Queue(Protocol):
    """How jobs get into the thread."""

    def put(self, job: Any) -> None:
        """Never waits."""
        ...

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Wait for a job; raises `Empty` if none came in time."""
        ...

    def empty(self) -> bool:
        """Whether `get` would wait."""
        ...


class Writer:
    """Owns the connection while it runs; the callbacks are called in its thread."""

    def __init__(
        self,
        db: sqlite3.Connection,
        path: Path,
        settle: Settle,
        mark: HighWaterMark,
        bases: Bases,
        shrunk: Shrunk,
        queue: Callable[[], Queue] = SimpleQueue,
    ) -> None:
        self._db = db
        self._mark = mark
        self._path = path
        self._settle = settle
        self._bases = bases
        self._shrunk = shrunk
        self._queue = queue()
        """Of lists of rows, compactions, probes; None ends the thread."""
        self._sweeping: list[Done] = []
        self._thread = threading.Thread(target=self._run, name="sqlite-writer", daemon=True)
        self._thread.start()

    def write(self, rows: list[Row]) -> None:
        """Queue writes; `settle` gets how they ended."""
        self._queue.put(rows)

    def compact(self, revision: int, done: Done) -> None:
        """Queue a compaction; `done` gets how it ended."""
        self._queue.put(_Compaction(revision, done))

    def probe(self, done: Done) -> None:
        """Queue a write that changes nothing; `done` gets how it ended."""
        self._queue.put(_Probe(done))

    def stop(self) -> None:
        """Finish what is queued, close the connection; returns when the thread has ended."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        going = True
        while going:
            rows: list[Row] = []
            while going and len(rows) < _BATCH:
                if self._queue.empty() and (rows or self._sweeping):
                    break
                try:
                    job = self._queue.get(timeout=self._mark.due_in())
                except Empty:
                    break
                if job is None:
                    going = False
                elif isinstance(job, list):
                    rows += job
                elif isinstance(job, _Compaction):
                    self._begin(job)
                else:
                    job.done(self._guarded(probe))
            if rows:
                self._write(rows)
            self._mark.write_when_due()
            if self._sweeping:
                self._sweep()
        self._finish(StorageFailed(f"{self._path}: was closed; compaction goes on at the next start"))
        self._db.close()
        self._mark.close()

    def _write(self, rows: list[Row]) -> None:
        failed = self._guarded(append, rows)
        if failed is None or len(rows) == 1:
            self._finished(rows, failed)
            return
        for row in rows:  # one that cannot be written must not take the others with it
            self._finished([row], self._guarded(append, [row]))

    def _finished(self, rows: list[Row], failed: StorageFailed | None) -> None:
        self._settle(rows, failed)
        if failed is None:
            self._mark.raise_to(rows[-1].revision)

    def _guarded(self, write: Callable[..., None], *arguments: object) -> StorageFailed | None:
        try:
            write(self._db, *arguments)
        except sqlite3.Error as error:
            return explain(error, self._path)
        except Exception as error:  # whatever it is, the thread must live on
            return StorageFailed(f"{self._path}: cannot write this: {spelled(error)}")
        return None

    def _begin(self, job: _Compaction) -> None:
        self._sweeping.append(job.done)
        try:
            forget(self._db, job.revision)
        except sqlite3.Error as error:
            self._finish(explain(error, self._path))

    def _sweep(self) -> None:
        try:
            swept = sweep(self._db, self._bases)
            if swept.shrunk:
                self._shrunk(swept.shrunk)
            if not swept.more:
                self._finish(None)
        except sqlite3.Error as error:
            self._finish(explain(error, self._path))

    def _finish(self, failed: StorageFailed | None) -> None:
        for done in self._sweeping:
            done(failed)
        self._sweeping = []
