"""The high-water mark: a small file beside the database that says how far acknowledged writes go.

A database that ends below its mark has lost what was acknowledged: its file or its log was truncated, removed or put
back from a copy. The mark is written after each commit, before anybody hears of it, and made durable once a second and
when the database is closed in order. It is never above what is committed.
"""

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

_PERIOD = 1.0


class HighWaterMark:
    """Writes the mark of one database; belongs to the thread that commits."""

    def __init__(self, database: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Raises OSError if there is no room for the file."""
        self._file = os.open(mark_of(database), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        self._clock = clock
        self._synced = clock()
        self._written = 0

    def write(self, revision: int) -> None:
        """Everything up to a revision is committed: whoever kills the process now finds it written down."""
        with contextlib.suppress(OSError):  # a mark that is too low only notices less
            if revision > self._written:
                os.pwrite(self._file, _encoded(revision), 0)
                self._written = revision

    def sync_when_due(self) -> None:
        """Make the mark durable, at most once a second: it costs as much as a commit."""
        if self._clock() - self._synced >= _PERIOD:
            self._sync()

    def close(self, revision: int) -> None:
        """The last revision of an orderly end."""
        self.write(revision)
        self._sync()
        os.close(self._file)

    def _sync(self) -> None:
        with contextlib.suppress(OSError):
            os.fdatasync(self._file)
            self._synced = self._clock()


def mark_of(database: Path) -> Path:
    """Where the mark of a database is."""
    return database.with_name(f"{database.name}.mark")


def read_mark(database: Path) -> int:
    """The revision up to which writes were acknowledged; 0 if nobody wrote it down."""
    try:
        return int(mark_of(database).read_text())
    except (OSError, ValueError):
        return 0


def _encoded(revision: int) -> bytes:
    return b"%020d\n" % revision
