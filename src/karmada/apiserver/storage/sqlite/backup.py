"""Backup of databases in use, and restore of a backup.

A backup is a consistent copy as of one commit, taken beside a running server without holding up its writes. Several
databases are copied as of one moment: a `Cut` holds their writers back until it has a view of each, which takes
milliseconds, and copies from the views.
A restored store continues well above the backup's revisions and with its history forgotten: clients that saw
revisions which no longer exist get 410 and list again, instead of silently missing changes.
"""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from types import TracebackType

from karmada.apiserver.storage.sqlite import database
from karmada.apiserver.storage.sqlite.database import Unusable
from karmada.apiserver.storage.sqlite.mark import read_mark
from karmada.apiserver.storage.sqlite.storage import lock

_REVISION_LEAP = 1_000_000_000
_PATIENCE = 10.0
"""Seconds that one database is waited for: a writer's transaction takes a small part of one."""


class Cut:
    """A view of several databases, in use or not, as of one moment at which none of them was being written."""

    def __init__(self, sources: Sequence[Path]) -> None:
        self._sources = sources
        self._views: dict[Path, sqlite3.Connection] = {}
        self._open = ExitStack()

    def __enter__(self) -> "Cut":
        try:
            with ExitStack() as held:
                for source in self._sources:
                    held.enter_context(_held(source))
                for source in self._sources:
                    self._views[source] = self._open.enter_context(_view(source))
        except BaseException:
            self._open.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._open.close()

    def copy(self, source: Path, target: Path, *, plain: bool = False) -> None:
        """Copy one of the databases, as of that moment, to a new file; the file appears when it is complete.

        A `plain` one is of the format that earlier versions can use.
        """
        _refuse_existing(target)
        draft = _draft(target)
        try:
            _copy(self._views[source], source, draft, plain)
            _publish(draft, target)
        finally:
            draft.unlink(missing_ok=True)


def backup(source: Path, target: Path, *, plain: bool = False) -> None:
    """Copy a database, in use or not, to a new file; the file appears when it is complete."""
    with Cut([source]) as cut:
        cut.copy(source, target, plain=plain)


def recover(path: Path) -> tuple[int, int] | None:
    """Accept that acknowledged writes are lost, for a server that is not running: from and to which revision.

    None if nothing is lost. Revisions go on far above those that were lost, as after a restore.
    """
    held = lock(path)
    try:
        mark = read_mark(path)
        db = database.connect(path)
        try:
            last = database.last_revision(db)
            if last >= mark:
                return None
            database.load(db)
            database.forget_all(db, mark - last + _REVISION_LEAP)
        except sqlite3.Error as error:
            raise database.explain(error, path) from error
        finally:
            db.close()
        return last + 1, mark
    finally:
        os.close(held)


def _held(source: Path) -> "closing[sqlite3.Connection]":
    """Keep others from writing to a database until the connection is closed."""
    return _connected(source, "BEGIN IMMEDIATE")


def _view(source: Path) -> "closing[sqlite3.Connection]":
    """A connection that sees what is committed now, and nothing later."""
    return _connected(source, "BEGIN", "SELECT count(*) FROM sqlite_schema")


def _connected(source: Path, *statements: str) -> "closing[sqlite3.Connection]":
    if not source.exists():
        raise Unusable(f"{source}: no such file")
    db = sqlite3.connect(source, isolation_level=None, timeout=_PATIENCE)
    try:
        for statement in statements:
            db.execute(statement).fetchall()
    except sqlite3.Error as error:
        db.close()
        raise database.explain(error, source) from error
    return closing(db)


def restore(source: Path, target: Path) -> None:
    """Make a new database from a backup, for a server that is not running."""
    if not source.exists():
        raise Unusable(f"{source}: no such file")
    held = lock(target)
    draft = _draft(target)
    try:
        _refuse_existing(target)
        with _view(source) as origin:
            _copy(origin, source, draft)
        db = database.connect(draft, source)
        try:
            database.load(db)
            database.forget_all(db, _REVISION_LEAP)
            db.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error as error:
            raise database.explain(error, source) from error
        finally:
            db.close()
        for left in ("-wal", "-shm", ".mark"):  # of a database that was moved away without them
            target.with_name(target.name + left).unlink(missing_ok=True)
        _publish(draft, target)
    finally:
        draft.unlink(missing_ok=True)
        os.close(held)


def _refuse_existing(target: Path) -> None:
    if target.exists():
        raise Unusable(f"{target}: exists already; move it away first")


def _draft(target: Path) -> Path:
    draft = target.with_name(f"{target.name}.partial")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise Unusable(f"{draft}: cannot be written: {error.strerror}") from error
    return draft


def _copy(origin: sqlite3.Connection, source: Path, draft: Path, plain: bool = False) -> None:
    copy = sqlite3.connect(draft, isolation_level=None)
    try:
        origin.backup(copy)
        found = copy.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise Unusable(f"{source}: is corrupt ({found}); use another backup")
        copy.execute("PRAGMA journal_mode = DELETE")
        if plain:
            database.unshare(copy)
    except sqlite3.Error as error:
        is_full = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
        raise database.explain(error, draft if is_full else source) from error
    finally:
        copy.close()


def _publish(draft: Path, target: Path) -> None:
    descriptor = os.open(draft, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(draft, target)
    database.sync_folder(target)
