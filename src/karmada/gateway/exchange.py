"""Connections to endpoints: HTTP/1.1, one request at a time, kept for the next, answers read as they come.

Unlike the API client's connection this one passes on whatever an application sends: repeated headers, any status, any
encoding, another protocol after an upgrade. What is bounded is the head, and what waits for a slow reader.
"""

import asyncio
import ssl
from collections import deque
from typing import NamedTuple, cast

import httptools

from karmada.machinery.os_errors import spelled

HEAD_LIMIT = 64 * 1024
BUFFERED = 256 * 1024
"""Bytes of a body that may wait for the client before the endpoint has to."""
IDLE_SECONDS = 30.0
MOST_IDLE = 32
"""Unused connections to one destination."""


class Destination(NamedTuple):
    """Where a connection leads."""

    host: str
    port: int
    context: ssl.SSLContext | None = None
    server_name: str = ""


class Broken(Exception):
    """There is no answer; `sent` is whether the endpoint may have seen the request."""

    def __init__(self, message: str, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent


class UpstreamConnection(asyncio.Protocol):
    """One connection; also the callbacks of the parser, and a byte channel after an upgrade."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._waiter: asyncio.Future[None] | None = None
        self._can_write = asyncio.Event()
        self._can_write.set()
        self._parts: deque[bytes] = deque()
        self.held = 0
        self._quiet = 0
        """Bytes without a complete head or a part of the body: the parser keeps what is unfinished, without a bound."""
        self._paused = self._until_end = False
        self._error: Broken | None = None
        self.status = 0
        self.headers: list[tuple[str, str]] = []
        self.complete = True
        """Whether the whole answer has arrived."""
        self.switched = False
        """Whether the other side speaks another protocol now."""
        self.idle_since = 0.0

    async def send(self, request: bytes) -> None:
        """Send a request and wait for the head of its answer; raises `Broken`."""
        if self._transport is None or self._transport.is_closing():
            raise Broken("the connection was closed before the request", False)
        self.status, self.headers, self._quiet = 0, [], 0
        self.complete = self._until_end = False
        self._transport.write(request)
        while not self.status:
            await self._wait()

    async def read(self) -> bytes:
        """The next bytes of the body, or of the other protocol; empty at the end. Raises `Broken`."""
        while not self._parts:
            if self.complete:
                return b""
            await self._wait()
        data = b"".join(self._parts)
        self._parts.clear()
        self.held = 0
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return data

    async def write(self, data: bytes) -> None:
        """Write after an upgrade, with back-pressure."""
        await self._can_write.wait()
        if self._transport is None:
            raise ConnectionResetError("the endpoint is gone")
        self._transport.write(data)

    async def close(self) -> None:
        """Drop the connection."""
        self.drop()

    def drop(self) -> None:
        """Drop the connection now."""
        if self._transport is not None:
            self._transport.abort()
            self._transport = None
        self.complete = True

    @property
    def usable(self) -> bool:
        """Whether a new request may be sent."""
        return (
            self._transport is not None and self.complete and self._error is None and not self._transport.is_closing()
        )

    async def _wait(self) -> None:
        if self._error is not None:
            raise self._error
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            if self._error is not None and not self._parts:
                self._waiter.set_exception(self._error)
            else:
                self._waiter.set_result(None)

    def _fail(self, message: str) -> None:
        self._error = Broken(message, True)
        if self._transport is not None:
            self._transport.abort()
            self._transport = None
        self._wake()

    # The network side.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is open."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Parse, or pass on after an upgrade."""
        if self.switched:
            self._hold(data)
        elif self.complete:
            # Nobody asked: its framing cannot be trusted.
            self.drop()
            return
        else:
            self._feed(data)
        self._wake()

    def _feed(self, data: bytes) -> None:
        self._quiet += len(data)
        if self._quiet > HEAD_LIMIT + BUFFERED:
            self._fail("the head of the answer is too large, or what stands between the parts of its body")
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self.switched, self.complete = True, False
            if rest := data[upgrade.args[0] :]:
                self._hold(rest)
        except httptools.HttpParserError as error:
            self._fail(f"the answer is not valid HTTP: {error}")

    def _hold(self, data: bytes) -> None:
        self._parts.append(data)
        self.held += len(data)
        if self.held > BUFFERED and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def connection_lost(self, error: Exception | None) -> None:
        """The connection is gone; an answer without a length ends here."""
        self._transport = None
        self._can_write.set()
        if self.status and (self._until_end or self.switched) and error is None:
            self.complete = True
        if not self.complete:
            self._error = Broken(f"the connection broke: {error or 'closed by the endpoint'}", True)
        self._wake()

    def pause_writing(self) -> None:
        """The socket's buffer is full."""
        self._can_write.clear()

    def resume_writing(self) -> None:
        """The socket's buffer has room again."""
        self._can_write.set()

    # The parser side.

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header line; trailers are dropped."""
        if not self.status:
            self.headers.append((name.decode("latin-1").lower(), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        """The head is complete; interim answers are passed over."""
        status = self._parser.get_status_code()
        if status < 200 and status != 101:
            self.headers = []
            return
        self.status, self._quiet = status, 0
        framed = any(name in ("content-length", "transfer-encoding") for name, _ in self.headers)
        self._until_end = not framed and status not in (204, 304)

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._quiet = 0
        self._hold(body)

    def on_message_complete(self) -> None:
        """The answer is complete."""
        if not self.status:
            return
        self.complete = True
        keep = self._parser.should_keep_alive()
        self._parser = httptools.HttpResponseParser(self)
        if not keep and self._transport is not None:
            self._transport.close()


class Connections:
    """Opens connections, and keeps those that can be used again."""

    def __init__(self) -> None:
        self._idle: dict[Destination, list[UpstreamConnection]] = {}

    async def take(self, to: Destination, fresh: bool, seconds: float) -> UpstreamConnection:
        """A connection; `fresh` ones cannot have been given up by the other side meanwhile. Raises `Broken`."""
        loop = asyncio.get_running_loop()
        idle = self._idle.get(to, [])
        while idle and not fresh:
            known = idle.pop()
            if known.usable and loop.time() - known.idle_since < IDLE_SECONDS:
                return known
            known.drop()
        name = (to.server_name or to.host) if to.context is not None else None
        try:
            async with asyncio.timeout(seconds):
                _, made = await loop.create_connection(
                    UpstreamConnection, to.host, to.port, ssl=to.context, server_hostname=name
                )
        except TimeoutError:
            raise Broken(f"no connection within {seconds:g} s", False) from None
        except (OSError, ssl.SSLError) as error:
            raise Broken(f"no connection: {spelled(error)}", False) from None
        return made

    def give_back(self, to: Destination, connection: UpstreamConnection) -> None:
        """Keep a connection for the next request if it can take one."""
        idle = self._idle.setdefault(to, [])
        if not connection.usable or len(idle) >= MOST_IDLE:
            connection.drop()
        else:
            connection.idle_since = asyncio.get_running_loop().time()
            idle.append(connection)
        if not idle:
            del self._idle[to]

    def sweep(self, seconds: float = IDLE_SECONDS) -> None:
        """Drop what nobody has used for so long: endpoints come and go."""
        oldest = asyncio.get_running_loop().time() - seconds
        for to, idle in list(self._idle.items()):
            kept = [known for known in idle if known.usable and known.idle_since > oldest]
            for connection in idle:
                if connection not in kept:
                    connection.drop()
            if kept:
                self._idle[to] = kept
            else:
                del self._idle[to]

    def __len__(self) -> int:
        """How many are kept."""
        return sum(map(len, self._idle.values()))

    def close(self) -> None:
        """Drop all that are not in use."""
        self.sweep(0.0)
