"""SPDY/3.1 framing, as far as Kubernetes clients use it: streams with headers and data, inside a WebSocket or alone.

Server side only. No priorities, push, settings or flow control: the clients' library has none either. Each stream's
input is bounded; a stream whose reader is slow delays the connection, which is the clients' own behaviour.
"""

import asyncio
import struct
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

from karmada.machinery.httpserver.client_input import ClientInput
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.httpserver.model import ByteStream, HttpRequest, Upgrade

SYN_STREAM, SYN_REPLY, RST_STREAM, PING, GOAWAY, HEADERS = 1, 2, 3, 6, 7, 8
FIN = 0x01
MAX_FRAME = 1024 * 1024
MAX_HEADERS = 64 * 1024
MAX_STREAMS = 1024

_WORDS = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie "
    "keep-alive origin"
)
_TAIL = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative "
    "Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 "
    "Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec "
    "00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,"
    "application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset="
    "iso-8859-1,utf-,*,enq=0."
)


def header_dictionary() -> bytes:
    """The preset dictionary of the specification: words with their lengths, then text."""
    words = [word.replace("_", " ").encode() for word in _WORDS.split()]
    return b"".join(struct.pack(">I", len(word)) + word for word in words) + _TAIL.encode()


class SpdyError(Exception):
    """The peer does not keep to the protocol."""


