"""The gateway between clients and endpoints, with endpoints that do what the test says."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from karmada.gateway import forwarding
from karmada.gateway.balancing import Balancer
from karmada.gateway.endpoints import Endpoint
from karmada.gateway.exchange import Broken, Connections, Destination, UpstreamConnection
from karmada.gateway.metrics import GatewayMetrics
from karmada.gateway.proxy import Gateway, Times, broke_off
from karmada.gateway.routes import IngressKey, Route
from karmada.gateway.rules import Backend
from karmada.gateway.upstream_routes import ThroughClusterProxy, UpstreamRoute
from karmada.machinery.http.target import Target
from karmada.machinery.httpserver.model import HttpRequest
from karmada.machinery.httpserver.parsing import Limits
from karmada.machinery.httpserver.server import HttpServer

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
BACKEND = Backend("default", "web", 80)
ROUTE = Route(IngressKey("default", "web"), BACKEND)
Answer = bytes | Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Backends:
    """Endpoints that answer every request with the same bytes, or by a function; empty bytes hang up."""

    def __init__(self) -> None:
        self.seen: list[bytes] = []
        self.endpoints: list[Endpoint] = []
        self.connections = 0
        self._servers: list[asyncio.Server] = []

    async def add(self, answer: Answer) -> Endpoint:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.connections += 1
            try:
                while head := await reader.readuntil(b"\r\n\r\n"):
                    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
                    self.seen.append(head + await reader.readexactly(length))
                    if callable(answer):
                        await answer(reader, writer)
                        break
                    writer.write(answer)
                    if not answer:
                        break
            except (asyncio.IncompleteReadError, ConnectionError):
                pass
            finally:
                writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        self._servers.append(server)
        return self._named(server.sockets[0].getsockname()[1])

    def absent(self) -> Endpoint:
        """One where nobody listens."""
        return self._named(1)

    def _named(self, port: int) -> Endpoint:
        self.endpoints.append(Endpoint(f"member{len(self.endpoints) + 1}", "default", "p", "127.0.0.1", port))
        return self.endpoints[-1]

    async def close(self) -> None:
        for server in self._servers:
            server.close()
            await server.wait_closed()


class Gate:
    """A gateway before some backends."""

    def __init__(self, port: int, balancer: Balancer, metrics: GatewayMetrics) -> None:
        self.port, self.balancer, self.metrics = port, balancer, metrics

    async def send(self, request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(request)
        try:
            async with asyncio.timeout(10):
                return await reader.read()
        finally:
            writer.close()
            await writer.wait_closed()

    async def ask(self, method: str = "GET", path: str = "/", *headers: str, body: bytes = b"") -> bytes:
        lines = [f"{method} {path} HTTP/1.1", "Host: shop.org", "Connection: close", *headers]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        return await self.send("\r\n".join([*lines, "", ""]).encode() + body)


@asynccontextmanager
async def gated(
    backends: Backends,
    way: Callable[[Endpoint], UpstreamRoute] | None = None,
    match: Callable[[str, str, HttpRequest], Route | None] | None = None,
    **times: float,
) -> AsyncIterator[Gate]:
    balancer = Balancer(list(backends.endpoints))
    metrics = GatewayMetrics(lambda: {BACKEND: balancer})

    async def find(endpoint: Endpoint) -> UpstreamRoute:
        return way(endpoint) if way else UpstreamRoute(Destination(endpoint.address, endpoint.port))

    connections = Connections()
    handler = Gateway(
        match or (lambda host, path, request: ROUTE if host == "shop.org" else None),
        lambda backend: balancer,
        find,
        connections,
        metrics,
        times=Times(**times),
    )
    server = HttpServer(handler, admit=handler.admit, limits=Limits(body=1000, head=4096), failed=broke_off)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(backends.close)
        stack.callback(connections.close)
        stack.push_async_callback(server.stop, 0.1)
        yield Gate(await server.listen("127.0.0.1", 0), balancer, metrics)


def status(answer: bytes) -> int:
    return int(answer.split()[1])


async def test_a_request_arrives_as_it_was_sent_with_what_the_gateway_knows_of_the_client() -> None:
    backends = Backends()
    await backends.add(OK)
    async with gated(backends) as gate:
        spoofed = ("X-Forwarded-For: 6.6.6.6", "Cookie: a=b", "Keep-Alive: 5", "X-Once: 1", "Connection: x-once")
        assert status(await gate.ask("POST", "/a%2Fb//c?d=%20&e", *spoofed, body=b"hello")) == 200
    (seen,) = backends.seen
    head, _, body = seen.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert (lines[0], body) == ("POST /a%2Fb//c?d=%20&e HTTP/1.1", b"hello")
    for line in ("Host: shop.org", "cookie: a=b", "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Proto: http"):
        assert line in lines
    assert not [line for line in lines if "6.6.6.6" in line or line.lower().startswith(("keep-alive", "x-once"))]


async def test_an_answer_keeps_its_headers_and_loses_those_of_its_connection() -> None:
    backends = Backends()
    head = b"HTTP/1.1 418 Teapot\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Encoding: br\r\nKeep-Alive: 5\r\n"
    await backends.add(head + b"Content-Length: 3\r\n\r\ntea")
    async with gated(backends) as gate:
        answer = await gate.ask()
    assert status(answer) == 418
    assert answer.endswith(b"\r\n\r\ntea")
    assert answer.count(b"set-cookie: ") == 2
    assert b"content-encoding: br" in answer
    assert b"keep-alive: 5" not in answer.lower()


async def test_connections_to_endpoints_are_used_again() -> None:
    backends = Backends()
    await backends.add(OK)
    async with gated(backends) as gate:
        assert [status(await gate.ask()) for _ in range(5)] == [200] * 5
    assert backends.connections == 1


async def test_connections_that_nobody_used_for_long_are_dropped() -> None:
    backends = Backends()
    endpoint = await backends.add(OK)
    connections = Connections()
    to = Destination(endpoint.address, endpoint.port)
    made = [await connections.take(to, False, 1.0) for _ in range(2)]
    for connection in made:
        connections.give_back(to, connection)
    connections.sweep()
    assert (len(connections), made[0].usable) == (2, True)
    connections.sweep(0.0)
    assert (len(connections), made[0].usable) == (0, False)
    await backends.close()


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_where_nobody_listens_another_endpoint_answers_any_method(method: str) -> None:
    backends = Backends()
    backends.absent()
    await backends.add(OK)
    async with gated(backends) as gate:
        assert [status(await gate.ask(method)) for _ in range(10)] == [200] * 10


@pytest.mark.parametrize(("method", "expected"), [("GET", {200}), ("DELETE", {200}), ("POST", {200, 502})])
async def test_a_request_that_may_have_been_seen_is_repeated_only_if_that_does_no_harm(
    method: str, expected: set[int]
) -> None:
    backends = Backends()
    await backends.add(b"")
    await backends.add(OK)
    async with gated(backends) as gate:
        assert {status(await gate.ask(method)) for _ in range(4)} == expected
    assert len([seen for seen in backends.seen if method == "POST"]) in (0, 4), "no POST was sent twice"


async def test_errors_of_gateways_are_tried_elsewhere_and_passed_on_when_all_fail() -> None:
    backends = Backends()
    busy = b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy"
    await backends.add(busy)
    await backends.add(OK)
    async with gated(backends) as gate:
        assert {status(await gate.ask()) for _ in range(4)} == {200}
        assert {status(await gate.ask("POST")) for _ in range(4)} == {200, 503}
        gate.balancer.update(backends.endpoints[:1])
        assert (await gate.ask()).endswith(b"busy")


async def test_endpoints_that_fail_are_left_out_and_no_longer_asked() -> None:
    backends = Backends()
    await backends.add(b"")
    await backends.add(OK)
    async with gated(backends) as gate:
        for _ in range(20):
            await gate.ask()
        assert gate.balancer.ejections == 1
        before = gate.metrics.retries
        assert {status(await gate.ask("POST")) for _ in range(20)} == {200}
        assert gate.metrics.retries == before


async def test_an_endpoint_that_never_answers_costs_its_time_and_no_more() -> None:
    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    backends = Backends()
    await backends.add(never)
    async with gated(backends, answer=0.05) as gate:
        assert status(await gate.ask()) == 504


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (b"GET / HTTP/1.1\r\nHost: other.org\r\nConnection: close\r\n\r\n", 404),
        (b"POST / HTTP/1.1\r\nHost: other.org\r\nContent-Length: 900\r\n\r\nnever sent", 404),
        (b"GET /a/../admin HTTP/1.1\r\nHost: shop.org\r\nConnection: close\r\n\r\n", 400),
        (b"GET /a/%2e%2e/admin HTTP/1.1\r\nHost: shop.org\r\nConnection: close\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: shop.org\r\nHost: other.org\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: shop.org\r\nContent-Length: 5000\r\n\r\n", 413),
        (b"GET / HTTP/1.1\r\nHost: shop.org\r\nX: " + b"a" * 9000 + b"\r\n\r\n", 431),
        (b"POST / HTTP/1.1\r\nHost: shop.org\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ],
)
async def test_bad_requests_reach_no_endpoint(request_: bytes, expected: int) -> None:
    backends = Backends()
    await backends.add(OK)
    async with gated(backends) as gate:
        assert status(await gate.send(request_)) == expected
    assert backends.seen == []


async def test_without_endpoints_the_answer_says_so_and_names_nobody() -> None:
    async with gated(Backends()) as gate:
        answer = await gate.ask()
    assert status(answer) == 503
    assert b"member" not in answer


async def test_long_answers_are_passed_on_as_they_come() -> None:
    parts = 100

    async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(parts):
            writer.write(b"2710\r\n" + b"x" * 10_000 + b"\r\n")
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    backends = Backends()
    await backends.add(stream)
    async with gated(backends) as gate:
        answer = await gate.ask()
    assert answer.count(b"x") == parts * 10_000


async def test_a_client_that_reads_slowly_gets_all_of_a_long_answer_and_the_endpoint_waits_for_it() -> None:
    size, ended = 32 * 1024 * 1024, asyncio.Event()

    async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        for _ in range(size // 65536):
            writer.write(b"x" * 65536)
            await writer.drain()
        ended.set()

    backends = Backends()
    await backends.add(stream)
    async with gated(backends) as gate:
        reader, writer = await asyncio.open_connection("127.0.0.1", gate.port, limit=65536)
        writer.write(b"GET / HTTP/1.1\r\nHost: shop.org\r\nConnection: close\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        assert not ended.is_set()
        got = 0
        async with asyncio.timeout(60):
            while data := await reader.read(65536):
                got += data.count(b"x")
        writer.close()
    assert ended.is_set()
    assert got == size


@pytest.mark.parametrize("end", [b"0\r\nA: ", b"1;x="], ids=["a trailer", "an extension of a chunk"])
async def test_an_endpoint_that_sends_framing_without_end_is_cut_off(end: bytes) -> None:
    sent = 0

    async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n" + end)
        while sent < 32 * 1024 * 1024:
            writer.write(b"a" * 65536)
            sent += 65536
            await writer.drain()

    backends = Backends()
    await backends.add(stream)
    async with gated(backends) as gate:
        await gate.ask("POST")
    assert sent < 16 * 1024 * 1024


@pytest.mark.parametrize(
    "head", [b"Content-Length: 100\r\n\r\nshort", b"Transfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n"]
)
async def test_an_answer_that_breaks_off_is_one_line_and_not_passed_on_as_a_whole_one(
    head: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async def short(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n" + head)
        await writer.drain()

    backends = Backends()
    await backends.add(short)
    caplog.set_level(logging.INFO, "karmada.gateway.access")
    async with gated(backends) as gate:
        answer = await gate.ask("POST")
    assert not answer.endswith(b"0\r\n\r\n")
    (line,) = [record.getMessage() for record in caplog.records if "broke off" in record.getMessage()]
    assert line.endswith("POST shop.org/ the answer broke off: the connection broke: closed by the endpoint")


async def test_a_head_request_has_no_body_and_an_answer_without_a_length_ends_with_its_connection() -> None:
    async def unframed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nall of it")
        await writer.drain()

    backends = Backends()
    await backends.add(unframed)
    async with gated(backends) as gate:
        assert (await gate.ask()).endswith(b"all of it\r\n0\r\n\r\n"), "nothing broke off"
        assert (await gate.ask("HEAD")).endswith(b"\r\n\r\n")


async def test_a_websocket_goes_through() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        while data := await reader.read(100):
            writer.write(data.upper())

    backends = Backends()
    await backends.add(echo)
    async with gated(backends) as gate:
        reader, writer = await asyncio.open_connection("127.0.0.1", gate.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: shop.org\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        assert b"101" in await reader.readuntil(b"\r\n\r\n")
        writer.write(b"ping")
        assert await reader.readexactly(4) == b"PING"
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize("protocol", ["h2c", "HTTP/2.0", "TLS/1.2", "websocket, h2c"])
async def test_no_protocol_is_passed_on_in_which_further_requests_could_follow(protocol: str) -> None:
    backends = Backends()
    await backends.add(OK)
    async with gated(backends) as gate:
        line = f"Connection: close, Upgrade, HTTP2-Settings\r\nUpgrade: {protocol}\r\nHTTP2-Settings: AAMAAABk"
        answer = await gate.send(f"GET / HTTP/1.1\r\nHost: shop.org\r\n{line}\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 200 ")
    (received,) = backends.seen
    assert b"upgrade" not in received.lower()
    assert b"http2-settings" not in received.lower()


async def test_what_clients_cannot_say_is_not_said_with_underscores_either() -> None:
    """Applications behind CGI, WSGI and PHP see no difference."""
    backends = Backends()
    await backends.add(OK)
    async with gated(backends) as gate:
        spoofed = ("X_Forwarded_For: 6.6.6.6", "X-Real_IP: 6.6.6.6", "Transfer_Encoding: chunked", "X_Mine: kept")
        await gate.ask("GET", "/", *spoofed)
    (received,) = backends.seen
    assert b"6.6.6.6" not in received
    assert b"chunked" not in received
    assert b"x_mine: kept" in received.lower()


class Wire(asyncio.Transport):
    """The way to an endpoint; notes what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []

    def write(self, data: Any) -> None:
        self.written.append(bytes(data))


