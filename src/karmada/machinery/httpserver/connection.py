"""One HTTP/1.1 connection: an `asyncio.Protocol` that parses, hands requests to the handler one by one, and answers.

- Requests of one connection are handled strictly in order by one task, so pipelined ones cannot overtake each other;
  reading pauses while `PIPELINE` requests wait.
- A request whose client goes away while the handler runs is finished (a write may be half done); streams and upgraded
  connections are cancelled at once.
- Writing waits while the socket's buffer is full. A client may let it wait for `Timeouts.write` seconds, and a second
  longer for every `Timeouts.slowest` bytes it reads; then it is cut off. After an upgrade, any reading at all gives it
  all these seconds anew. While a stream waits, its source gathers more, so slow sockets get fewer and larger writes.
- What is more than small is written in pieces and counted until the socket has taken it (`Unsent`): a whole answer all
  the time, of others the piece under way, for which they wait.
- Deadlines are plain numbers which the server's sweeper compares with the clock: no timer per request.
"""

import asyncio
import time
from collections import deque
from collections.abc import Iterable
from enum import Enum
from math import inf
from typing import TYPE_CHECKING, cast

from karmada.machinery.httpserver import encoding
from karmada.machinery.httpserver.model import (
    PIECE,
    CutOff,
    Handler,
    HttpAnswer,
    HttpRequest,
    HttpResponse,
    StreamResponse,
    Upgrade,
)
from karmada.machinery.httpserver.parsing import SMALL, Parsed, Refusal, RequestParser
from karmada.machinery.httpserver.refusals import CROWDED, FAILED, refused
from karmada.machinery.httpserver.timeouts import Patience
from karmada.machinery.httpserver.upgraded import ENDED, Disconnected, UpgradedStream, Wire

if TYPE_CHECKING:
    from karmada.machinery.httpserver.server import HttpServer

PIPELINE = 16
WRITE_HIGH = 64 * 1024
"""Bytes in a socket's buffer that are not counted; writing waits while there are more."""
LINGER = 2.0
"""Seconds to go on reading after a refusal."""


class _State(Enum):
    IDLE = 0
    HANDLING = 1
    STREAMING = 2
    UPGRADED = 3
    LINGERING = 4
    CLOSED = 5


class _Part(Enum):
    """What of a request has arrived in part."""

    NONE = 0
    HEAD = 1
    BODY = 2


