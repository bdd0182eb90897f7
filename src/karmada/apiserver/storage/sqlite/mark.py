"""The high-water mark: a small file beside the database that says how far acknowledged writes go.

A database that ends below its mark has lost what was acknowledged: its file or its log was truncated, removed or put
back from a copy. The mark follows commits within a tenth of a second, is made durable once a second and when the
database is closed in order, and is never above what is committed.
"""

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

_WRITTEN_WITHIN = 0.1
_DURABLE_WITHIN = 1.0


class HighWaterMark:
    """Keeps the mark of one database; belongs to the thread that commits."""

    def __init__(
        self,
        database: Path,
        revision: int,
        clock: Callable[[], float] = time.monotonic,
        sync: Callable[[int], None] = os.fdatasync,
    ) -> None:
        """The mark of a database that ends at a revision. Raises OSError if there is no room for the file."""
        self._file = os.open(mark_of(database), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        self._clock = clock
        self._fdatasync = sync
        self._committed = self._written = revision
        self._written_at = self._synced_at = clock()

    def raise_to(self, revision: int) -> None:
        """Everything up to a revision is committed; `write_when_due` writes that down."""
        self._committed = max(self._committed, revision)

    def due_in(self) -> float | None:
        """Seconds until there is something to write; None while nothing is committed that is not written down."""
        if self._committed == self._written:
            return None
        return max(0.0, self._written_at + _WRITTEN_WITHIN - self._clock())

    def write_when_due(self) -> None:
        """Write the mark at most ten times a second: a system call for each commit would slow every commit down."""
        if self.due_in() == 0.0:
            self._write()
            if self._written_at - self._synced_at >= _DURABLE_WITHIN:
                self._sync()

    def close(self) -> None:
        """The mark of an orderly end."""
        self._write()
        self._sync()
        os.close(self._file)

    def _write(self) -> None:
        with contextlib.suppress(OSError):  # a mark that is too low only notices less
            os.pwrite(self._file, b"%020d\n" % self._committed, 0)
        self._written, self._written_at = self._committed, self._clock()

    def _sync(self) -> None:
        """As expensive as a commit."""
        with contextlib.suppress(OSError):
            self._fdatasync(self._file)
            self._synced_at = self._written_at


def mark_of(database: Path) -> Path:
    """Where the mark of a database is."""
    return database.with_name(f"{database.name}.mark")


def read_mark(database: Path) -> int:
    """The revision up to which writes were acknowledged; 0 if nobody wrote it down."""
    try:
        return int(mark_of(database).read_text())
    except (OSError, ValueError):
        return 0
