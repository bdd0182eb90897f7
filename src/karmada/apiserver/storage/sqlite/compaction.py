"""Compaction in small steps: rows that nobody needs are removed, what stays is stored in little room."""

import sqlite3
from typing import NamedTuple

from karmada.apiserver.storage.base import Record
from karmada.apiserver.storage.sqlite.database import meta, pragma, remove, set_meta
from karmada.apiserver.storage.sqlite.sharing import Bases

_SWEEP = 100
"""Rows of a step."""
_PAGES = 500
"""Given back in a step."""
_SPARE_PAGES = 1000
"""Kept in the file for new rows."""


class Swept(NamedTuple):
    """What a step has done."""

    more: bool
    """Whether there is more to do."""
    shrunk: list[Record]
    """Records that are stored in less room now."""


def sweep(db: sqlite3.Connection, bases: Bases) -> Swept:
    """Remove some forgotten rows and shrink the others, then give back some of the room they took."""
    compacted, swept = meta(db, "compacted"), meta(db, "swept")
    if swept >= compacted:
        return Swept(_truncated(db), [])
    chunk = "SELECT revision, previous, deleted FROM log WHERE revision > ? AND revision <= ? ORDER BY revision LIMIT ?"
    rows = db.execute(chunk, (swept, compacted, _SWEEP)).fetchall()
    reached = rows[-1][0] if len(rows) == _SWEEP else compacted
    dead = [previous for _, previous, _ in rows if previous] + [row[0] for row in rows if row[2]]
    db.execute("BEGIN IMMEDIATE")
    try:
        shrunk = bases.shrink(db, swept, reached)
        remove(db, dead)
        bases.collect(db)
        set_meta(db, "swept", reached)
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        bases.forget()
        raise
    return Swept(True, shrunk)


def _truncated(db: sqlite3.Connection) -> bool:
    unused = pragma(db, "freelist_count") - _SPARE_PAGES
    if unused <= 0:
        return False
    db.execute(f"PRAGMA incremental_vacuum({min(unused, _PAGES)})").fetchall()
    return True
