"""Requests made to hurt: what is refused, when, and what is left of them afterwards."""

import asyncio
import gc
import ssl
from collections.abc import Callable

import pytest
from tests.machinery.httpserver.conftest import Recorder, Serve

from karmada.apiserver.auth.pki import Authority, server_names
from karmada.machinery.httpserver.connection import HttpConnection
from karmada.machinery.httpserver.model import Handler, HttpAnswer, HttpRequest, HttpResponse
from karmada.machinery.httpserver.parsing import Admit, Limits, Parsed, Refusal, RequestParser
from karmada.machinery.httpserver.server import HttpServer
from karmada.machinery.httpserver.timeouts import Timeouts
from karmada.machinery.httpserver.tls import TlsConnection, server_context

PEER = ("127.0.0.1", 1)
GET = b"GET / HTTP/1.1\r\nHost: h\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
TRAILERS = (
    b"0\r\nAuthorization: Bearer stolen\r\nImpersonate-User: system:admin\r\nImpersonate-Group: system:masters\r\n"
    b"X-Remote-User: root\r\nContent-Type: application/yaml\r\n\r\n"
)


def parse(*portions: bytes, limits: Limits | None = None) -> list[Parsed | Refusal]:
    parser = RequestParser(limits or Limits(), PEER)
    return [item for portion in portions for item in parser.feed(portion)]


@pytest.mark.parametrize("cut", [1, 7, 40, 1000])
def test_trailers_are_never_headers(cut: int):
    stream = CHUNKED + b"2\r\n{}\r\n" + TRAILERS + GET + b"\r\n"
    first, second = parse(*[stream[i : i + cut] for i in range(0, len(stream), cut)])
    assert isinstance(first, Parsed)
    assert dict(first.request.headers) == {"host": "h", "transfer-encoding": "chunked"}
    assert first.request.body == b"{}"
    assert isinstance(second, Parsed)
    assert dict(second.request.headers) == {"host": "h"}


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([b"0\r\n" + b"".join(b"a%d: b\r\n" % i for i in range(2000))], id="many"),
        pytest.param([b"0\r\nA: " + b"a" * 200_000 + b"\r\n\r\n"], id="long"),
        pytest.param([b"0\r\nA: ", *[b"a" * 10_000] * 20], id="without end"),
        pytest.param([b"1;x=", *[b"y" * 10_000] * 20], id="an extension of a chunk without end"),
    ],
)
def test_what_is_parsed_and_dropped_is_bounded_too(parts: list[bytes]):
    assert parse(CHUNKED, *parts)[-1] == Refusal(431, "Request Header Fields Too Large")


@pytest.mark.parametrize("character", [*range(0x20), 0x7F])
def test_control_characters_in_a_path_are_refused_however_they_are_written(character: int):
    for text in (b"%%%02x" % character, b"%%%02X" % character, bytes([character])):
        last = parse(b"GET /api/v1/a" + text + b"b HTTP/1.1\r\nHost: h\r\n\r\n")[-1]
        assert isinstance(last, Refusal)
        assert last.status in (400, 405)


@pytest.mark.parametrize("name", ["Authorization", "Host", "Impersonate-User", "Impersonate-Uid", "X-Remote-User"])
def test_a_header_of_which_one_must_count_is_refused_when_repeated(name: str):
    line = f"{name}: a\r\n".encode()
    (refusal,) = parse(b"GET / HTTP/1.1\r\n" + (b"" if name == "Host" else b"Host: h\r\n") + line * 2 + b"\r\n")
    assert isinstance(refusal, Refusal)
    assert refusal.status == 400


@pytest.mark.parametrize("value", [b"a\r\n b", b"a\nX-Remote-Group: b", b"a\rb", b"a\x00b", b"a\x0bb", b"a\x7fb"])
def test_an_identity_header_of_several_lines_is_refused(value: bytes):
    (refusal,) = parse(GET + b"X-Remote-User: " + value + b"\r\n\r\n")
    assert isinstance(refusal, Refusal)
    assert refusal.status == 400


def test_a_value_that_is_no_unicode_is_replaced():
    (item,) = parse(GET + b"User-Agent: x\xff\r\n\r\n")
    assert isinstance(item, Parsed)
    assert item.request.headers["user-agent"] == "x\ufffd"


