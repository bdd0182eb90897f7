"""A SQLite file of search that can be lost: one that is damaged, of another program or version is thrown away.

Only its owner may read it (0600), and its size is bounded. Readers never wait for the writer. Nothing here may be
called on the event loop.
"""

import logging
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

_PAGE = 4096
log = logging.getLogger(__name__)


class Layout(NamedTuple):
    """What is in a file."""

    program: int
    version: int
    schema: str


class File:
    """One file, used by one process; one thread writes, one reads."""

    def __init__(self, path: Path, layout: Layout, limit: int) -> None:
        """`limit` is how many bytes it may have."""
        self._path = path
        self._layout = layout
        self._limit = limit
        try:
            self._connect()
        except sqlite3.DatabaseError as error:
            log.info("the cache file %s is thrown away: %s", path, error)
            self.throw_away()

    def throw_away(self) -> None:
        """Begin with an empty file."""
        self.close()
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{self._path}{suffix}").unlink(missing_ok=True)
        self._connect()

    def close(self) -> None:
        """Close the file."""
        for connection in (getattr(self, "_reader", None), getattr(self, "_writer", None)):
            if connection is not None:
                connection.close()

    def _connect(self) -> None:
        os.close(os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600))
        self._path.chmod(0o600)
        self._writer = self._connection()
        run, (program, version, schema) = self._writer.execute, self._layout
        known = run("pragma application_id").fetchone()[0], run("pragma user_version").fetchone()[0]
        if known != (program, version):
            if run("select count(*) from sqlite_schema").fetchone()[0]:
                raise sqlite3.DatabaseError("it is of another program or version")
            run(f"pragma page_size = {_PAGE}")
            self._writer.executescript(
                f"begin; {schema} pragma application_id = {program}; pragma user_version = {version}; commit;"
            )
        run("pragma journal_mode = wal")
        run("pragma synchronous = normal")  # What a power failure takes back is read from the members again.
        run("pragma journal_size_limit = 16777216")
        run(f"pragma max_page_count = {self._limit // _PAGE}")
        self._reader = self._connection()
        self._reader.execute("pragma query_only = on")

    def _connection(self) -> sqlite3.Connection:
        made = sqlite3.connect(self._path, timeout=1.0, isolation_level=None, check_same_thread=False)
        made.execute("pragma cache_size = -8192")
        made.execute("pragma trusted_schema = off")
        return made

    def run(self, sentence: str, values: Iterable[Any] = ()) -> sqlite3.Cursor:
        """Execute a sentence of the writer."""
        return self._writer.execute(sentence, tuple(values))

    def begin(self) -> None:
        """Begin a transaction."""
        self._writer.execute("begin immediate")

    def commit(self) -> None:
        """Make everything since `begin` permanent."""
        self._writer.execute("commit")

    def rollback(self) -> None:
        """Undo everything since `begin`; it is fine when there was none."""
        if self._writer.in_transaction:
            self._writer.execute("rollback")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing."""
        self.begin()
        try:
            yield
            self.commit()
        except BaseException:
            self.rollback()
            raise

    def read(self, sentence: str, values: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
        """The rows of a query."""
        return self._reader.execute(sentence, tuple(values))

    @contextmanager
    def until(self, over: Callable[[], bool], every: int = 10_000) -> Iterator[None]:
        """Interrupt what is read when time is over: it raises `sqlite3.OperationalError`. Asks every so many steps."""
        self._reader.set_progress_handler(over, every)
        try:
            yield
        finally:
            self._reader.set_progress_handler(None, 0)
