"""Keeps the records of `controllers.resumption` over a restart, in a small database of their own.

Records of another program, or of one with other flags, are forgotten. Whoever dies before something is written has more
to look at after the next start, and nothing else; the same holds for a file that cannot be read or written.
"""

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from karmada.controllers.bindings import BindingKey
from karmada.controllers.resumption.group import Record

_TABLES = (
    "CREATE TABLE IF NOT EXISTS program (fingerprint TEXT)",
    "CREATE TABLE IF NOT EXISTS settled (namespace TEXT, name TEXT, record BLOB, PRIMARY KEY (namespace, name))"
    " WITHOUT ROWID",
)
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Record)


class SettledStore:
    """One file, used by one process."""

    def __init__(self, path: Path, program: Callable[[], str]) -> None:
        """`program`: which program this is; asked in a thread."""
        self._path = path
        self._program = program

    async def load(self) -> dict[BindingKey, Record]:
        """What this very program has recorded."""
        return await asyncio.to_thread(self._load)

    async def write(self, changed: Mapping[BindingKey, Record | None]) -> None:
        """Keep records, and forget those that are None."""
        await asyncio.to_thread(self._write, changed)

    def _load(self) -> dict[BindingKey, Record]:
        with contextlib.closing(self._open()) as database, database:
            program = self._program()
            if database.execute("SELECT fingerprint FROM program").fetchall() != [(program,)]:
                database.execute("DELETE FROM settled")
                database.execute("DELETE FROM program")
                database.execute("INSERT INTO program VALUES (?)", (program,))
            rows = database.execute("SELECT namespace, name, record FROM settled").fetchall()
        return {BindingKey(namespace, name): _decoder.decode(record) for namespace, name, record in rows}

    def _write(self, changed: Mapping[BindingKey, Record | None]) -> None:
        with contextlib.closing(self._open()) as database, database:
            for key, record in changed.items():
                if record is None:
                    database.execute("DELETE FROM settled WHERE namespace = ? AND name = ?", key)
                else:
                    database.execute("INSERT OR REPLACE INTO settled VALUES (?, ?, ?)", (*key, _encoder.encode(record)))

    def _open(self) -> sqlite3.Connection:
        self._path.touch(0o600)
        database = sqlite3.connect(self._path)
        for table in _TABLES:
            database.execute(table)
        return database
