"""The database file: its format, and everything that is said to it in SQL.

Format 1:
- `log` holds one row per write: its revision, key, the revision it replaced (0: none), whether it deleted the key,
  and the object (for a deletion its final state). Rows are only ever added, and removed by compaction. The object
  stands last, so that looking for keys reads none of it.
- `current` names the row of each existing key, so an object is stored once.
- `meta.compacted`: history up to this revision is forgotten. `meta.swept`: rows up to here really are removed.
  A crash in between is harmless: sweeping goes on where it stopped.

A row below `compacted` survives while it is the state some later change replaced, as watchers that resume need it.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from karmada.apiserver.storage.base import FIRST_REVISION, Change, Compacted, Record, Snapshot, StorageFailed

APPLICATION_ID = 0x6B61726D
_WAL_PAGES = 4000
_SWEEP = 500
_SPARE_PAGES = 1000
"""Kept in the file for new rows."""
_BATCH = 500
_LEAST_ROOM = 64 << 10
"""Bytes on the disk, as the index of the log takes."""


class Row(NamedTuple):
    """A row of the log."""

    revision: int
    key: str
    previous: int
    deleted: bool
    value: bytes


class Unusable(StorageFailed):
    """The file cannot be used at all; the message says why and what to do."""


class Unwritable(StorageFailed):
    """What is stored can be read, but nothing may be written; the message says why and what to do."""


def _create(db: sqlite3.Connection) -> None:
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(
        "CREATE TABLE log (revision INTEGER PRIMARY KEY, key TEXT NOT NULL, previous INTEGER NOT NULL,"
        " deleted INTEGER NOT NULL, value BLOB NOT NULL)"
    )
    db.execute("CREATE TABLE current (key TEXT PRIMARY KEY, revision INTEGER NOT NULL) WITHOUT ROWID")
    db.execute("CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID")
    db.execute("INSERT INTO meta VALUES ('compacted', ?), ('swept', ?)", (FIRST_REVISION, FIRST_REVISION))


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_create,)
"""Step i brings a file from format i to i + 1; an empty file has format 0. Each step is one transaction."""

FORMAT = len(MIGRATIONS)


def connect(path: Path) -> sqlite3.Connection:
    """Open the file, creating it (readable by its owner only: it holds Secrets) or bringing it to today's format."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        sync_folder(path)
    except OSError as error:
        raise Unusable(f"{path}: cannot be opened for writing: {error.strerror}") from error
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
    try:
        db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        _migrate(db, path)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute(f"PRAGMA wal_autocheckpoint = {_WAL_PAGES}")
        db.execute(f"PRAGMA journal_size_limit = {2 * _WAL_PAGES * 4096}")
        db.execute("PRAGMA temp_store = MEMORY")
        db.execute(_FOLLOW)
    except sqlite3.Error as error:
        db.close()
        raise explain(error, path) from error
    except BaseException:
        db.close()
        raise
    return db


def sync_folder(path: Path) -> None:
    """Make a new file's name as durable as its contents."""
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _migrate(db: sqlite3.Connection, path: Path) -> None:
    version, owner = _pragma(db, "user_version"), _pragma(db, "application_id")
    if owner != APPLICATION_ID and _pragma(db, "schema_version"):
        raise Unusable(f"{path}: is a database of another program; choose another file")
    if version > FORMAT:
        raise Unusable(
            f"{path}: was written by a newer version (format {version}, this one knows {FORMAT}); "
            "use that version, or restore an older backup"
        )
    for step in range(version, FORMAT):
        db.execute("BEGIN IMMEDIATE")
        MIGRATIONS[step](db)
        db.execute(f"PRAGMA user_version = {step + 1}")
        db.execute("COMMIT")


def _pragma(db: sqlite3.Connection, name: str) -> int:
    return int(db.execute(f"PRAGMA {name}").fetchone()[0])


_CORRUPT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_REMEDIES = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space, writes then go on",
    sqlite3.SQLITE_READONLY: "is read-only; make the file and its folder writable",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check that the folder exists and is writable",
    sqlite3.SQLITE_BUSY: "is locked by another process; stop it first",
    sqlite3.SQLITE_IOERR: "the disk failed to read or write; check it and the space left",
}


