"""A member cluster that attacks its control plane: a real server on loopback, in a thread of its own.

In front of a conformant API server it passes every request on, until a test chooses an attack for some. Attacks go on
until the client cuts the connection. `LoopMeter` measures what that costs the victim's event loop, in CPU time of its
own thread, so that a busy machine does not count.
"""

import asyncio
import contextlib
import gzip
import ssl
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import NamedTuple

from karmada.machinery.clock import LoopClock
from karmada.machinery.listening import stop_accepting

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
PIECE = 64 * 1024
MOST = 512 * 1024 * 1024
"""Bytes after which even an endless attack ends: a victim that takes so much has lost."""


class Attacked(NamedTuple):
    """A request that is answered with an attack."""

    method: str
    path: str
    send: Callable[[bytes], Awaitable[None]]


Attack = Callable[[Attacked], Awaitable[None]]


async def _endlessly(victim: Attacked, piece: bytes) -> None:
    for _ in range(MOST // len(piece)):
        await victim.send(piece)


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _sized(body: bytes, head: bytes = OK) -> bytes:
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


async def endless_line(victim: Attacked) -> None:
    """A watch whose first event never ends."""
    await victim.send(CHUNKED + _chunk(b'{"type":"ADDED","object":{"metadata":{"name":"'))
    await _endlessly(victim, _chunk(b"a" * PIECE))


async def huge_body(victim: Attacked) -> None:
    """40 MB that announce themselves."""
    begin, end = b'{"metadata":{"name":"a"},"data":"', b'"}'
    await victim.send(OK + b"Content-Length: %d\r\n\r\n" % (len(begin) + 640 * PIECE + len(end)) + begin)
    for _ in range(640):
        await victim.send(b"a" * PIECE)
    await victim.send(end)


async def endless_body(victim: Attacked) -> None:
    """An object that never ends, without a length."""
    await victim.send(CHUNKED + _chunk(b'{"metadata":{"name":"'))
    await _endlessly(victim, _chunk(b"a" * PIECE))


async def tiny_chunks(victim: Attacked) -> None:
    """The same, two bytes at a time."""
    await victim.send(CHUNKED)
    await _endlessly(victim, _chunk(b"aa") * (PIECE // 7))


async def deep_json(victim: Attacked) -> None:
    """A hundred thousand lists in each other."""
    await victim.send(_sized(b'{"metadata":{"name":"a"},"spec":' + b"[" * 100_000 + b"]" * 100_000 + b"}"))


async def garbage(victim: Attacked) -> None:
    """Success, and nothing that could be read."""
    await victim.send(_sized(b'\xff\x00{"kind":]garbage\x1b[31m'))


async def wrong_type(victim: Attacked) -> None:
    """A page for people."""
    await victim.send(_sized(b"<html>log in first</html>", b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"))


async def slow_drip(victim: Attacked) -> None:
    """One byte after the other, for ever."""
    await victim.send(CHUNKED)
    for _ in range(100_000):
        await victim.send(_chunk(b" "))
        await asyncio.sleep(0.05)


async def header_flood(victim: Attacked) -> None:
    """One header after the other, for ever."""
    await victim.send(OK)
    await _endlessly(victim, b"X-Flood: " + b"a" * 1000 + b"\r\n")


async def endless_header(victim: Attacked) -> None:
    """One header that never ends."""
    await victim.send(OK + b"X-Flood: ")
    await _endlessly(victim, b"a" * PIECE)


async def endless_trailer(victim: Attacked) -> None:
    """A trailer that never ends, after an answer that is fine."""
    await victim.send(CHUNKED + _chunk(b'{"metadata":{"name":"a"}}') + b"0\r\nX-Flood: ")
    await _endlessly(victim, b"a" * PIECE)


async def gzip_bomb(victim: Attacked) -> None:
    """A kilobyte that unpacks to a hundred times as much, and might to a million times."""
    packed = gzip.compress(b'{"metadata":{"name":"' + b"a" * 100_000 + b'"}}')
    await victim.send(_sized(packed, OK + b"Content-Encoding: gzip\r\n"))


async def two_answers(victim: Attacked) -> None:
    """A second answer right behind the first, for the next request on the connection."""
    answer = _sized(b'{"kind":"Secret","metadata":{"name":"smuggled"}}')
    await victim.send(answer + answer)
    await asyncio.sleep(1)


async def interim_flood(victim: Attacked) -> None:
    """Interim answers, for ever."""
    await _endlessly(victim, b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)


def redirect(to: str) -> Attack:
    """Somewhere else, where the client is to bring its token."""

    async def attack(victim: Attacked) -> None:
        await victim.send(b"HTTP/1.1 307 X\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % to.encode())

    return attack


async def event_flood(victim: Attacked) -> None:
    """Watch events that are all fine, as fast as the network takes them."""
    await victim.send(CHUNKED)
    revision = 1_000_000
    while revision < MOST // 100:
        lines = bytearray()
        for _ in range(500):
            revision += 1
            metadata = b'{"name":"n%d","namespace":"default","uid":"u","resourceVersion":"%d"}' % (
                revision % 100,
                revision,
            )
            lines += b'{"type":"MODIFIED","object":{"apiVersion":"v1","kind":"Pod","metadata":%s}}\n' % metadata
        await victim.send(_chunk(bytes(lines)))


ANSWERS: dict[str, Attack] = {
    "huge body": huge_body,
    "endless body": endless_body,
    "tiny chunks": tiny_chunks,
    "deep JSON": deep_json,
    "garbage": garbage,
    "wrong type": wrong_type,
    "header flood": header_flood,
    "endless header": endless_header,
    "endless trailer": endless_trailer,
    "gzip bomb": gzip_bomb,
    "two answers": two_answers,
    "interim flood": interim_flood,
}
"""Attacks on whoever asks for an object."""


class HostileMember:
    """A context: the server runs in it. `attack` is what it does, `concerns` to which requests (method and path)."""

    def __init__(self, upstream: int = 0) -> None:
        """`upstream`: the port of the API server (HTTPS on loopback) that answers what is not attacked."""
        self.attack: Attack | None = None
        self.concerns: Callable[[str, str], bool] = lambda method, path: True
        self.port = 0
        self.attacks = 0
        """Requests that were answered with an attack."""
        self.sent = 0
        """Bytes that attacks have got rid of."""
        self.tokens: list[str] = []
        """Authorization headers that came along with requests."""
        self._upstream = upstream
        self._serving: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True, name="hostile member")

    @property
    def endpoint(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> "HostileMember":
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._loop is not None
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    async def _run(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=1 << 20)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        await stop_accepting(server)
        for task, writer in self._serving.items():
            task.cancel()
            writer.transport.abort()  # a client that never reads would keep the socket open for its buffer
        await asyncio.gather(*self._serving, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._answer(reader, writer))
        self._serving[task] = writer
        task.add_done_callback(lambda done: self._serving.pop(done).close())

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = await reader.readuntil(b"\r\n\r\n")
            method, path, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
            self.tokens += [line.decode() for line in head.split(b"\r\n") if line.lower().startswith(b"authorization")]
            if self.attack is not None and self.concerns(method, path):
                self.attacks += 1
                await self.attack(Attacked(method, path, lambda data: self._send(writer, data)))
            elif self._upstream:
                await self._pass_on(head, reader, writer)

    async def _send(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        writer.write(data)
        await writer.drain()
        self.sent += len(data)

    async def _pass_on(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request to the real server, on a connection of its own."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        answers, upstream = await asyncio.open_connection("127.0.0.1", self._upstream, ssl=context)
        upstream.write(head[:-2] + b"Connection: close\r\n\r\n")
        away = asyncio.create_task(_copy(reader, upstream))
        back = asyncio.create_task(_copy(answers, writer))
        try:
            await asyncio.wait((away, back), return_when=asyncio.FIRST_COMPLETED)
            if away.done() and not writer.is_closing() and not reader.at_eof():
                await back
        finally:
            away.cancel()
            back.cancel()
            upstream.transport.abort()
            with contextlib.suppress(OSError):
                await writer.drain()
            writer.close()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, ssl.SSLError):
        while data := await source.read(PIECE):
            target.write(data)
            await target.drain()


class LoopMeter:
    """The longest time that the running loop had no turn for others, in seconds of its thread's own work."""

    def __init__(self) -> None:
        self.longest = 0.0
        self.turns = 0

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["LoopMeter"]:
        """Measure meanwhile."""
        task = asyncio.create_task(self._measure())
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _measure(self) -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0)
            self.longest = max(self.longest, time.thread_time() - before)
            self.turns += 1
            await asyncio.sleep(0.001)


class HurriedClock(LoopClock):
    """A clock on which time passes faster, for pauses of which a test with real connections has to see the end."""

    def __init__(self, times: float) -> None:
        self._times = times

    def monotonic(self) -> float:
        """The loop's own time, multiplied."""
        return super().monotonic() * self._times

    async def sleep(self, seconds: float) -> None:
        """Wait a fraction."""
        await super().sleep(seconds / self._times)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        """Schedule after a fraction."""
        return super().call_later(seconds / self._times, callback)