class HttpConnection(asyncio.Protocol):
    """Serves one connection: as the protocol of a TCP transport, or driven by a TLS layer in between."""

    __slots__ = (
        "_can_write",
        "_handler",
        "_last",
        "_part",
        "_patience",
        "_paused",
        "_queue",
        "_server",
        "_state",
        "_stream",
        "_task",
        "_wake",
        "client",
        "deadline",
        "parser",
        "wire",
    )

    def __init__(self, server: "HttpServer", handler: Handler) -> None:
        self._server = server
        self._handler = handler
        self._queue: deque[Parsed | Refusal] = deque()
        self._state = _State.IDLE
        self._wake: asyncio.Future[None] | None = None
        """Where the task waits for a request."""
        self._can_write: asyncio.Future[None] | None = None
        """Where the task waits for the socket; present exactly while writing is paused."""
        self._patience = Patience(server.timeouts)
        self._paused = False
        self._part = _Part.NONE
        self._last = False
        """Whether to close after the answer under way."""
        self._stream: UpgradedStream | None = None
        self.client = ""
        """Whose connection it is: the user of its last request, empty for anonymous ones."""
        self.deadline = inf
        """When the sweeper cuts the connection off."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to serve on a plain transport."""
        tcp = cast(asyncio.Transport, transport)
        tcp.set_write_buffer_limits(high=WRITE_HIGH)
        self.open(tcp, peer_of(transport), None)

    def open(self, wire: Wire, peer: tuple[str, int], certificate: bytes | None) -> None:
        """Begin to serve, once the transport (and TLS) is ready."""
        self.wire = wire
        self.parser = RequestParser(self._server.limits, peer, certificate, self._server.admit, self._server.room)
        loop = self._server.loop
        self.deadline = loop.time() + self._server.timeouts.head
        self._task = loop.create_task(self._serve())

    # Events of the transport.

    def data_received(self, data: bytes) -> None:
        """Parse; wake the task for what became complete."""
        if self._stream is not None:
            self._stream.feed(data)
            return
        if self._state is _State.LINGERING:
            return
        arrived = self.parser.feed(data)
        if len(self.parser.rest) > UpgradedStream.HIGH:
            # More of the new protocol than anybody keeps, before there was an answer to the old one.
            self.wire.abort()
            return
        if arrived:
            self._queue.extend(arrived)
            self._wake_up()
            if len(self._queue) >= PIPELINE and not self._paused:
                self._paused = True
                self.wire.pause_reading()
        if self._state is _State.IDLE and not self._queue:
            self._expect_more()

    def eof_received(self) -> bool:
        """The client will send no more: finish what it asked for, except streams, then close."""
        if self._stream is not None:
            self._stream.feed(b"")
            return True
        if self._state is _State.HANDLING or self._queue:
            self._last = True
            return True
        self._drop()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The transport is gone."""
        if self._stream is not None:
            self._stream.feed(b"")
        if self._can_write is not None:
            if not self._can_write.done():
                self._can_write.set_exception(Disconnected("the client went away"))
            # Nobody may be waiting just now; the stream's next write then finds the wire closing.
            self._can_write.exception()
            self._can_write = None
        self._drop()
        if self._state is _State.IDLE:
            # A task that is cancelled before its first step does not clean up, and keeps this object in its traceback.
            self.parser.close()
            self._server.forget(self)
            del self._task

    def pause_writing(self) -> None:
        """The socket's buffer is full."""
        if self._can_write is None:
            self._can_write = self._server.loop.create_future()
            # What is upgraded keeps no more than the socket's buffer, however slowly it is read.
            self.deadline = self._patience.paused(self._server.loop.time(), self._state is _State.UPGRADED)

    def resume_writing(self) -> None:
        """The socket's buffer has room again."""
        waiter, self._can_write = self._can_write, None
        self._patience.resumed(self._server.loop.time())
        self.deadline = inf
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    # The server's commands.

    @property
    def busy(self) -> bool:
        """Whether a request is being answered, or the transport is not ready yet."""
        return self.deadline == inf or self._state is not _State.IDLE or bool(self._queue)

    def end(self) -> None:
        """Close gracefully: idle connections now, busy ones after their answer, streams with a proper end."""
        self._last = True
        if self._state is _State.IDLE and not self._queue:
            self._drop()
        elif self._state is not _State.HANDLING:
            self._task.cancel()

    def expire(self) -> None:
        """A deadline passed."""
        if self._state is _State.IDLE and self.parser.busy and not self._queue:
            self._queue.append(Refusal(408, "Request Timeout"))
            self.deadline = inf
            self._wake_up()
            return
        self.wire.abort()

    def abort(self) -> None:
        """Close at once."""
        self.wire.abort()

    # Inside.

    def _expect_more(self) -> None:
        """Set the deadline when a request's head or body begins, and ask a waiting client to go on with its body."""
        parser, timeouts = self.parser, self._server.timeouts
        if parser.continue_wanted:
            parser.continue_wanted = False
            self.wire.write(encoding.CONTINUE)
        part = _Part.BODY if parser.in_body else _Part.HEAD if parser.busy else _Part.NONE
        if part is not self._part:
            self._part = part
            if part is not _Part.NONE:
                allowed = timeouts.body if part is _Part.BODY else timeouts.head
                self.deadline = self._server.loop.time() + allowed

    def _wake_up(self) -> None:
        wake, self._wake = self._wake, None
        if wake is not None and not wake.done():
            wake.set_result(None)

    def _drop(self) -> None:
        """Leave: nothing is owed to the client any more."""
        if self._state is not _State.HANDLING:
            self._task.cancel()
        self.wire.close()

    async def _serve(self) -> None:
        server, queue = self._server, self._queue
        loop, timeouts = server.loop, server.timeouts
        try:
            while True:
                if not queue:
                    self._state = _State.IDLE
                    if self._last:
                        break
                    if self._paused:
                        self._paused = False
                        self.wire.resume_reading()
                    self._wake = loop.create_future()
                    await self._wake
                    continue
                self._state = _State.HANDLING
                self.deadline = inf
                parsed = queue.popleft()
                if not await self._answer(parsed):
                    break
                if not queue:
                    self.deadline = loop.time() + timeouts.idle
                    self._state = _State.IDLE
                    self._part = _Part.NONE
                    if self.parser.busy:
                        self._expect_more()
        except (asyncio.CancelledError, Disconnected):
            pass
        finally:
            self._state = _State.CLOSED
            self.wire.close()
            self.parser.close()
            server.forget(self)

    async def _answer(self, parsed: Parsed | Refusal) -> bool:
        """Answer one request; returns whether the connection goes on."""
        if isinstance(parsed, Refusal):
            self._refuse(parsed.answer or refused(parsed))
            self.parser.close()
            await self._linger()
            return False
        request, chunked = parsed.request, parsed.chunked
        answer = await self._handle(request)
        # What is sent after this, perhaps for hours, does not need it any more.
        self.parser.release(len(request.body))
        request.body = b""
        if request.client != self.client and not self._server.identified(self, request.client):
            self._last = True
        keep_alive = parsed.keep_alive and not self._last
        if isinstance(answer, HttpResponse):
            return await self._send_whole(request, answer, keep_alive)
        if isinstance(answer, StreamResponse):
            return await self._send_stream(request, answer, keep_alive, chunked)
        try:
            if parsed.upgrade:
                await self._upgrade(answer)
            else:
                self._refuse(refused(Refusal(400, "Bad Request: no Connection: Upgrade")))
                await answer.serve(ENDED)
        except ValueError as error:
            self._server.failed(request, error)
        finally:
            answer.ended()
        return False

    def _refuse(self, answer: HttpResponse) -> None:
        self.wire.write(self._head(answer, keep_alive=False) + answer.body)

    async def _linger(self) -> None:
        """Read on for a while: closing on a client that still sends would destroy the answer on its way."""
        self._state = _State.LINGERING
        self.deadline = self._server.loop.time() + LINGER
        if self._paused:
            self.wire.resume_reading()
        await self._server.loop.create_future()

    async def _handle(self, request: HttpRequest) -> HttpAnswer:
        try:
            return await self._handler(request)
        except Exception as error:
            self._server.failed(request, error)
            return FAILED

    async def _send_whole(self, request: HttpRequest, answer: HttpResponse, keep_alive: bool) -> bool:
        """Write a whole answer; returns whether the connection goes on."""
        unsent, client = self._server.unsent, _client(request)
        held = len(answer.body) if len(answer.body) > SMALL else 0
        if held and not unsent.try_take(client, held):
            held = 0
            if request.method not in ("GET", "HEAD"):
                # It is done: who is refused with 429 does it again.
                self.wire.abort()
                return False
            answer = CROWDED
        try:
            if _worth_packing(request, answer):
                if answer.pieces is not None:
                    await unsent.take(client, answer.pieces.size)
                    held = answer.pieces.size
                parts = (answer.body,) if answer.pieces is None else answer.pieces.parts
                answer.body, answer.pieces = await asyncio.to_thread(encoding.gzip, parts), None
                del parts  # What was compressed is not kept while it is sent.
                answer.headers = {**answer.headers, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
                unsent.give(client, held - len(answer.body))
                held = len(answer.body)
            if self.wire.is_closing():
                return False
            try:
                head = self._head(answer, keep_alive)
            except ValueError as error:
                self._server.failed(request, error)
                answer = FAILED
                head = self._head(answer, keep_alive)
            return await self._write_whole(request, answer, head) and keep_alive
        finally:
            if held:
                unsent.give(client, held)

    def _head(self, answer: HttpResponse, keep_alive: bool) -> bytes:
        size = len(answer.body) if answer.pieces is None else answer.pieces.size
        framing = encoding.length(size) if _has_body(answer) else b""
        date = self._server.date.at(time.time())
        return encoding.head(answer.status, answer.content_type, answer.headers, date, framing, keep_alive)

    async def _write_whole(self, request: HttpRequest, answer: HttpResponse, head: bytes) -> bool:
        wire, body = self.wire, answer.body
        if request.method == "HEAD" or not _has_body(answer):
            wire.write(head)
        elif answer.pieces is not None:
            wire.write(head)
            return await self._write_pieces(answer.pieces.parts, _client(request))
        elif len(body) <= SMALL:
            wire.write(head + body)
        else:
            wire.write(head)
            for data in encoding.cut(body):
                await self._drained()
                if wire.is_closing():
                    return False
                self._patience.note_sent(len(data))
                wire.write(data)
        await self._drained()
        return True

    async def _write_pieces(self, parts: Iterable[bytes], client: str, chunked: bool = False) -> bool:
        """Write parts as they are made, when there is room for each; false if the connection closed meanwhile."""
        unsent, wire = self._server.unsent, self.wire
        pieces = (piece for part in parts for piece in encoding.cut(part))
        while True:
            await self._drained()
            await unsent.take(client, PIECE)
            try:
                if wire.is_closing():
                    return False
                data = next(pieces, b"")
                if not data:
                    return True
                self._patience.note_sent(len(data))
                wire.write(encoding.chunk(data) if chunked else data)
                del data
                await self._drained()
            finally:
                unsent.give(client, PIECE)

    async def _send_stream(self, request: HttpRequest, answer: StreamResponse, keep_alive: bool, chunked: bool) -> bool:
        wire, chunks, client = self.wire, answer.chunks, _client(request)
        framing = encoding.CHUNKED if chunked else b""
        keep_alive = keep_alive and chunked
        self._state = _State.STREAMING
        complete = False
        pacer, clock, written = self._server.pacer, self._server.loop.time, 0.0

        def flush() -> bool:
            if self._can_write is not None or not (data := answer.gathered()):
                return False
            self._patience.note_sent(len(data))
            wire.write(pacer.chunk(data) if chunked else data)
            return True

        pacer.streams += 1
        try:
            date = self._server.date.at(time.time())
            wire.write(encoding.head(answer.status, answer.content_type, answer.headers, date, framing, keep_alive))
            if request.method != "HEAD":
                async for data in chunks:
                    if wire.is_closing():
                        return False
                    if not isinstance(data, bytes):
                        await self._write_pieces(data, client, chunked)
                    elif len(data) > SMALL:
                        await self._write_pieces((data,), client, chunked)
                    elif data:
                        self._patience.note_sent(len(data))
                        wire.write(encoding.chunk(data) if chunked else data)
                    await self._drained()
                    previous, written = written, clock()
                    await pacer.after_write(previous, written, flush)
                    written = clock()
                    await self._drained()
            complete = True
        except asyncio.CancelledError:
            # A graceful end of the server finishes the body properly; a vanished client gets nothing.
            complete = self._last
            raise
        except CutOff:
            pass
        except Exception as error:
            self._server.failed(request, error)
        finally:
            self._state = _State.HANDLING
            pacer.streams -= 1
            answer.ended()
            close = getattr(chunks, "aclose", None)
            if close is not None:
                await close()
            if complete and chunked and request.method != "HEAD" and not wire.is_closing():
                wire.write(encoding.LAST_CHUNK)
        return complete and keep_alive

    async def _upgrade(self, answer: Upgrade) -> None:
        self._state = _State.UPGRADED
        stream = self._stream = UpgradedStream(self.wire, self._drained)
        try:
            fields = encoding.fields(answer.headers)
        except ValueError:
            await answer.serve(ENDED)
            raise
        self.wire.write(b"HTTP/1.1 101 Switching Protocols\r\n%b\r\n" % fields)
        if self.parser.rest:
            stream.feed(self.parser.rest)
        await answer.serve(stream)

    async def _drained(self) -> None:
        if self._can_write is not None:
            await self._can_write


def _client(request: HttpRequest) -> str:
    """In whose name answers are counted."""
    return request.client or request.peer[0]


def _has_body(answer: HttpResponse) -> bool:
    return answer.status not in (204, 304)


def _worth_packing(request: HttpRequest, answer: HttpResponse) -> bool:
    """Whether the body is compressed, which a thread does."""
    size = len(answer.body) if answer.pieces is None else answer.pieces.size
    if size < encoding.GZIP_MINIMUM or "Content-Encoding" in answer.headers:
        return False
    return encoding.wants_gzip(request.headers.get("accept-encoding", ""), size, request.peer[0])


def peer_of(transport: asyncio.BaseTransport) -> tuple[str, int]:
    """Address of the client; empty for other than internet sockets."""
    name = transport.get_extra_info("peername")
    return (name[0], name[1]) if isinstance(name, tuple) and len(name) >= 2 else ("", 0)
