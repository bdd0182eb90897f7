"""Watch lines: bytes in, batches of events out. Objects are cut out of their lines, not parsed."""

from collections.abc import AsyncGenerator

from karmada.machinery.errors import ApiError, ServerError, from_status
from karmada.machinery.http.connection import Connection
from karmada.machinery.transport import EventType, WatchEvent

_PREFIXES = [(f'{{"type":"{kind.value}","object":'.encode(), kind) for kind in EventType]


async def events(connection: Connection) -> AsyncGenerator[list[WatchEvent], None]:
    """The events of a stream; everything that has arrived together comes as one batch."""
    rest = b""
    while data := await connection.read():
        lines = (rest + data).split(b"\n")
        rest = lines.pop()
        batch: list[WatchEvent] = []
        for line in lines:
            if not line:
                continue
            event = parse(line)
            if isinstance(event, ApiError):
                if batch:
                    yield batch
                raise event
            batch.append(event)
        if batch:
            yield batch


def parse(line: bytes) -> WatchEvent | ApiError:
    """The event of a line, or the error it tells of."""
    for prefix, kind in _PREFIXES:
        if line.startswith(prefix) and line.endswith(b"}"):
            return WatchEvent(kind, line[len(prefix) : -1])
    import orjson

    try:
        event = orjson.loads(line)
        kind, found = event["type"], event["object"]
        if kind == "ERROR":
            return from_status(int(found.get("code") or 500), found)
        return WatchEvent(EventType(kind), orjson.dumps(found))
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return ServerError("the server sent a watch event that cannot be read")
