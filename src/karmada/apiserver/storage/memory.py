"""Storage in memory, for tests and throw-away clusters: nothing survives the process.

A write commits at once on the event loop, so there is never a pending one. The history is bounded by count and by
the bytes that nothing else keeps alive; the oldest changes are compacted by themselves.
"""

from collections import deque
from collections.abc import Sequence
from itertools import islice

from karmada.apiserver.storage.base import (
    FIRST_REVISION,
    Change,
    Compacted,
    Listener,
    Mismatch,
    Outcome,
    Record,
    Snapshot,
    StorageFailed,
    Value,
    Write,
)
from karmada.apiserver.storage.delta import size_of

_BATCH = 1000


class MemoryStorage:
    """See `storage.base` for the contract."""

    def __init__(self, history: int = 10_000, history_bytes: int = 32 << 20) -> None:
        self._limit = history
        self._byte_limit = history_bytes
        self._records: dict[str, Record] = {}
        self._log: deque[Change] = deque()
        """Ordered by revision; holds every change after `_compacted`."""
        self._bytes = 0
        """What `_log` keeps alive beside the current state."""
        self._revision = FIRST_REVISION
        self._compacted = FIRST_REVISION
        self._listener: Listener | None = None

    async def open(self, listener: Listener) -> Snapshot:
        """Nothing to recover."""
        self._listener = listener
        return self.snapshot()

    def start_from(self, snapshot: Snapshot) -> None:
        """Hold, from the beginning, what another one held; before it is opened."""
        self._records = {record.key: record for record in snapshot.records}
        self._revision = self._compacted = snapshot.revision

    def snapshot(self) -> Snapshot:
        """Everything as it is now."""
        return Snapshot(list(self._records.values()), self._revision)

    async def put(self, key: str, value: Value, expected: int, context: object = None) -> Record:
        """Commit at once."""
        old = self._check(key, expected)
        revision = self._revision + 1
        body = value.at(revision)
        record = Record(key, body, revision)
        self._records[key] = record
        self._commit(Change(key, revision, body, None, old, context))
        return record

    async def delete(self, key: str, last: Value, expected: int, context: object = None) -> int:
        """Commit at once."""
        return self._remove(key, last, expected, context)

    async def write_all(self, writes: Sequence[Write]) -> list[Outcome]:
        """Commit each at once."""
        return [await self._one(write) for write in writes]

    async def _one(self, write: Write) -> Outcome:
        try:
            if write.value is None:
                self._remove(write.key, None, write.expected, write.context)
            else:
                await self.put(write.key, write.value, write.expected, write.context)
        except (Mismatch, StorageFailed) as error:
            return error
        return None

    def _remove(self, key: str, last: Value | None, expected: int, context: object) -> int:
        old = self._check(key, expected)
        revision = self._revision + 1
        self._records.pop(key, None)
        self._commit(Change(key, revision, None, None if last is None else last.at(revision), old, context))
        return revision

    async def history(self, prefix: str, after: int, until: int) -> list[Change]:
        """From the log in memory."""
        if after < self._compacted:
            raise Compacted(self._compacted)
        changes = (change for change in self._log if after < change.revision <= until)
        return list(islice((change for change in changes if change.key.startswith(prefix)), _BATCH))

    async def sync(self) -> None:
        """Nobody else writes."""

    async def check(self) -> None:
        """Memory is always there."""

    async def compact(self, revision: int) -> None:
        """Drop the log's head."""
        while self._log and self._log[0].revision <= revision:
            self._forget()
        self._compacted = max(self._compacted, min(revision, self._revision))

    async def close(self) -> None:
        """Nothing is pending."""
        self._listener = None

    def _check(self, key: str, expected: int) -> Record | None:
        if self._listener is None:
            raise StorageFailed("the storage is closed")
        old = self._records.get(key)
        actual = old.revision if old else 0
        if actual != expected:
            raise Mismatch(key, expected, actual)
        return old

    def _commit(self, change: Change) -> None:
        self._revision = change.revision
        self._log.append(change)
        self._bytes += _superseded(change)
        while len(self._log) > self._limit or self._bytes > self._byte_limit:
            self._forget()
        if self._listener is not None:
            self._listener.committed([change], change.revision)

    def _forget(self) -> None:
        change = self._log.popleft()
        self._bytes -= _superseded(change)
        self._compacted = change.revision


def _superseded(change: Change) -> int:
    return (size_of(change.previous.value) if change.previous else 0) + len(change.last or b"")