def test_repeating_one_header_costs_no_more_than_other_headers():
    last = parse(GET + b"a:\r\n" * 5000)[-1]
    assert last == Refusal(431, "Request Header Fields Too Large")


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(3000):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it does not become true")


async def emptied(server: HttpServer) -> None:
    await until(lambda: not server.connections)


def refusing(seen: list[str]) -> Admit:
    def admit(request: HttpRequest) -> HttpResponse | int:
        seen.append(request.path)
        return HttpResponse(403, b"no") if request.path == "/forbidden" else 10

    return admit


async def test_a_request_is_judged_before_its_body_arrives(recorder: Recorder):
    seen: list[str] = []
    server = HttpServer(recorder, admit=refusing(seen), failed=lambda request, error: None)
    port = await server.listen("127.0.0.1", 0)
    try:
        for head, status in (
            (b"POST /forbidden HTTP/1.1\r\nHost: h\r\nContent-Length: 3000000\r\n\r\n", b"403"),
            (b"POST /forbidden HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", b"403"),
            (b"POST /x HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n", b"413"),
            (b"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n", b"413"),
        ):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head)
            line = await asyncio.wait_for(reader.readline(), 10)
            assert status in line
            writer.close()
        assert recorder.requests == []
        assert len(seen) == 4
    finally:
        await server.stop(grace=0.1)


def left_of(server: HttpServer) -> list[object]:
    """What still exists for connections of a server; others in this process may have some of their own."""
    found = gc.get_objects()
    connections = [each for each in found if type(each) in (HttpConnection, TlsConnection)]
    parsers = [each for each in found if type(each) is RequestParser]
    return [
        *(each for each in connections if getattr(each, "_server", None) is server),
        *(each for each in parsers if getattr(each, "_limits", None) is server.limits),
    ]


HOSTILE = {
    "too large a head": GET + b"A: " + b"a" * 200_000,
    "too many headers": GET + b"".join(b"a%d: b\r\n" % i for i in range(300)),
    "too large a body": b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n",
    "no request": b"GET\r\n\r\n",
    "a request": GET + b"\r\n",
    "half a request": GET + b"A: " + b"a" * 20_000,
}


@pytest.mark.usefixtures("what_is_older_is_kept")
@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
async def test_nothing_is_left_of_a_closed_connection(recorder: Recorder, data: bytes, secure: bool):
    """Without the collector of cycles: it runs rarely in a server whose caches are large."""
    context = None
    client = None
    if secure:
        authority = Authority.create("ca")
        pair = authority.issue_server("server", server_names(["127.0.0.1"]))
        context = server_context(*pair)
        client = ssl.create_default_context(cadata=authority.certificate_pem.decode())
    server = HttpServer(recorder, tls=context, failed=lambda request, error: None)
    port = await server.listen("127.0.0.1", 0)
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client)
            writer.write(data)
            if data is not HOSTILE["half a request"]:
                await asyncio.wait_for(reader.read(100), 10)
            writer.close()
            await emptied(server)
        recorder.requests.clear()
        await until(lambda: left_of(server) == [])
    finally:
        gc.enable()
        await server.stop(grace=0.1)


async def named(request: HttpRequest) -> HttpAnswer:
    """Believes whoever says a name."""
    request.client = request.headers.get("x-name", "")
    return HttpResponse(200, b"ok")


class Crowd:
    """A server with room for few."""

    def __init__(self, **limits: int) -> None:
        self.server = HttpServer(named, **limits)

    async def __aenter__(self) -> "Crowd":
        self.port = await self.server.listen("127.0.0.1", 0)
        self.writers: list[asyncio.StreamWriter] = []
        return self

    async def __aexit__(self, *_: object) -> None:
        for writer in self.writers:
            writer.close()
        await self.server.stop(grace=0.1)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        pair = await asyncio.open_connection("127.0.0.1", self.port)
        self.writers.append(pair[1])
        await asyncio.sleep(0.01)
        return pair

    async def ask(self, pair: tuple[asyncio.StreamReader, asyncio.StreamWriter], name: str = "") -> bytes:
        pair[1].write(GET + (f"X-Name: {name}\r\n".encode() if name else b"") + b"\r\n")
        head = await asyncio.wait_for(pair[0].readuntil(b"\r\n\r\n"), 10)
        await pair[0].readexactly(2)
        return head


