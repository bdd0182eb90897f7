"""Keeps the scheduler's last decisions over a restart, in a small database of their own.

What changed is written every `PERIOD` seconds and at the end, off the event loop; after an edit that concerns thousands
of bindings, only so many each time. Whoever dies in between loses that much of the history and nothing else. A file
that cannot be read or written costs the history, never the control plane.

A row holds the decisions about a binding, oldest first, each packed as the history packs it. Rows of earlier versions
are plain JSON.
"""

import asyncio
import contextlib
import logging
import sqlite3
from pathlib import Path

import msgspec

from karmada.api import decision as decisions
from karmada.machinery.clock import Clock
from karmada.scheduler.decision_history import BINDINGS, DecisionHistory, Noted
from karmada.scheduler.keys import BindingKey

PERIOD = 10.0
AT_ONCE = 1000
"""Bindings that are written each time: encoding more of them would take the processor from those who work."""
_TABLE = "CREATE TABLE IF NOT EXISTS decisions (namespace TEXT, name TEXT, noted BLOB, PRIMARY KEY (namespace, name))"
log = logging.getLogger(__name__)


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    at: float
    cause: str
    outcome: decisions.Outcome
    packed: bytes


class _Plain(msgspec.Struct, frozen=True):
    """As earlier versions wrote it."""

    at: float
    cause: str
    decision: decisions.Decision


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[_Kept])
_plain_decoder = msgspec.json.Decoder(list[_Plain])


class DecisionStore:
    """One file, used by one process."""

    def __init__(self, path: Path, history: DecisionHistory, clock: Clock) -> None:
        self._path = path
        self._history = history
        self._clock = clock
        history.touched = set()

    def load(self) -> None:
        """Remember what was decided before; the longest untouched first."""
        try:
            with contextlib.closing(self._open()) as database:
                rows = database.execute("SELECT namespace, name, noted FROM decisions ORDER BY rowid").fetchall()
            for namespace, name, noted in rows:
                for made in _decoded(noted):
                    self._history.note(BindingKey(namespace, name), made)
        except (sqlite3.Error, OSError, msgspec.MsgspecError) as error:
            log.warning("earlier decisions cannot be read from %s: %s", self._path, error)
        self._history.touched = set()

    async def run(self) -> None:
        """Write what changed, now and then."""
        while True:
            await self._clock.sleep(PERIOD)
            await self.save(AT_ONCE)

    async def save(self, limit: int | None = None) -> None:
        """Write what changed since the last time, of so many bindings at most."""
        touched = self._history.touched or set()
        keys = [touched.pop() for _ in range(len(touched) if limit is None else min(limit, len(touched)))]
        if not keys:
            return
        try:
            await asyncio.to_thread(self._write, [(key, self._history.of(key)) for key in keys])
        except (sqlite3.Error, OSError) as error:
            log.warning("decisions are not kept in %s: %s", self._path, error)

    def _write(self, kept: list[tuple[BindingKey, list[Noted]]]) -> None:
        rows = [(*key, _encoded(noted)) for key, noted in kept]
        with contextlib.closing(self._open()) as database, database:
            for namespace, name, noted in rows:
                database.execute("DELETE FROM decisions WHERE namespace = ? AND name = ?", (namespace, name))
                if noted:
                    database.execute("INSERT INTO decisions VALUES (?, ?, ?)", (namespace, name, noted))
            database.execute(
                "DELETE FROM decisions WHERE rowid NOT IN (SELECT rowid FROM decisions ORDER BY rowid DESC LIMIT ?)",
                (BINDINGS,),
            )

    def _open(self) -> sqlite3.Connection:
        self._path.touch(0o600)
        database = sqlite3.connect(self._path)
        database.execute(_TABLE)
        return database


def _encoded(noted: list[Noted]) -> bytes:
    """Oldest first; empty where nothing is remembered any more."""
    made = [_Kept(one.at, one.cause, one.outcome, one.packed()) for one in reversed(noted)]
    return _encoder.encode(made) if made else b""


def _decoded(row: bytes) -> list[Noted]:
    if row.startswith(b"["):
        return [Noted(kept.at, kept.cause, kept.decision) for kept in _plain_decoder.decode(row)]
    return [Noted.restored(*msgspec.structs.astuple(kept)) for kept in _decoder.decode(row)]
