"""One HTTP/1.1 connection: one request at a time, a whole answer or a stream of body parts.

The connection is reusable only after a complete answer to a request that allowed it. Anything else (deadline,
cancellation, broken framing, stream left early) closes it.
"""

import asyncio
import socket
from collections import deque
from typing import cast

import httptools

from karmada.machinery.errors import Unavailable

BUFFER_HIGH = 4 * 1024 * 1024
"""Bytes of a stream that may wait for their reader before the server is made to wait."""


BUFFER = 64 * 1024
"""Bytes that are read at once. Where connections bring no buffer of their own, asyncio takes 256 KiB for each part."""


def new_buffer() -> memoryview:
    """Room for what arrives."""
    return memoryview(bytearray(BUFFER))


class Head:
    """Status and headers of an answer."""

    __slots__ = ("headers", "status", "warnings")

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.warnings: list[bytes] = []


class ConnectionBroken(Unavailable):
    """The connection ended before the answer did; `answered` tells whether any of it had arrived."""

    def __init__(self, message: str, answered: bool) -> None:
        super().__init__(message)
        self.answered = answered


class Connection(asyncio.BufferedProtocol):
    """A client connection; also the parser's callbacks (`on_*`).

    Bytes arrive in `buffer`, which connections of one loop may share: each part is consumed before the next is read.
    """

    def __init__(self, buffer: memoryview | None = None) -> None:
        self._buffer = buffer or new_buffer()
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._head = Head()
        self._parts: deque[bytes] = deque()
        self._buffered = 0
        self._paused = False
        self._complete = True
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._wake_on_body = False
        self.idle_since = 0.0

    # The request side.

    @property
    def usable(self) -> bool:
        """Whether a new request may be sent."""
        return self._transport is not None and self._complete and self._error is None

    async def exchange(self, request: bytes) -> tuple[Head, bytes]:
        """Send a request and wait for the whole answer."""
        self._send(request, stream=False)
        while not self._complete:
            await self._wait()
        body = b"".join(self._parts) if len(self._parts) != 1 else self._parts[0]
        self._parts.clear()
        return self._head, body

    async def open(self, request: bytes) -> Head:
        """Send a request and wait for the head of the answer; `read` gives the body."""
        self._send(request, stream=True)
        while not self._head.status:
            await self._wait()
        return self._head

    async def read(self) -> bytes:
        """The body bytes that have arrived since the last call, at least one; empty at the end."""
        while not self._parts:
            if self._complete:
                return b""
            await self._wait()
        data = b"".join(self._parts) if len(self._parts) > 1 else self._parts[0]
        self._parts.clear()
        self._buffered = 0
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return data

    def close(self) -> None:
        """Drop the connection."""
        if self._transport is not None:
            self._transport.abort()
            self._transport = None
        self._complete = True
        self._error = self._error or ConnectionBroken("the connection was closed", bool(self._head.status))

    def _send(self, request: bytes, stream: bool) -> None:
        if self._transport is None or self._transport.is_closing():
            raise ConnectionBroken("the connection was closed before the request", False)
        self._head = Head()
        self._complete = False
        self._wake_on_body = stream
        self._transport.write(request)

    async def _wait(self) -> None:
        if self._error is not None:
            raise self._error
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        except BaseException:
            # Whoever waited has left: what still arrives belongs to nobody.
            self.close()
            raise
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            if self._error is not None:
                self._waiter.set_exception(self._error)
            else:
                self._waiter.set_result(None)

    # The network side.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is open."""
        self._transport = cast(asyncio.Transport, transport)
        _keep_alive(transport.get_extra_info("socket"))

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where to put bytes."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """That many bytes have arrived."""
        if self._complete:
            # An answer nobody asked for; the framing cannot be trusted any more.
            self.close()
            return
        try:
            self._parser.feed_data(self._buffer[:nbytes])
        except httptools.HttpParserError as error:
            self._fail(f"the answer is not valid HTTP: {error}")
            return
        if self._wake_on_body or self._complete:
            self._wake()

    def eof_received(self) -> bool:
        """The server has ended its side; an answer without a length ends here too."""
        return False

    def connection_lost(self, error: Exception | None) -> None:
        """The connection is gone."""
        self._transport = None
        if not self._complete:
            self._fail(f"the connection broke: {error or 'closed by the server'}")

    def _fail(self, message: str) -> None:
        self._error = ConnectionBroken(message, bool(self._head.status))
        if self._transport is not None:
            self._transport.abort()
            self._transport = None
        self._wake()

    # The parser side.

    def on_message_begin(self) -> None:
        """An answer begins. After two to one request nobody could tell which belongs to the next one."""
        if self._complete:
            raise ValueError("more than one answer")

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header line."""
        lowered = name.lower()
        if lowered == b"warning":
            self._head.warnings.append(value)
        else:
            self._head.headers[lowered] = value

    def on_headers_complete(self) -> None:
        """The head is complete."""
        self._head.status = self._parser.get_status_code()

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._parts.append(body)
        if self._wake_on_body:
            self._buffered += len(body)
            if self._buffered > BUFFER_HIGH and not self._paused and self._transport is not None:
                self._paused = True
                self._transport.pause_reading()

    def on_message_complete(self) -> None:
        """The answer is complete."""
        self._complete = True
        keep = self._parser.should_keep_alive()
        self._parser = httptools.HttpResponseParser(self)
        if not keep and self._transport is not None:
            self._transport.close()
            self._transport = None


def _keep_alive(connected: socket.socket | None) -> None:
    """Have the system notice when the other side has silently vanished, which a watch could not tell from peace."""
    if connected is None:
        return
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