def explain(error: sqlite3.Error, path: Path) -> StorageFailed:
    """The error in words that name the file and a remedy."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    if code in _CORRUPT:
        return Unusable(f"{path}: is corrupt or not a database ({error}); restore a backup")
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _is_full(path)):
        return Unwritable(f"{path}: {_REMEDIES[sqlite3.SQLITE_FULL]} ({error})")
    return StorageFailed(f"{path}: {_REMEDIES.get(code, 'the database failed')} ({error})")


def _is_full(path: Path) -> bool:
    """Whether the disk has no room even for what the database needs to be opened."""
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _LEAST_ROOM


def meta(db: sqlite3.Connection, name: str) -> int:
    """One of the numbers in `meta`."""
    return int(db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()[0])


def set_meta(db: sqlite3.Connection, name: str, value: int) -> None:
    """Change one of the numbers in `meta`."""
    db.execute("UPDATE meta SET value = ? WHERE name = ?", (value, name))


def last_revision(db: sqlite3.Connection) -> int:
    """The last revision that was given out."""
    newest = db.execute("SELECT max(revision) FROM log").fetchone()[0]
    return max(newest or 0, meta(db, "compacted"))


def load(db: sqlite3.Connection) -> Snapshot:
    """The current state."""
    rows = db.execute(
        "SELECT c.key, l.value, c.revision FROM current c LEFT JOIN log l ON l.revision = c.revision ORDER BY c.key"
    )
    records = [Record(*row) for row in rows]
    if any(record.value is None for record in records):
        raise sqlite3.DatabaseError("objects are missing from the log")
    return Snapshot(records, last_revision(db))


def append(db: sqlite3.Connection, rows: list[Row]) -> None:
    """Write a batch, in the order of revisions; durable when this returns, without any effect when it raises.

    One statement for the whole batch, which is its own transaction; `_FOLLOW` keeps `current` up with it. Each further
    statement would give the interpreter lock away and have to win it back from the busy event loop.
    """
    db.execute(_insert(len(rows)), [part for row in rows for part in row])


def probe(db: sqlite3.Connection) -> None:
    """A durable write that changes nothing; raises what the next one would."""
    db.execute(f"PRAGMA user_version = {FORMAT}")  # written even when it is the same; a row would not be


@cache
def _insert(rows: int) -> str:
    return "INSERT INTO log VALUES " + ", ".join(["(?, ?, ?, ?, ?)"] * rows)


_FOLLOW = """CREATE TEMP TRIGGER follow AFTER INSERT ON main.log BEGIN
    DELETE FROM current WHERE NEW.deleted AND key = NEW.key;
    INSERT OR REPLACE INTO current SELECT NEW.key, NEW.revision WHERE NOT NEW.deleted;
END"""
"""Belongs to the connection, not to the file."""


def history(db: sqlite3.Connection, prefix: str, after: int, until: int) -> list[Change]:
    """Writes of keys with a prefix and after < revision <= until, the first few hundred of them."""
    db.execute("BEGIN")
    try:
        compacted = meta(db, "compacted")
        if after < compacted:
            raise Compacted(compacted)
        rows: Iterable[tuple[str, int, bool, bytes, int, bytes]] = db.execute(
            "SELECT l.key, l.revision, l.deleted, l.value, l.previous, p.value FROM log l"
            " LEFT JOIN log p ON p.revision = l.previous"
            " WHERE l.revision > ? AND l.revision <= ? AND substr(l.key, 1, ?) = ? ORDER BY l.revision LIMIT ?",
            (after, until, len(prefix), prefix, _BATCH),
        )
        found = []
        for key, revision, deleted, value, replaced, old in rows:
            previous = Record(key, old, replaced) if replaced else None
            found.append(Change(key, revision, None if deleted else value, value if deleted else None, previous))
        return found
    finally:
        db.execute("ROLLBACK")


def forget(db: sqlite3.Connection, revision: int) -> None:
    """Declare the history up to a revision forgotten; `sweep` removes it."""
    if revision > meta(db, "compacted"):
        set_meta(db, "compacted", min(revision, last_revision(db)))


def forget_all(db: sqlite3.Connection, leap: int) -> None:
    """Forget the whole history and go on at a revision far above it."""
    db.execute("BEGIN IMMEDIATE")
    set_meta(db, "compacted", last_revision(db) + leap)
    db.execute("COMMIT")


def sweep(db: sqlite3.Connection) -> bool:
    """Remove some forgotten rows, then some of the room they took; false when there is nothing left to do."""
    compacted, swept = meta(db, "compacted"), meta(db, "swept")
    if swept >= compacted:
        return _shrink(db)
    chunk = "SELECT revision, previous, deleted FROM log WHERE revision > ? AND revision <= ? ORDER BY revision LIMIT ?"
    rows = db.execute(chunk, (swept, compacted, _SWEEP)).fetchall()
    reached = rows[-1][0] if len(rows) == _SWEEP else compacted
    dead = [(previous,) for _, previous, _ in rows if previous] + [(row[0],) for row in rows if row[2]]
    db.execute("BEGIN IMMEDIATE")
    try:
        db.executemany("DELETE FROM log WHERE revision = ?", dead)
        set_meta(db, "swept", reached)
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    return True


def _shrink(db: sqlite3.Connection) -> bool:
    unused = _pragma(db, "freelist_count") - _SPARE_PAGES
    if unused <= 0:
        return False
    db.execute(f"PRAGMA incremental_vacuum({min(unused, _SWEEP)})").fetchall()
    return True
