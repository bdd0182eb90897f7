"""One HTTP/1.1 connection: one request at a time, a whole answer or a stream of body parts.

The connection is reusable only after a complete answer to a request that allowed it. Anything else (deadline,
cancellation, broken framing, stream left early) closes it. What the server sends is bounded by `machinery.limits`; more
than that, or what is no HTTP, cuts the connection with `BadAnswer`.
"""

import asyncio
import contextlib
import socket
import struct
from typing import cast

from karmada.machinery.errors import BadAnswer, Unavailable
from karmada.machinery.http.answer import AnswerParser, Budget, Head

_RESET = struct.pack("ii", 1, 0)
"""Linger for no time."""
BUFFER = 64 * 1024
"""Bytes that are read at once. Where connections bring no buffer of their own, asyncio takes 256 KiB for each part."""


def new_buffer() -> memoryview:
    """Room for what arrives."""
    return memoryview(bytearray(BUFFER))


class ConnectionBroken(Unavailable):
    """The connection ended before the answer did; `answered` says whether any of it had arrived."""

    def __init__(self, message: str, answered: bool) -> None:
        super().__init__(message)
        self.answered = answered


class Connection(AnswerParser, asyncio.BufferedProtocol):
    """A client connection.

    Bytes arrive in `buffer`, which connections of one loop may share: each part is consumed before the next is read.
    """

    def __init__(self, buffer: memoryview | None = None, budget: Budget | None = None) -> None:
        super().__init__(budget or Budget())
        self._buffer = buffer or new_buffer()
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._socket: socket.socket | None = None
        self._paused = False
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
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
        """Drop the connection, and what of a request the system has not sent yet."""
        if self._transport is not None:
            if not self._complete:
                _forget_unsent(self._socket)
            self._transport.abort()
            self._transport = None
        self._complete = True
        self._taken()
        self._error = self._error or ConnectionBroken("the connection was closed", bool(self._head.status))

    def _send(self, request: bytes, stream: bool) -> None:
        if self._transport is None or self._transport.is_closing():
            raise ConnectionBroken("the connection was closed before the request", False)
        self._expect(stream=stream)
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
        # TLS within TLS no longer knows its socket once the outer connection is gone.
        self._socket = transport.get_extra_info("socket")
        _keep_alive(self._socket)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where to put bytes."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """That many bytes have arrived."""
        if self._complete:
            # An answer nobody asked for; the framing cannot be trusted any more.
            self.close()
            return
        offence = self._feed(self._buffer[:nbytes])
        if offence is not None:
            self._fail(offence)
        elif self._streams or self._complete:
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

    def _overfull(self) -> None:
        if not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def _last(self) -> None:
        if self._transport is not None:
            self._transport.close()
            self._transport = None


def _forget_unsent(connected: socket.socket | None) -> None:
    """Have closing reset the connection. Otherwise the system goes on sending for minutes what nobody waits for, and a
    write that was given up behind a cut line lands when it is mended: after another leader's."""
    if connected is not None:
        with contextlib.suppress(OSError):  # closed already
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)


def _keep_alive(connected: socket.socket | None) -> None:
    """Have the system notice that the other side vanished, which a watch could not distinguish from silence."""
    if connected is None:
        return
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