class SpdyStream:
    """One stream the client opened (`ByteStream`)."""

    def __init__(self, connection: "SpdyConnection", identifier: int, headers: Mapping[str, str]) -> None:
        self.headers = headers
        """Names in lower case."""
        self.identifier = identifier
        self._connection = connection
        self._input = ClientInput()
        self._finished = False

    async def read(self) -> bytes:
        """Next bytes; empty when the client has finished or reset the stream."""
        return await self._input.read()

    async def write(self, data: bytes) -> None:
        """Send bytes."""
        for start in range(0, len(data), MAX_FRAME // 2):
            await self._connection.send_data(self.identifier, data[start : start + MAX_FRAME // 2])

    async def close(self) -> None:
        """Finish the sending half."""
        if not self._finished:
            self._finished = True
            await self._connection.send_data(self.identifier, b"", FIN)

    async def reset(self) -> None:
        """End both halves at once."""
        self._finished = True
        await self._connection.send_control(RST_STREAM, 0, struct.pack(">II", self.identifier, 5))

    async def feed(self, data: bytes) -> None:
        """Bytes from the client; empty at the end."""
        await self._input.feed(data)


class SpdyConnection:
    """The streams of one connection: `async for stream in connection.accept()`."""

    def __init__(self, transport: ByteStream) -> None:
        self._transport = transport
        self._streams: dict[int, SpdyStream] = {}
        self._buffer = bytearray()
        self._inflate = zlib.decompressobj(zdict=header_dictionary())
        self._deflate = zlib.compressobj(zdict=header_dictionary())
        self._lock = asyncio.Lock()

    async def accept(self) -> AsyncIterator[SpdyStream]:
        """Streams as the client opens them, already accepted; ends with the connection."""
        try:
            while data := await self._transport.read():
                self._buffer += data
                while (frame := self._next_frame()) is not None:
                    stream = await self._handle(*frame)
                    if stream is not None:
                        yield stream
        finally:
            for stream in list(self._streams.values()):
                await stream.feed(b"")

    async def send_data(self, identifier: int, data: bytes, flags: int = 0) -> None:
        """Send a data frame."""
        await self._write(struct.pack(">II", identifier, flags << 24 | len(data)) + data)

    async def send_control(self, kind: int, flags: int, payload: bytes) -> None:
        """Send a control frame."""
        await self._write(struct.pack(">HHI", 0x8003, kind, flags << 24 | len(payload)) + payload)

    async def close(self) -> None:
        """Say goodbye and close."""
        await self.send_control(GOAWAY, 0, struct.pack(">II", max(self._streams, default=0), 0))
        await self._transport.close()

    async def _write(self, frame: bytes) -> None:
        async with self._lock:
            await self._transport.write(frame)

    def _next_frame(self) -> tuple[int, int, bytes] | None:
        """(first word, flags, payload) of a complete frame."""
        if len(self._buffer) < 8:
            return None
        first, rest = struct.unpack_from(">II", self._buffer)
        size = rest & 0xFFFFFF
        if size > MAX_FRAME:
            raise SpdyError(f"a frame of {size} bytes is too large")
        if len(self._buffer) < 8 + size:
            return None
        payload = bytes(self._buffer[8 : 8 + size])
        del self._buffer[: 8 + size]
        return first, rest >> 24, payload

    async def _handle(self, first: int, flags: int, payload: bytes) -> SpdyStream | None:
        if not first & 0x80000000:
            await self._data(first, flags, payload)
            return None
        if first >> 16 != 0x8003:
            raise SpdyError("only SPDY/3 is understood")
        kind = first & 0xFFFF
        if kind == SYN_STREAM:
            return await self._opened(flags, payload)
        if kind == PING:
            await self.send_control(PING, 0, payload)
        elif kind == RST_STREAM:
            (identifier,) = struct.unpack_from(">I", payload)
            if (stream := self._streams.pop(identifier, None)) is not None:
                await stream.feed(b"")
        elif kind == HEADERS:
            # Later headers change nothing for these clients, but they pass through the shared compression state.
            self._headers(payload[4:])
        return None

    async def _data(self, identifier: int, flags: int, payload: bytes) -> None:
        stream = self._streams.get(identifier)
        if stream is None:
            return
        if payload:
            await stream.feed(payload)
        if flags & FIN:
            del self._streams[identifier]
            await stream.feed(b"")

    async def _opened(self, flags: int, payload: bytes) -> SpdyStream:
        (identifier,) = struct.unpack_from(">I", payload)
        headers = self._headers(payload[10:])
        if len(self._streams) >= MAX_STREAMS or identifier in self._streams:
            raise SpdyError("too many streams, or one opened twice")
        stream = SpdyStream(self, identifier, headers)
        if flags & FIN:
            await stream.feed(b"")
        else:
            self._streams[identifier] = stream
        empty = self._deflate.compress(struct.pack(">I", 0)) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        await self.send_control(SYN_REPLY, 0, struct.pack(">I", identifier) + empty)
        return stream

    def _headers(self, block: bytes) -> dict[str, str]:
        try:
            plain = self._inflate.decompress(block, MAX_HEADERS)
            (count,) = struct.unpack_from(">I", plain)
            position, headers = 4, {}
            for _ in range(count):
                name, position = _text(plain, position)
                value, position = _text(plain, position)
                headers[name.lower()] = value.replace("\0", ", ")
        except (zlib.error, struct.error, UnicodeDecodeError) as error:
            raise SpdyError("unreadable headers") from error
        if self._inflate.unconsumed_tail:
            raise SpdyError("headers are too large")
        return headers


def asks_for_spdy(request: HttpRequest) -> bool:
    """Whether a request wants to switch to SPDY."""
    return request.headers.get("upgrade", "").upper() == "SPDY/3.1"


def spdy_upgrade(
    request: HttpRequest, supported: Sequence[str], serve: Callable[[ByteStream, str], Awaitable[None]]
) -> Upgrade:
    """Accept SPDY with the first protocol the client offers that is supported; raises a 403 `Failure`."""
    offers = request.headers.get("x-stream-protocol-version", "")
    offered = [name.strip() for name in offers.split(",") if name.strip()]
    chosen = next((name for name in offered if name in supported), None if offered else supported[-1])
    if chosen is None:
        listed = ", ".join(supported)
        message = f"unable to upgrade: the client offered {', '.join(offered)}, the server knows {listed}"
        raise Failure(403, "Forbidden", message)
    headers = {"Upgrade": "SPDY/3.1", "Connection": "Upgrade"}
    if offered:
        headers["X-Stream-Protocol-Version"] = chosen

    async def run(stream: ByteStream) -> None:
        await serve(stream, chosen)

    return Upgrade(headers, run)


def _text(data: bytes, position: int) -> tuple[str, int]:
    (size,) = struct.unpack_from(">I", data, position)
    end = position + 4 + size
    if end > len(data):
        raise SpdyError("unreadable headers")
    return data[position + 4 : end].decode(), end
