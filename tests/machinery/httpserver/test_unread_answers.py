"""Answers that clients do not read, or read slowly: what is kept of them, and for how long."""

import asyncio

from karmada.machinery.httpserver.connection import HttpConnection
from karmada.machinery.httpserver.model import ByteStream, Handler, HttpAnswer, HttpRequest, HttpResponse, Upgrade
from karmada.machinery.httpserver.server import HttpServer
from karmada.machinery.httpserver.timeouts import Patience, Timeouts

MIB = 1 << 20


class Unread(asyncio.Transport):
    """A transport whose client reads nothing until `read` is called."""

    def __init__(self, server: HttpServer, handler: Handler) -> None:
        super().__init__()
        self.written = bytearray()
        self.closed = False
        self.connection = HttpConnection(server, handler)
        self.connection.connection_made(self)

    def get_extra_info(self, name: str, default: object = None) -> object:
        return ("10.0.0.1", 1) if name == "peername" else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Every byte is too many."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data
        self.connection.pause_writing()

    def read(self) -> None:
        self.connection.resume_writing()

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.abort()

    def abort(self) -> None:
        if not self.closed:
            self.closed = True
            self.connection.connection_lost(None)

    def ask(self, name: str, method: bytes = b"GET", more: bytes = b"") -> None:
        self.connection.data_received(
            method + b" / HTTP/1.1\r\nHost: h\r\nX-Name: %s\r\n%s\r\n" % (name.encode(), more)
        )


async def large(request: HttpRequest) -> HttpAnswer:
    request.client = request.headers.get("x-name", "")
    return HttpResponse(200, b"x" * 300_000)


async def turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_answers_that_are_not_read_are_bounded_for_each_user():
    server = HttpServer(large, max_unsent=MIB)
    await server.listen("127.0.0.1", 0)
    try:
        unread = [Unread(server, large) for _ in range(5)]
        for one in unread[:3]:
            one.ask("mallory")
        unread[3].ask("mallory", b"DELETE")
        unread[4].ask("alice")
        await turns()
        first, second, third, deletion, other = unread
        assert first.written.startswith(b"HTTP/1.1 200 ")
        assert third.written.startswith(b"HTTP/1.1 429 ") == second.written.startswith(b"HTTP/1.1 429 ") is True
        assert b"Retry-After: 1" in third.written
        assert deletion.closed, "what is done is not refused"
        assert not deletion.written
        assert other.written.startswith(b"HTTP/1.1 200 "), "one user leaves room for others"
        assert server.unsent.left == MIB - 600_000
        while len(first.written) < 300_000:
            first.read()
            await turns()
        first.read()
        other.abort()
        await turns()
        assert server.unsent.left == MIB
    finally:
        for one in unread:
            one.abort()
        await server.stop(grace=0.1)


async def test_a_large_answer_is_handed_to_the_socket_in_pieces_and_comes_whole():
    server = HttpServer(large)
    await server.listen("127.0.0.1", 0)
    try:
        client = Unread(server, large)
        client.ask("alice")
        await turns()
        sizes = [len(client.written)]
        while client.connection.busy and len(sizes) < 10:
            client.read()
            await turns()
            sizes.append(len(client.written))
        assert sizes[0] < 1000, "its head"
        assert sizes[1] < 300_000
        assert client.written.endswith(b"\r\n\r\n" + b"x" * 300_000)
        client.abort()
    finally:
        await server.stop(grace=0.1)


class Clock(asyncio.AbstractEventLoop):
    """A loop of which connections ask the time only."""

    def __init__(self) -> None:
        self.now = 1000.0

    def time(self) -> float:
        return self.now

    def create_future(self) -> "asyncio.Future[None]":
        return asyncio.get_running_loop().create_future()


async def test_any_reading_will_do_after_an_upgrade():
    over = asyncio.Event()

    async def serve(stream: ByteStream) -> None:
        await over.wait()

    async def upgrade(request: HttpRequest) -> HttpAnswer:
        return Upgrade({"Connection": "Upgrade", "Upgrade": "x"}, serve)

    server, clock = HttpServer(upgrade), Clock()
    await server.listen("127.0.0.1", 0)
    loop = server.loop
    try:
        client = Unread(server, upgrade)
        client.connection.data_received(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
        await turns()
        assert client.written.startswith(b"HTTP/1.1 101 ")
        client.read()
        server.loop = clock
        for _ in range(3):
            client.connection.pause_writing()
            assert client.connection.deadline == clock.now + 60
            clock.now += 59
            client.read()
        over.set()
        await turns()
        client.abort()
    finally:
        server.loop = loop
        await server.stop(grace=0.1)


def test_who_reads_a_little_now_and_then_is_cut_off_as_well():
    patience = Patience(Timeouts())
    assert patience.paused(1000) == 1060
    patience.resumed(1059)
    assert patience.paused(1059) == 1060, "a drop does not buy another minute"
    patience.resumed(1059)
    assert patience.paused(1089) == 1089 + 31, "time in which nothing had to wait does"


def test_what_was_read_gives_patience_back_by_the_rate_that_the_server_asks_for():
    slow, fast = Patience(Timeouts(slowest=1.0)), Patience(Timeouts(slowest=1000.0))
    for patience, left in ((slow, 60.0), (fast, 1.1)):
        patience.paused(1000)
        patience.resumed(1059)
        patience.note_sent(100)
        assert patience.paused(1059) == 1059 + left


def test_after_an_upgrade_all_of_it_comes_back():
    patience = Patience(Timeouts())
    for start in (1000, 1059, 1118):
        assert patience.paused(start, any_reading_will_do=True) == start + 60
        patience.resumed(start + 59)
