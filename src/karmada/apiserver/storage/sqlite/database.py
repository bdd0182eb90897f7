"""The database file: its format, and everything that is said to it in SQL.

Format 1:
- `log` holds one row per write: its revision, key, the revision it replaced (0: none), whether it deleted the key,
  and the object (for a deletion its final state, or nothing where that is the state it replaced). Rows are only ever
  added, and removed by compaction. The object stands last, so that looking for keys reads none of it.
- `current` names the row of each existing key, so an object is stored once.
- `meta.compacted`: history up to this revision is forgotten. `meta.swept`: rows up to here really are removed.
  A crash in between is harmless: sweeping goes on where it stopped.

A row below `compacted` survives while it is the state some later change replaced, as watchers that resume need it.

Format 2 is format 1 with two more tables. A row of `shared` stands for one of the log that is the current state of its
key: its object is stored as the difference from a row of `base` (`storage.delta`), which is compressed. `base.uses`
counts the rows that name it; the last one takes it with it. A file becomes one of format 2 when there is something to
share (see `sharing`); until then earlier versions can use it.
"""

import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from karmada.apiserver.storage.base import FIRST_REVISION, Change, Compacted, Record, Snapshot, StorageFailed
from karmada.apiserver.storage.delta import Delta

APPLICATION_ID = 0x6B61726D
_WAL_PAGES = 4000
_BATCH = 500
_ROUNDED = 4096
"""Rows: twice as many are more values than every SQLite takes in a statement."""
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


def share(db: sqlite3.Connection) -> None:
    """Bring a file of format 1 to format 2, within a transaction."""
    db.execute(
        "CREATE TABLE base (id INTEGER PRIMARY KEY, likeness TEXT NOT NULL, uses INTEGER NOT NULL, value BLOB NOT NULL)"
    )
    db.execute("CREATE INDEX unused ON base (id) WHERE uses = 0")
    db.execute("CREATE TABLE shared (revision INTEGER PRIMARY KEY, base INTEGER NOT NULL, changes BLOB NOT NULL)")
    db.execute(f"PRAGMA user_version = {SHARING}")
    _count_uses(db)


def unshare(db: sqlite3.Connection) -> None:
    """Bring a file of format 2 back to format 1, which earlier versions can use: every object is stored whole again.

    What a shared state replaced is forgotten already, so its row names nothing before it.
    """
    if not is_sharing(db):
        return
    db.execute("BEGIN IMMEDIATE")
    known = bases(db)
    keys = dict(db.execute("SELECT previous, key FROM log")) | dict(db.execute("SELECT revision, key FROM current"))
    rows = [
        Row(revision, keys[revision], 0, False, Delta(known[base].value, changes).whole())
        for revision, base, changes in db.execute("SELECT revision, base, changes FROM shared")
    ]
    db.executemany(_insert(1), rows)
    db.execute("DROP TABLE shared")
    db.execute("DROP TABLE base")
    db.execute(f"PRAGMA user_version = {SHARING - 1}")
    db.execute("COMMIT")


def _count_uses(db: sqlite3.Connection) -> None:
    db.execute(
        "CREATE TEMP TRIGGER released AFTER DELETE ON main.shared BEGIN"
        " UPDATE base SET uses = uses - 1 WHERE id = OLD.base; END"
    )


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_create,)
"""Step i brings a file from format i to i + 1; an empty file has format 0. Each step is one transaction."""

SHARING = 2
"""The format in which objects may be stored as differences."""
FORMAT = SHARING
"""The newest one that is known."""


def connect(path: Path, origin: Path | None = None) -> sqlite3.Connection:
    """Open the file, creating it (readable by its owner only: it holds Secrets) or bringing it to today's format.

    `origin` is the file that is named where the format is a wrong one, if this is a copy of it.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        sync_folder(path)
    except OSError as error:
        raise Unusable(f"{path}: cannot be opened for writing: {error.strerror}") from error
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
    try:
        db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        _migrate(db, origin or path)
        _log_ahead(db, path)
        db.execute("PRAGMA synchronous = FULL")
        db.execute(f"PRAGMA wal_autocheckpoint = {_WAL_PAGES}")
        db.execute(f"PRAGMA journal_size_limit = {2 * _WAL_PAGES * 4096}")
        db.execute("PRAGMA temp_store = MEMORY")
        db.execute(_FOLLOW)
        if is_sharing(db):
            _count_uses(db)
    except sqlite3.Error as error:
        # Before it is closed: that removes its log, and a full disk would seem to have room.
        explained = explain(error, path)
        db.close()
        raise explained from error
    except BaseException:
        db.close()
        raise
    return db


def _log_ahead(db: sqlite3.Connection, path: Path) -> None:
    """Switch to a write-ahead log; raises `Unwritable` where SQLite goes on with a rollback journal: that may be
    back after a power failure, and takes back what was acknowledged."""
    mode = db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise Unwritable(
            f"{path}: no write-ahead log can be kept beside it (SQLite offers a journal in mode {mode}); "
            "free some space, or choose a folder on a local disk"
        )


def sync_folder(path: Path) -> None:
    """Make a new file's name as durable as its contents."""
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _migrate(db: sqlite3.Connection, path: Path) -> None:
    version, owner = pragma(db, "user_version"), pragma(db, "application_id")
    if owner != APPLICATION_ID and pragma(db, "schema_version"):
        raise Unusable(f"{path}: is a database of another program; choose another file")
    if version > FORMAT:
        raise Unusable(
            f"{path}: was written by a newer version (format {version}, this one knows {FORMAT}); "
            "use that version, or restore an older backup"
        )
    for step in range(version, len(MIGRATIONS)):
        db.execute("BEGIN IMMEDIATE")
        MIGRATIONS[step](db)
        db.execute(f"PRAGMA user_version = {step + 1}")
        db.execute("COMMIT")


