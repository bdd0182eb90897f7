"""A running server, and raw sockets to talk to it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field

import pytest

from karmada.machinery.httpserver.model import CutOff, Handler, HttpAnswer, HttpRequest, HttpResponse, StreamResponse
from karmada.machinery.httpserver.server import HttpServer
from karmada.machinery.httpserver.timeouts import Timeouts


@dataclass
class Recorder:
    """A handler that remembers requests and answers by path."""

    requests: list[HttpRequest] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    failures: list[Exception] = field(default_factory=list)

    async def __call__(self, request: HttpRequest) -> HttpAnswer:
        self.requests.append(request)
        if request.path == "/slow":
            await self.gate.wait()
        if request.path == "/broken":
            raise RuntimeError("broken on purpose")
        if request.path == "/stream":
            return StreamResponse(200, self.stream())
        if request.path in ("/cut", "/cut/parts"):
            return StreamResponse(200, cut_off(request.path == "/cut/parts"))
        if request.path == "/big":
            return HttpResponse(200, b"b" * 1_000_000)
        return HttpResponse(200, f"{request.method} {request.path}".encode(), "text/plain")

    async def stream(self) -> AsyncIterator[bytes]:
        try:
            yield b"one\n"
            await self.gate.wait()
            yield b"two\n"
        finally:
            self.closed.set()


async def cut_off(parts: bool) -> AsyncIterator[bytes | Iterator[bytes]]:
    """A body without an end."""

    def cut() -> Iterator[bytes]:
        yield b"one\n"
        raise CutOff

    if parts:
        yield cut()
    yield b"one\n"
    raise CutOff


@dataclass
class Client:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def until(self, mark: bytes) -> bytes:
        return await asyncio.wait_for(self.reader.readuntil(mark), 10)

    async def rest(self) -> bytes:
        return await asyncio.wait_for(self.reader.read(), 10)

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        head = (await self.until(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in head[1:] if line)
        size = int(headers.get("Content-Length", 0))
        body = await asyncio.wait_for(self.reader.readexactly(size), 10)
        return int(head[0].split()[1]), headers, body


Connect = Callable[[], Awaitable[Client]]
Serve = Callable[..., Awaitable[Connect]]


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
async def serve(recorder: Recorder) -> AsyncIterator[Serve]:
    servers: list[HttpServer] = []
    clients: list[Client] = []

    async def start(handler: Handler | None = None, timeouts: Timeouts | None = None) -> Connect:
        server = HttpServer(
            handler or recorder, timeouts=timeouts, failed=lambda _, error: recorder.failures.append(error)
        )
        port = await server.listen("127.0.0.1", 0)
        servers.append(server)

        async def connect() -> Client:
            client = Client(*await asyncio.open_connection("127.0.0.1", port))
            clients.append(client)
            return client

        connect.server = server  # the tests of shutdown and sweeping need it
        return connect

    yield start
    recorder.gate.set()
    for client in clients:
        client.writer.close()
    for server in servers:
        await server.stop(grace=1.0)
