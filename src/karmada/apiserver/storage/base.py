"""The `Storage` protocol: an ordered, durable key-value history with one revision counter.

Contract, checked by one suite for memory, SQLite and etcd:
- Every committed write has its own revision; revisions only grow. A write is answered only when it is durable.
- A write names the revision it expects the key to have (0: the key must not exist); anything else is a `Mismatch`
  and changes nothing.
- An object carries its own revision (`metadata.resourceVersion`), which is known only at commit: values are given
  cut in two (`Value`), and the storage joins them around the revision.
- `changes(after)` yields every committed write with a revision greater than `after`, in order, without gap or
  repeat, then goes on with new ones; it raises `Compacted` when `after` is older than the last compaction.
- A failed commit (disk full, connection lost) raises `StorageFailed`; nothing of it becomes visible.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class Value(NamedTuple):
    """An encoded object cut where its resourceVersion stands: the object is head + revision + tail."""

    head: bytes
    tail: bytes

    def at(self, revision: int) -> bytes:
        """The encoded object as of a revision."""
        return b"%b%d%b" % (self.head, revision, self.tail)


class Record(NamedTuple):
    """The current state of one key; `value` is the whole object with its resourceVersion."""

    key: str
    value: bytes
    revision: int


class Change(NamedTuple):
    """One committed write. `value` is None for a deletion; `previous` is None for a creation.

    For a deletion `last` is the object's final state, stamped with the revision of the deletion,
    as watchers must see it.
    """

    key: str
    revision: int
    value: bytes | None
    previous: bytes | None
    last: bytes | None = None


class Snapshot(NamedTuple):
    """All records of one revision."""

    records: list[Record]
    revision: int


@dataclass
class Mismatch(Exception):
    """The key is not at the expected revision; `actual` is 0 when it does not exist."""

    key: str
    expected: int
    actual: int


@dataclass
class Compacted(Exception):
    """The asked revision is older than `oldest`, the first one still known."""

    oldest: int


class StorageFailed(Exception):
    """The storage cannot commit now; nothing of the write is visible."""


class Storage(Protocol):
    """See the module's contract."""

    async def open(self) -> Snapshot:
        """Open (create, recover, migrate) and return everything; later changes start after its revision."""
        ...

    async def put(self, key: str, value: Value, expected: int) -> Record:
        """Create (expected 0) or replace a key; raises `Mismatch` or `StorageFailed`."""
        ...

    async def delete(self, key: str, last: Value, expected: int) -> int:
        """Delete a key; `last` is its final state. Returns the revision of the deletion."""
        ...

    def changes(self, after: int) -> AsyncIterator[list[Change]]:
        """Committed writes after a revision, in batches, without end."""
        ...

    async def compact(self, revision: int) -> None:
        """Forget the history up to and including a revision; current state stays."""
        ...

    async def close(self) -> None:
        """Flush and release; pending writes are answered first."""
        ...