def pragma(db: sqlite3.Connection, name: str) -> int:
    return int(db.execute(f"PRAGMA {name}").fetchone()[0])


def is_sharing(db: sqlite3.Connection) -> bool:
    """Whether objects may be stored as differences."""
    return pragma(db, "user_version") >= SHARING


_CORRUPT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_WHEN_FULL = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
"""What SQLite says instead if it has no room for a file beside the database."""
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
    if code == sqlite3.SQLITE_FULL or (code in _WHEN_FULL and _is_full(path)):
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


class Base(NamedTuple):
    """What objects that resemble it are stored as differences from."""

    likeness: str
    value: bytes


def bases(db: sqlite3.Connection) -> dict[int, Base]:
    """All bases, the oldest first."""
    if not is_sharing(db):
        return {}
    rows = db.execute("SELECT id, likeness, value FROM base ORDER BY id")
    return {number: Base(likeness, zlib.decompress(value)) for number, likeness, value in rows}


def load(db: sqlite3.Connection, known: dict[int, Base] | None = None) -> Snapshot:
    """The current state; `known` is filled with the bases that it shares."""
    known = {} if known is None else known
    try:
        known |= bases(db)
        records = [Record(key, _stored(value, known, base), revision) for key, value, revision, base in _current(db)]
    except (ValueError, LookupError, zlib.error):
        raise sqlite3.DatabaseError("objects are stored as differences from something else") from None
    if any(record.value is None for record in records):
        raise sqlite3.DatabaseError("objects are missing from the log")
    return Snapshot(records, last_revision(db))


def _current(db: sqlite3.Connection) -> Iterable[tuple[str, bytes, int, int | None]]:
    value, base, join = "l.value", "NULL", ""
    if is_sharing(db):
        value, base, join = "ifnull(s.changes, l.value)", "s.base", " LEFT JOIN shared s ON s.revision = c.revision"
    return db.execute(
        f"SELECT c.key, {value}, c.revision, {base}"
        f" FROM current c LEFT JOIN log l ON l.revision = c.revision{join} ORDER BY c.key"
    )


def _stored(value: bytes, known: dict[int, Base], base: int | None) -> bytes | Delta:
    if base is None:
        return value
    delta = Delta(known[base].value, value)
    if len(delta.whole()) != delta.size:
        raise ValueError
    return delta


def append(db: sqlite3.Connection, rows: list[Row]) -> None:
    """Write a batch, in the order of revisions; durable when this returns, without any effect when it raises.

    One statement for the whole batch, which is its own transaction; `_FOLLOW` keeps `current` up with it. Each further
    statement would give the interpreter lock away and have to win it back from the busy event loop.
    """
    room = room_for(len(rows))
    nothing = [None] * (len(Row._fields) * (room - len(rows)))
    db.execute(_insert(room), [*(part for row in rows for part in row), *nothing])


def room_for(rows: int) -> int:
    """How many rows the statement has that writes so many: a power of two, the rest of it stays empty.

    A connection keeps its last 128 statements, each with a copy of what it wrote last: with a statement for every
    number of rows the copies grew for an hour, to 30 MB and more.
    """
    return 1 << (rows - 1).bit_length() if rows <= _ROUNDED else rows


def probe(db: sqlite3.Connection) -> None:
    """A durable write that changes nothing; raises what the next one would."""
    # Written even when it is the same; a row would not be.
    db.execute(f"PRAGMA user_version = {pragma(db, 'user_version')}")


@cache
def _insert(rows: int) -> str:
    values = "VALUES " + ", ".join(["(?, ?, ?, ?, ?)"] * rows)
    return f"INSERT INTO log {values if rows == 1 else f'SELECT * FROM ({values}) WHERE column1 NOTNULL'}"


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
        old, base, join = "p.value", "NULL", ""
        if is_sharing(db):
            old, base = "ifnull(s.changes, p.value)", "b.value"
            join = " LEFT JOIN shared s ON s.revision = l.previous LEFT JOIN base b ON b.id = s.base"
        rows: Iterable[tuple[str, int, bool, bytes, int, bytes, bytes | None]] = db.execute(
            f"SELECT l.key, l.revision, l.deleted, l.value, l.previous, {old}, {base} FROM log l"
            f" LEFT JOIN log p ON p.revision = l.previous{join}"
            " WHERE l.revision > ? AND l.revision <= ? AND substr(l.key, 1, ?) = ? ORDER BY l.revision LIMIT ?",
            (after, until, len(prefix), prefix, _BATCH),
        )
        found = []
        for key, revision, deleted, value, replaced, before, shared in rows:
            state = before if shared is None else Delta(zlib.decompress(shared), before)
            previous = Record(key, state, replaced) if replaced else None
            last = value or None if deleted else None
            found.append(Change(key, revision, None if deleted else value, last, previous))
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


def remove(db: sqlite3.Connection, revisions: Sequence[int]) -> None:
    """Remove the states of some revisions."""
    chosen = [(revision,) for revision in revisions]
    db.executemany("DELETE FROM log WHERE revision = ?", chosen)
    if is_sharing(db):
        db.executemany("DELETE FROM shared WHERE revision = ?", chosen)