async def test_what_follows_an_upgrade_is_not_written_while_the_endpoint_takes_no_more() -> None:
    connection, wire = UpstreamConnection(), Wire()
    connection.connection_made(wire)
    connection.pause_writing()
    writing = asyncio.create_task(connection.write(b"more"))
    await asyncio.sleep(0)
    assert wire.written == []
    connection.resume_writing()
    await writing
    assert wire.written == [b"more"]


async def test_through_an_api_server_credentials_are_the_gateways_own() -> None:
    backends = Backends()
    await backends.add(OK)

    def way(endpoint: Endpoint) -> UpstreamRoute:
        return UpstreamRoute(
            Destination("127.0.0.1", endpoint.port), "/base/proxy", "hub:443", b"Authorization: Bearer own\r\n"
        )

    async with gated(backends, way) as gate:
        given = ("Authorization: Basic x", "Cookie: a=b", "Impersonate-User: admin", "X-Remote-User: admin", "X-App: 1")
        assert status(await gate.ask("GET", "/a?b", *given)) == 200
    (seen,) = backends.seen
    assert seen.startswith(b"GET /base/proxy/a?b HTTP/1.1\r\nHost: hub:443\r\n")
    assert b"Authorization: Bearer own\r\n" in seen
    assert b"x-app: 1\r\n" in seen
    assert not [word for word in (b"basic", b"cookie", b"admin") if word in seen.lower()]


