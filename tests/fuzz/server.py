"""An API server behind the real HTTP protocol object, without a socket: bytes in, bytes out, and stalls measured."""

import asyncio
import contextlib
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any

from karmada.apiserver.http_dispatcher import HttpDispatcher
from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.apiserver.storage.sqlite import SqliteStorage
from karmada.machinery.httpserver.connection import HttpConnection
from karmada.machinery.httpserver.model import Handler, HttpAnswer, HttpRequest
from karmada.machinery.httpserver.server import HttpServer

TOKEN = "fuzz"
_QUIET = 4
"""Turns of the loop without output after which a connection counts as idle."""


class Wire(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = bytearray()
        self.closed = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name == "peername" else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Nothing is ever held back."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def pause_reading(self) -> None:
        """Bytes are fed one portion at a time anyway."""

    def resume_reading(self) -> None:
        """Bytes are fed one portion at a time anyway."""


class Server:
    """Takes requests one after the other; `stall` is the most that the loop's own thread worked without a turn."""

    def __init__(self, api: ApiServer, http: HttpServer, handler: Handler) -> None:
        self.api = api
        self.http = http
        self.stall = 0.0
        self.handler = handler

    async def send(self, *portions: bytes, exact: bool = True) -> bytes:
        """What the server writes to one connection until it is idle or closed again.

        `exact` looks at every turn of the loop, which keeps a processor busy while threads work; without it, `stall`
        is only known not to be more than what is said.
        """
        active: set[asyncio.Future[None]] = set()

        async def handle(request: HttpRequest) -> HttpAnswer:
            done = self.http.loop.create_future()
            active.add(done)
            try:
                return await self.handler(request)
            finally:
                active.discard(done)
                done.set_result(None)

        connection, wire = HttpConnection(self.http, handle), Wire()
        connection.connection_made(wire)
        await self._turn()
        for portion in portions:
            if wire.closed:
                break
            began = time.thread_time()
            connection.data_received(portion)
            self.stall = max(self.stall, time.thread_time() - began)
            written, quiet = 0, 0
            while quiet < _QUIET and not wire.closed:
                if active and not exact:
                    await self._turn(asyncio.wait(active))
                else:
                    await self._turn()
                quiet = 0 if active or len(wire.written) != written else quiet + 1
                written = len(wire.written)
        answer = bytes(wire.written)
        connection.connection_lost(None)
        await self._turn()
        return answer

    async def _turn(self, other: Awaitable[object] | None = None) -> None:
        began = time.thread_time()
        await (asyncio.sleep(0) if other is None else other)
        self.stall = max(self.stall, time.thread_time() - began)


def request(method: str, path: str, body: bytes = b"", content_type: str = "", token: str = TOKEN) -> bytes:
    """A well-formed request."""
    head = f"{method} {path} HTTP/1.1\r\nHost: fuzz\r\nAuthorization: Bearer {token}\r\n"
    if content_type:
        head += f"Content-Type: {content_type}\r\n"
    if body:
        head += f"Content-Length: {len(body)}\r\n"
    return f"{head}\r\n".encode() + body


def status(answer: bytes) -> int:
    """The code of the first answer; 0 when there is none."""
    return int(answer[9:12]) if answer.startswith(b"HTTP/1.1 ") else 0


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[Server]:
    """A server of its own, with one administrator; what it stores lies on disk, as it does where it runs."""
    with tempfile.TemporaryDirectory(prefix="karmada-fuzz-") as folder:
        storage = SqliteStorage(Path(folder) / "state.db")
        options = ApiServerOptions(storage, static_tokens=f'{TOKEN},fuzzer,1,"system:masters"')
        async with _served(options) as server:
            yield server


@contextlib.asynccontextmanager
async def _served(options: ApiServerOptions) -> AsyncIterator[Server]:
    async with ApiServer(options) as api:
        who = api.identity
        handler = HttpDispatcher(api.dispatcher, who.requester_of, api.api_services, api.traffic, who.acting_as)
        http = HttpServer(handler, admit=handler.admit)
        await http.listen("127.0.0.1", 0)
        try:
            yield Server(api, http, handler)
        finally:
            await http.stop()
