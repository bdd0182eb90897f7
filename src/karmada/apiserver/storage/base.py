"""The `Storage` protocol: an ordered, durable key-value history with one revision counter.

Contract, checked by one suite for memory, SQLite and etcd:
- Every committed write has its own revision; revisions only grow. A write is answered only when it is durable.
- A write names the revision it expects the key to have (0: the key must not exist); anything else is a `Mismatch`
  and changes nothing.
- An object carries its own revision (`metadata.resourceVersion`), which is known only at commit: values are given
  cut in two (`Value`), and the storage joins them around the revision.
- The `Listener` given to `open` hears every later commit, its own writes and those of others alike, on the event
  loop, in revision order, without gap or repeat; a write is answered after the listener has heard of it, so whoever
  is answered can read what was written.
- `history` repeats committed writes for as long as they are not compacted.
- A failed commit raises `StorageFailed`; nothing of it becomes visible while this process lives (unless the connection
  to a remote store broke: then the outcome is unknown). If the disk failed to sync it and the process dies before
  anything else is committed, it may turn out to have taken effect.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import msgspec

from karmada.apiserver.storage.delta import Stored

FIRST_REVISION = 2
"""The revision of an empty store. 0 means "any" to clients; 1 is the birth of the store, which is always compacted."""


class Value(msgspec.Struct, frozen=True, gc=False):
    """An encoded object cut where its resourceVersion stands: the object is head + revision + tail."""

    head: bytes
    tail: bytes

    def at(self, revision: int) -> bytes:
        """The encoded object as of a revision."""
        return b"%b%d%b" % (self.head, revision, self.tail)


def restamp(body: bytes, old: int, new: int) -> bytes:
    """The same encoded object under another resourceVersion, which is the first one in the encoding."""
    return body.replace(b'"resourceVersion":"%d"' % old, b'"resourceVersion":"%d"' % new, 1)


class Record(NamedTuple):
    """The current state of one key; `value` is the object with its resourceVersion."""

    key: str
    value: Stored
    revision: int


class Write(NamedTuple):
    """One of several writes: a key's new value, or, without one, its deletion; its last state then stands in."""

    key: str
    value: Value | None
    expected: int
    context: object = None


class Change(msgspec.Struct, frozen=True):
    """One committed write; `value` is None for a deletion.

    `last` is a deleted object's final state, stamped with the revision of the deletion as watchers must see it;
    a storage that cannot keep it leaves None, and the previous state stands in. `previous` is None for a creation
    and filled in by `history` only: a listener knows the state. `context` is what a writer in this process gave along.
    """

    key: str
    revision: int
    value: bytes | None
    last: bytes | None = None
    previous: Record | None = None
    context: object = None


class Snapshot(NamedTuple):
    """All records of one revision."""

    records: Sequence[Record]
    revision: int


EMPTY = Snapshot((), FIRST_REVISION)


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
    """The storage cannot do it now; the message says why and what to do."""


Outcome = Mismatch | StorageFailed | None
"""How one of several writes ended; None when it is durable."""


class Listener(Protocol):
    """Follows a storage; called on the event loop and must not raise."""

    def committed(self, changes: list[Change], revision: int) -> None:
        """These writes are durable; everything up to `revision` has now been delivered."""
        ...

    def shrunk(self, records: Sequence[Record]) -> None:
        """These records, if they still are the current ones, need less room in the form given; nothing has changed."""
        ...

    def replaced(self, snapshot: Snapshot) -> None:
        """The thread of changes was lost (a shared store compacted it meanwhile); this is the state now."""
        ...


class Storage(Protocol):
    """An ordered, durable key-value history with one revision counter."""

    async def open(self, listener: Listener) -> Snapshot:
        """Open (create, recover, migrate) and return everything; the listener is called with what comes after."""
        ...

    async def put(self, key: str, value: Value, expected: int, context: object = None) -> Record:
        """Create (expected 0) or replace a key; raises `Mismatch` or `StorageFailed`."""
        ...

    async def delete(self, key: str, last: Value, expected: int, context: object = None) -> int:
        """Delete a key; `last` is its final state. Returns the revision of the deletion."""
        ...

    async def write_all(self, writes: Sequence[Write]) -> list[Outcome]:
        """Carry out several writes, with one answer for all; one that fails takes no other with it."""
        ...

    async def history(self, prefix: str, after: int, until: int) -> list[Change]:
        """Committed writes of keys with a prefix and after < revision <= until; raises `Compacted`.

        The answer may stop early to stay small; it is empty only when there are no more.
        """
        ...

    async def sync(self) -> None:
        """Return when the listener was called with everything that was committed before the call, by anyone."""
        ...

    async def check(self) -> None:
        """Raise `StorageFailed` if writes would fail just now."""
        ...

    async def compact(self, revision: int) -> None:
        """Forget the history up to and including a revision; current state stays."""
        ...

    async def close(self) -> None:
        """Flush and release; pending writes are answered first."""
        ...
