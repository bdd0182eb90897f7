"""One HTTP/1.1 connection: one request at a time, a whole answer or a stream of body parts.

The connection is reusable only after a complete answer to a request that allowed it. Anything else (deadline,
cancellation, broken framing, stream left early) closes it. What the server sends is bounded by `machinery.limits`; more
than that, or what is no HTTP, cuts the connection with `BadAnswer`.
"""

import asyncio
import socket
from collections import deque
from typing import cast

import httptools

from karmada.machinery import limits
from karmada.machinery.errors import AnswerTooLarge, BadAnswer, Unavailable

SMALL = 4096
"""Parts of a body up to this size are gathered in one piece: a server may send each byte by itself."""
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


class Budget:
    """Bytes that all connections to one server may hold together."""

    def __init__(self, limit: int = limits.BUFFERED) -> None:
        self._limit = limit
        self.used = 0

    def take(self, size: int) -> bool:
        """Hold that many more; whether that is allowed."""
        self.used += size
        return self.used <= self._limit

    def give_back(self, size: int) -> None:
        """Hold that many less."""
        self.used -= size


class Connection(asyncio.BufferedProtocol):
    """A client connection; also the parser's callbacks (`on_*`).

    Bytes arrive in `buffer`, which connections of one loop may share: each part is consumed before the next is read.
    """

    def __init__(self, buffer: memoryview | None = None, budget: Budget | None = None) -> None:
        self._buffer = buffer or new_buffer()
        self.budget = budget or Budget()
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._head = Head()
        self._parts: deque[bytes | bytearray] = deque()
        self._held = 0
        """Bytes in `_parts`, taken from the budget."""
        self._limit = limits.ANSWER
        self._framing = 0
        """Bytes since the last that belonged to a body."""
        self._pieces = 0
        self._arrived = 0
        """Parts of the body, and bytes, since the request or the last time somebody read them."""
        self._offence: BadAnswer | None = None
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
        try:
            while not self._complete:
                await self._wait()
        finally:
            body = self._taken()
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
        data = self._taken()
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
        self._taken()
        self._error = self._error or ConnectionBroken("the connection was closed", bool(self._head.status))

    def _send(self, request: bytes, stream: bool) -> None:
        if self._transport is None or self._transport.is_closing():
            raise ConnectionBroken("the connection was closed before the request", False)
        self._head = Head()
        self._complete = False
        self._limit = limits.ANSWER
        self._framing = 0
        self._wake_on_body = stream
        self._transport.write(request)

    def _taken(self) -> bytes:
        """The body so far, which is the caller's from now on."""
        parts, self._parts = self._parts, deque()
        self.budget.give_back(self._held)
        self._held = self._pieces = self._arrived = 0
        only = parts[0] if len(parts) == 1 else b""
        return only if isinstance(only, bytes) and len(parts) == 1 else b"".join(parts)

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
        if self._framing > limits.FRAMING:
            self._fail(BadAnswer(f"the server sent more than {limits.FRAMING} bytes of headers"))
            return
        self._framing += nbytes
        self._arrived += nbytes
        try:
            self._parser.feed_data(self._buffer[:nbytes])
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(self._offence or BadAnswer(f"the answer is not valid HTTP: {error}"))
            return
        if self._pieces > limits.PIECES and self._arrived < limits.PIECE * self._pieces:
            self._offence = BadAnswer("the server sent its answer in too many parts")
        if self._offence is not None:
            self._fail(self._offence)
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
            text = f"the connection broke: {error or 'closed by the server'}"
            self._fail(ConnectionBroken(text, bool(self._head.status)))

    def _fail(self, error: Unavailable | BadAnswer) -> None:
        self._error = error
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
        """A header line; what follows the body is none."""
        if self._head.status:
            return
        lowered = name.lower()
        if lowered == b"warning":
            self._head.warnings.append(value)
        else:
            self._head.headers[lowered] = value

    def on_headers_complete(self) -> None:
        """The head is complete."""
        head = self._head
        status = head.status = self._parser.get_status_code()
        self._framing = 0
        if status >= 300:
            self._limit = limits.REFUSAL
        length = head.headers.get(b"content-length", b"0")
        if status < 200:
            self._offence = BadAnswer(f"the server answered {status}, which nobody asked for")
        elif head.headers.get(b"content-encoding", b"identity").lower() != b"identity":
            # Nothing is ever unpacked: a kilobyte may become a gigabyte.
            self._offence = BadAnswer("the server sent an encoded answer, which nobody asked for")
        elif not self._wake_on_body and length.isdigit() and int(length[:20]) > self._limit:
            self._offence = self._too_large()

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        size = len(body)
        self._framing = 0
        self._held += size
        self._pieces += 1
        if not self.budget.take(size):
            self._offence = BadAnswer(f"the server sent more than {limits.BUFFERED} bytes at once")
        last = self._parts[-1] if self._parts else None
        if last is None or size > SMALL:
            self._parts.append(body)
        elif isinstance(last, bytearray):
            last += body
        else:
            self._parts.append(bytearray(body))
        if not self._wake_on_body:
            if self._held > self._limit:
                self._offence = self._too_large()
        elif self._held > limits.STREAM_BUFFER and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def _too_large(self) -> AnswerTooLarge:
        return AnswerTooLarge(f"the answer is larger than {self._limit} bytes")

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
