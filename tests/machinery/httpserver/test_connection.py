import asyncio
import gzip

import pytest

from karmada.machinery.httpserver import encoding
from karmada.machinery.httpserver.model import HttpRequest, Upgrade
from karmada.machinery.httpserver.timeouts import Timeouts

GET = b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n"


async def eventually(holds) -> None:
    async with asyncio.timeout(10):
        while True:
            if holds():
                return
            await asyncio.sleep(0.01)


async def test_pipelined_requests_are_answered_in_order(serve, recorder):
    client = await (await serve())()
    client.send(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n" + GET * 40)
    await asyncio.sleep(0)
    recorder.gate.set()
    assert (await client.answer())[2] == b"GET /slow"
    for _ in range(40):
        assert (await client.answer())[2] == b"GET /a"


async def test_a_refusal_waits_for_the_answers_before_it(serve):
    client = await (await serve())()
    client.send(GET + b"nonsense\r\n\r\n")
    assert (await client.answer())[0] == 200
    status, headers, _ = await client.answer()
    assert (status, headers["Connection"]) == (400, "close")


async def test_a_body_that_is_too_large_gets_a_status(serve):
    client = await (await serve())()
    client.send(b"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n")
    status, _, body = await client.answer()
    assert status == 413
    assert b'"message":"Request entity too large: limit is 3145728","reason":"RequestEntityTooLarge"' in body


async def test_expect_continue_is_answered_before_the_body(serve):
    client = await (await serve())()
    client.send(b"POST /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    assert await client.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    client.send(b"ok")
    assert (await client.answer())[2] == b"POST /a"


async def test_head_has_the_length_but_no_body(serve):
    client = await (await serve())()
    client.send(b"HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n" + GET)
    head = await client.until(b"\r\n\r\n")
    assert b"Content-Length: 7" in head
    assert (await client.answer())[2] == b"GET /a"


@pytest.mark.parametrize(
    "request_bytes",
    [
        pytest.param(b"GET /a HTTP/1.0\r\n\r\n", id="http 1.0"),
        pytest.param(b"GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", id="asked to close"),
    ],
)
async def test_the_connection_closes_when_the_client_wants_it(serve, request_bytes):
    client = await (await serve())()
    client.send(request_bytes)
    assert (await client.rest()).endswith(b"GET /a")


async def test_a_failing_handler_answers_500_and_the_connection_goes_on(serve):
    client = await (await serve())()
    client.send(b"GET /broken HTTP/1.1\r\nHost: h\r\n\r\n" + GET)
    assert (await client.answer())[0] == 500
    assert (await client.answer())[0] == 200


async def test_a_half_closed_client_still_gets_its_answer(serve, recorder):
    client = await (await serve())()
    client.send(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
    client.writer.write_eof()
    recorder.gate.set()
    assert (await client.rest()).endswith(b"GET /slow")


async def test_a_stream_is_chunked_and_goes_on_after_back_pressure(serve, recorder):
    client = await (await serve())()
    client.send(b"GET /stream HTTP/1.1\r\nHost: h\r\n\r\n")
    assert b"Transfer-Encoding: chunked" in await client.until(b"\r\n\r\n")
    assert await client.until(b"one\n\r\n") == b"4\r\none\n\r\n"
    recorder.gate.set()
    assert await client.until(b"0\r\n\r\n") == b"4\r\ntwo\n\r\n0\r\n\r\n"
    client.send(GET)
    assert (await client.answer())[0] == 200


@pytest.mark.parametrize("path", [b"/cut", b"/cut/parts"])
async def test_a_stream_that_is_cut_off_has_no_end_and_is_no_failure(serve, recorder, path):
    client = await (await serve())()
    client.send(b"GET %b HTTP/1.1\r\nHost: h\r\n\r\n" % path)
    await client.until(b"\r\n\r\n")
    assert await client.rest() == b"4\r\none\n\r\n"
    assert not recorder.failures


@pytest.mark.parametrize("leave", ["close", "half close"])
async def test_a_stream_ends_when_the_client_leaves(serve, recorder, leave):
    client = await (await serve())()
    client.send(b"GET /stream HTTP/1.1\r\nHost: h\r\n\r\n")
    await client.until(b"one\n")
    if leave == "close":
        client.writer.close()
    else:
        client.writer.write_eof()
    await asyncio.wait_for(recorder.closed.wait(), 10)


async def test_stopping_finishes_answers_and_ends_streams_properly(serve, recorder):
    connect = await serve()
    idle, busy, watch = await connect(), await connect(), await connect()
    idle.send(GET)
    await idle.answer()
    busy.send(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
    watch.send(b"GET /stream HTTP/1.1\r\nHost: h\r\n\r\n")
    await watch.until(b"one\n")
    stopping = asyncio.create_task(connect.server.stop())
    assert (await watch.rest()).endswith(b"0\r\n\r\n")
    assert await idle.rest() == b""
    recorder.gate.set()
    status, headers, _ = await busy.answer()
    assert (status, headers["Connection"]) == (200, "close")
    await stopping
    assert connect.server.connections == 0


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        pytest.param(b"", b"", id="nothing"),
        pytest.param(b"GET / HT", b"HTTP/1.1 408", id="half a head"),
        pytest.param(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc", b"HTTP/1.1 408", id="half a body"),
    ],
)
async def test_slow_clients_are_cut_off(serve, sent, answer):
    connect = await serve(timeouts=Timeouts(0.05, 0.05, 0.05, 0.05, 0.05))
    client = await connect()
    client.send(sent)
    assert (await client.until(b" 408") if answer else await client.rest()).startswith(answer)


async def test_a_client_that_does_not_read_is_cut_off(serve):
    connect = await serve()
    client = await connect()
    client.writer.transport.pause_reading()
    client.send(b"GET /big HTTP/1.1\r\nHost: h\r\n\r\n" * 30)
    server = connect.server
    await eventually(lambda: any(c.deadline < server.loop.time() + 61 for c in server._connections))
    server.sweep(server.loop.time() + 61)
    await eventually(lambda: server.connections == 0)


async def test_an_upgrade_hands_over_the_connection(serve):
    async def handler(request: HttpRequest) -> Upgrade:
        async def echo(stream):
            while data := await stream.read():
                await stream.write(b"<" + data + b">")
            await stream.close()

        return Upgrade({"Connection": "Upgrade", "Upgrade": "echo"}, echo)

    client = await (await serve(handler))()
    client.send(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nfirst")
    assert (await client.until(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 Switching Protocols\r\n")
    assert await client.until(b">") == b"<first>"
    client.send(b"second")
    assert await client.until(b">") == b"<second>"
    client.writer.write_eof()
    assert await client.rest() == b""


async def test_an_upgrade_that_is_refused_closes_the_connection(serve):
    client = await (await serve())()
    client.send(b"POST /a HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: 0\r\n\r\n")
    status, headers, _ = await client.answer()
    assert (status, headers["Connection"]) == (200, "close")
    assert await client.rest() == b""


@pytest.mark.parametrize(
    ("accept", "size", "peer", "worthwhile"),
    [
        ("gzip", 200_000, "10.0.0.1", True),
        ("deflate, gzip;q=0.5", 200_000, "10.0.0.1", True),
        ("gzip;q=0", 200_000, "10.0.0.1", False),
        ("identity", 200_000, "10.0.0.1", False),
        ("gzip", 1_000, "10.0.0.1", False),
        ("gzip", 200_000, "127.0.0.1", False),
        ("gzip", 200_000, "::1", False),
    ],
)
def test_compression_only_where_it_pays(accept, size, peer, worthwhile):
    assert encoding.wants_gzip(accept, size, peer) is worthwhile


def test_gzip_is_readable():
    assert gzip.decompress(encoding.gzip([b"abc" * 500, b"abc" * 500])) == b"abc" * 1000


def test_a_header_value_cannot_forge_another_header():
    with pytest.raises(ValueError, match="line break"):
        encoding.head(200, "text/plain", {"X": "a\r\nSet-Cookie: b"}, b"", b"", True)


async def test_trickling_does_not_extend_the_time_for_a_head(serve):
    connect = await serve()
    client = await connect()
    server = connect.server
    client.send(b"G")
    await eventually(lambda: any(c.parser.busy for c in server._connections))
    (connection,) = server._connections
    deadline = connection.deadline
    for byte in b"ET / HTTP/1.1\r\nHost: h\r\n":
        client.send(bytes([byte]))
        await asyncio.sleep(0)
    await asyncio.sleep(0.01)
    assert connection.deadline == deadline
    client.send(b"Content-Length: 5\r\n\r\nab")
    await eventually(lambda: connection.parser.in_body)
    assert connection.deadline > deadline
    client.send(b"cde")
    assert (await client.answer())[0] == 200


def test_an_answer_is_kept_by_nobody_on_the_way_unless_it_says_so():
    usual = encoding.head(200, "application/json", {}, b"", b"", True)
    warned = encoding.head(200, "application/json", {"Warning": ["a", "b"]}, b"", b"", True)
    lasting = encoding.head(200, "text/css", {"cache-control": "public"}, b"", b"", True)
    assert usual.count(b"Cache-Control: no-cache, private\r\n") == warned.count(b"Cache-Control: ") == 1
    assert b"no-cache" not in lasting
