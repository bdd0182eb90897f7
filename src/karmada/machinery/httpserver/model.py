"""What the HTTP layer hands to the handler, and what it gets back.

The handler is one async callable. Bodies arrive whole: they are limited, and read only after the headers were admitted.
Answers are whole, streamed, or an upgrade to a bidirectional byte stream (WebSocket frames are the upgrade handler's
business, see `websocket`). Large ones are made piece by piece while they are written, of bytes that others keep anyway.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple, Protocol

import msgspec

Headers = Mapping[str, str | list[str]]
"""Header fields of an answer; a list stands for a field that occurs several times."""
PIECE = 112 * 1024
"""Bytes that are made and written at a time where an answer is larger; the C library maps larger blocks anew each time,
which costs more than further writes.
"""


class Pieces(NamedTuple):
    """A body of a known size that is made while it is written; its parts can be gone through once."""

    size: int
    parts: Iterable[bytes]


def _nothing() -> None:
    return None


class HttpRequest(msgspec.Struct, eq=False):
    """A parsed request.

    `path` is percent-decoded and free of control characters, `query` is the raw query string without `?`. Header names
    are lower case; what of a value is not UTF-8 is replaced; the values of a repeated header are joined with a comma,
    those of identity headers with a newline (a group's name may contain commas, no header value contains a newline).
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    peer: tuple[str, int]
    certificate: bytes | None
    """Client certificate in DER as presented. Not verified: the handshake accepts any, so that authentication
    can answer 401 (see `auth.certificates`)."""
    client: str = ""
    """Whom the handler authenticated; empty until then, and for anonymous clients."""
    admitted: object = None
    """What the handler learned when it admitted the request by its headers, as long as that holds."""
    target: bytes = b""
    """Path and query as they were sent, for whoever passes the request on."""


class HttpResponse(msgspec.Struct, eq=False):
    """A whole answer."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: Headers = msgspec.field(default_factory=dict)
    pieces: Pieces | None = None
    """Instead of a body."""


class CutOff(ConnectionError):
    """Stops a streamed answer before its end: the connection closes, so that the client sees that it has not all."""


class StreamResponse(msgspec.Struct, eq=False):
    """A chunked answer; each item is written at once, one of several parts as they are made.

    Closed early when the client goes away; `CutOff` and failures leave it incomplete.
    """

    status: int
    chunks: AsyncIterator[bytes | Iterable[bytes]]
    content_type: str = "application/json"
    headers: Headers = msgspec.field(default_factory=dict)
    ended: Callable[[], None] = _nothing
    """Called once when the stream is over, however it ended."""
    gathered: Callable[[], bytes] = bytes
    """Takes what `chunks` would yield next without waiting; empty when there is nothing, or it takes more work."""


class ByteStream(Protocol):
    """The raw connection after an upgrade."""

    async def read(self) -> bytes:
        """Next bytes; empty at the end."""
        ...

    async def write(self, data: bytes) -> None:
        """Write with back-pressure."""
        ...

    async def close(self) -> None:
        """Close the connection."""
        ...


class Upgrade(msgspec.Struct, eq=False):
    """Switch protocols, then let `serve` own the connection."""

    headers: dict[str, str]
    serve: Callable[[ByteStream], Awaitable[None]]
    ended: Callable[[], None] = _nothing
    """Called once when the connection is over, however it ended."""


HttpAnswer = HttpResponse | StreamResponse | Upgrade
Handler = Callable[[HttpRequest], Awaitable[HttpAnswer]]
