"""Backup of a database in use, and restore of a backup.

A backup is a consistent copy as of one commit, taken beside a running server without holding up its writes.
A restored store continues well above the backup's revisions and with its history forgotten: clients that saw
revisions which no longer exist are told to list again, instead of silently missing changes.
"""

import os
import sqlite3
from pathlib import Path

from karmada.apiserver.storage.sqlite import database
from karmada.apiserver.storage.sqlite.database import Unusable
from karmada.apiserver.storage.sqlite.storage import lock

_REVISION_LEAP = 1_000_000_000


def backup(source: Path, target: Path) -> None:
    """Copy a database, in use or not, to a new file; the file appears when it is complete."""
    if not source.exists():
        raise Unusable(f"{source}: no such file")
    _refuse_existing(target)
    draft = _draft(target)
    try:
        _copy(source, draft)
        _publish(draft, target)
    finally:
        draft.unlink(missing_ok=True)


def restore(source: Path, target: Path) -> None:
    """Make a new database from a backup, for a server that is not running."""
    if not source.exists():
        raise Unusable(f"{source}: no such file")
    held = lock(target)
    draft = _draft(target)
    try:
        _refuse_existing(target)
        _copy(source, draft)
        db = database.connect(draft)
        try:
            database.load(db)
            database.forget_all(db, _REVISION_LEAP)
            db.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error as error:
            raise database.explain(error, source) from error
        finally:
            db.close()
        for left in ("-wal", "-shm"):  # of a database that was moved away without them
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


def _copy(source: Path, draft: Path) -> None:
    origin = sqlite3.connect(source, isolation_level=None)
    copy = sqlite3.connect(draft, isolation_level=None)
    try:
        origin.backup(copy)
        found = copy.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise Unusable(f"{source}: is corrupt ({found}); use another backup")
        copy.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error as error:
        raise database.explain(error, source) from error
    finally:
        copy.close()
        origin.close()


def _publish(draft: Path, target: Path) -> None:
    descriptor = os.open(draft, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(draft, target)
    database.sync_folder(target)