async def test_a_crowd_of_silent_connections_keeps_nobody_out():
    async with Crowd(max_unauthenticated=3) as crowd:
        known = await crowd.connect()
        assert b" 200 " in await crowd.ask(known, "alice")
        silent = [await crowd.connect() for _ in range(10)]
        assert crowd.server.connections <= 4
        newcomer = await crowd.connect()
        assert b" 200 " in await crowd.ask(newcomer)
        assert await asyncio.wait_for(silent[0][0].read(), 10) == b"", "the oldest made room"
        assert b" 200 " in await crowd.ask(known, "alice"), "whoever was authenticated stays"


async def test_one_user_cannot_hold_all_connections():
    async with Crowd(max_connections=4) as crowd:
        kept = []
        for _ in range(5):
            pair = await crowd.connect()
            head = await crowd.ask(pair, "mallory")
            kept.append(b"Connection: close" not in head)
        assert kept == [True, True, False, False, False]
        other = await crowd.connect()
        assert b"Connection: close" not in await crowd.ask(other, "alice")
        assert b" 200 " in await crowd.ask(other, "alice")


async def test_a_place_that_is_given_back_can_be_taken_again():
    async with Crowd(max_connections=2) as crowd:
        first = await crowd.connect()
        assert b"Connection: close" not in await crowd.ask(first, "alice")
        first[1].close()
        await emptied(crowd.server)
        assert b"Connection: close" not in await crowd.ask(await crowd.connect(), "alice")


async def test_an_answer_that_cannot_be_written_is_a_500_and_the_connection_goes_on(serve: Serve):
    async def handler(request: HttpRequest) -> HttpAnswer:
        return HttpResponse(200, b"ok", headers={"A": "b\r\nSet-Cookie: c"} if request.path == "/bad" else {})

    client = await (await serve(handler))()
    client.send(b"GET /bad HTTP/1.1\r\nHost: h\r\n\r\n" + GET + b"\r\n")
    assert (await client.answer())[0] == 500
    assert (await client.answer())[0] == 200


async def test_a_head_that_comes_drop_by_drop_is_cut_off(serve: Serve):
    connect = await serve(timeouts=Timeouts(head=0.2))
    client = await connect()
    for byte in GET:
        client.send(bytes([byte]))
        await asyncio.sleep(0.02)
        if client.reader.at_eof() or client.writer.is_closing():
            break
    assert b"408" in await client.rest()


MIB = 1024 * 1024


class Senders:
    """A server with room for a megabyte of bodies, and clients that send some of theirs."""

    def __init__(self, handler: Handler, timeouts: Timeouts | None = None) -> None:
        self.server = HttpServer(handler, max_bodies=MIB, timeouts=timeouts or Timeouts())

    async def __aenter__(self) -> "Senders":
        self.port = await self.server.listen("127.0.0.1", 0)
        self.writers: list[asyncio.StreamWriter] = []
        return self

    async def __aexit__(self, *_: object) -> None:
        for writer in self.writers:
            writer.close()
        await self.server.stop(grace=1.0)

    async def send(self, length: int, sent: int, path: bytes = b"/x") -> asyncio.StreamReader:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writers.append(writer)
        writer.write(b"POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % (path, length) + b"x" * sent)
        await writer.drain()
        return reader

    async def left(self, room: int) -> None:
        """Wait until there is so much room."""
        await until(lambda: self.server.room.left == room)


async def status(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(30):
        return (await reader.readline()).split()[1]


async def test_large_bodies_of_all_connections_together_are_bounded(recorder: Recorder):
    async with Senders(recorder) as clients:
        await clients.send(800_000, 799_999)
        await clients.left(MIB - 799_999)
        assert await status(await clients.send(800_000, 800_000)) == b"503", "there is no room for another large one"
        assert await status(await clients.send(60_000, 60_000)) == b"200", "there is always room for a small one"
        clients.writers[0].close()
        await clients.left(MIB)
        assert await status(await clients.send(800_000, 800_000)) == b"200", "what was held for who went is free again"
        assert await status(await clients.send(800_000, 800_000, b"/stream")) == b"200"
        assert clients.server.room.left == MIB, "an answer that goes on for long holds no body"
        recorder.gate.set()
    assert clients.server.room.left == MIB


async def test_what_is_held_for_a_slow_client_is_free_when_it_is_given_up(recorder: Recorder):
    async with Senders(recorder, Timeouts(body=0.2)) as clients:
        slow = await clients.send(800_000, 799_999)
        assert await status(slow) == b"408"
        await clients.left(MIB)