async def test_a_pod_that_the_api_server_no_longer_knows_is_passed_over() -> None:
    gone = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":"NotFound","code":404}'
    refusal = b"HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(gone)
    backends = Backends()
    await backends.add(refusal + gone)
    await backends.add(OK)
    async with gated(
        backends, lambda endpoint: UpstreamRoute(Destination("127.0.0.1", endpoint.port), "/base")
    ) as gate:
        assert {status(await gate.ask("POST")) for _ in range(4)} == {200}


async def test_the_way_through_the_control_plane() -> None:
    find = ThroughClusterProxy(Target("http://hub:8080/prefix"))
    way = await find(Endpoint("member1", "shop", "web-1", "10.0.0.1", 8080))
    expected = (
        "/prefix/apis/cluster.karmada.io/v1alpha1/clusters/member1/proxy/api/v1/namespaces/shop/pods/web-1:8080/proxy"
    )
    assert (way.to.host, way.to.port, way.base) == ("hub", 8080, expected)
    with pytest.raises(Broken, match="names no pod"):
        await find(Endpoint("member1", "shop", "", "10.0.0.1", 8080))


async def test_the_access_log_holds_no_query_and_no_line_breaks(caplog: Any) -> None:
    request = HttpRequest("GET", "/a\u2028b", "token=secret", {"host": "shop.org"}, b"", ("1.2.3.4", 5), None)
    assert forwarding.logged(request) == "GET shop.org/a?b"
    backends = Backends()
    await backends.add(OK)
    with caplog.at_level(logging.INFO, "karmada.gateway.access"):
        async with gated(backends) as gate:
            await gate.ask("GET", "/x?token=secret")
    assert "GET shop.org/x 200" in caplog.text
    assert "secret" not in caplog.text
