"""Watch lines: bytes in, batches of events out. Objects are cut out of their lines, not parsed.

A line is bounded (`limits.WATCH_LINE`), so is what all unfinished lines of a server take. Batches have at most
`limits.WATCH_BATCH` events, and others run between two of them. What nobody takes waits in the server's own buffers.
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import Protocol

from karmada.machinery import limits
from karmada.machinery.errors import ApiError, BadAnswer, from_status
from karmada.machinery.http.answer import Budget
from karmada.machinery.transport import EventType, WatchEvent

_PREFIXES = [(f'{{"type":"{kind.value}","object":'.encode(), kind) for kind in EventType]


class Readable(Protocol):
    """Where the bytes of a stream come from."""

    @property
    def budget(self) -> Budget:
        """What all streams of its server may hold together."""
        ...

    async def read(self) -> bytes:
        """The next bytes; empty at the end."""
        ...


async def events(connection: Readable) -> AsyncGenerator[list[WatchEvent], None]:
    """The events of a stream; what has arrived together comes as one batch, or as several if it is much."""
    unfinished = _Unfinished(connection.budget)
    try:
        while data := await connection.read():
            lines = unfinished.complete(data)
            for start in range(0, len(lines), limits.WATCH_BATCH):
                if start:
                    await asyncio.sleep(0)
                batch, error = _parsed(lines[start : start + limits.WATCH_BATCH])
                if batch:
                    yield batch
                if error is not None:
                    raise error
    finally:
        unfinished.drop()


class _Unfinished:
    """The beginning of a line whose end has not arrived."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._parts: list[bytes] = []
        self._size = 0

    def complete(self, data: bytes) -> list[bytes]:
        """The lines that became complete, without empty ones."""
        end = data.rfind(b"\n")
        if end < 0:
            self._keep(data)
            return []
        whole = b"".join((*self._parts, data[:end])) if self._parts else data[:end]
        self.drop()
        if end + 1 < len(data):
            self._keep(data[end + 1 :])
        return [line for line in whole.split(b"\n") if line]

    def drop(self) -> None:
        """Forget it."""
        self._budget.give_back(self._size)
        self._parts.clear()
        self._size = 0

    def _keep(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)
        allowed = self._budget.take(len(data))
        if self._size > limits.WATCH_LINE:
            raise BadAnswer(f"the server sent a watch event of more than {limits.WATCH_LINE} bytes")
        if not allowed:
            raise BadAnswer(f"the server sent more than {limits.BUFFERED} bytes at once")


def _parsed(lines: list[bytes]) -> tuple[list[WatchEvent], ApiError | None]:
    """The events of lines up to the first that is an error."""
    batch: list[WatchEvent] = []
    for event in map(parse, lines):
        if isinstance(event, ApiError):
            return batch, event
        batch.append(event)
    return batch, None


def parse(line: bytes) -> WatchEvent | ApiError:
    """The event of a line, or the error it carries."""
    for prefix, kind in _PREFIXES:
        if line.startswith(prefix) and line.endswith(b"}"):
            return WatchEvent(kind, line[len(prefix) : -1])
    import orjson

    try:
        event = orjson.loads(line)
        kind, found = event["type"], event["object"]
        if kind == "ERROR" and isinstance(found, dict) and len(line) <= limits.REFUSAL:
            return from_status(int(found.get("code") or 500), found)
        return WatchEvent(EventType(kind), orjson.dumps(found))
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return BadAnswer("the server sent a watch event that cannot be read")
