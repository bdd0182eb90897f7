"""Keeps the scheduler's last decisions over a restart, in a small database of their own.

What changed is written every `PERIOD` seconds and at the end, off the event loop; whoever dies in between loses that
much of the history and nothing else. A file that cannot be read or written costs the history, never the control plane.
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
_TABLE = "CREATE TABLE IF NOT EXISTS decisions (namespace TEXT, name TEXT, noted BLOB, PRIMARY KEY (namespace, name))"
_Row = tuple[str, str, bytes]
log = logging.getLogger(__name__)


class _Kept(msgspec.Struct, frozen=True):
    at: float
    cause: str
    decision: msgspec.Raw


_decoder = msgspec.json.Decoder(list[_Kept])


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
                for kept in _decoder.decode(noted):
                    made = Noted(kept.at, kept.cause, decisions.decode(bytes(kept.decision)))
                    self._history.note(BindingKey(namespace, name), made)
        except (sqlite3.Error, OSError, msgspec.MsgspecError) as error:
            log.warning("earlier decisions cannot be read from %s: %s", self._path, error)
        self._history.touched = set()

    async def run(self) -> None:
        """Write what changed, now and then."""
        while True:
            await self._clock.sleep(PERIOD)
            await self.save()

    async def save(self) -> None:
        """Write what changed since the last time."""
        touched, self._history.touched = self._history.touched, set()
        if not touched:
            return
        kept: list[_Row] = []
        for key in touched:
            kept.append((*key, _encoded(self._history.of(key))))
            # Each decision names all clusters: with a thousand of them, many at once would keep others from running.
            await asyncio.sleep(0)
        try:
            await asyncio.to_thread(self._write, kept)
        except (sqlite3.Error, OSError) as error:
            log.warning("decisions are not kept in %s: %s", self._path, error)

    def _write(self, kept: list[_Row]) -> None:
        with contextlib.closing(self._open()) as database, database:
            for namespace, name, noted in kept:
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
    made = [_Kept(one.at, one.cause, msgspec.Raw(decisions.encode(one.decision))) for one in reversed(noted)]
    return msgspec.json.encode(made) if made else b""
