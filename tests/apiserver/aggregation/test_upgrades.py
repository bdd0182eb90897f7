"""Connections that change their protocol through the aggregation layer: whom the backend sees, and how they end."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.apiserver.aggregation.test_remote import HOST, register
from tests.apiserver.aggregation.test_smuggling import RESOURCES

from karmada.apiserver.aggregation.proxy import without_token
from karmada.apiserver.auth.pki import Authority, server_names
from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.machinery.http.head import wanted_protocol

PATH = "/apis/example.dev/v1/namespaces/default/widgets/w/shell"
SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Chosen: v4\r\n\r\n"
TOKEN = "base64url.bearer.authorization.k8s.io." + base64.urlsafe_b64encode(b"secret").decode().rstrip("=")
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Switch, greet in the new protocol at once, then answer in capitals until the other side ends."""
    writer.write(SWITCHED + b"hello ")
    while data := await reader.read(1000):
        writer.write(data.upper())
        if data.endswith(b"bye"):
            break


@dataclass
class Backend:
    """A server that is asked to switch; `serve` plays it."""

    serve: Serve = echo
    heads: list[str] = field(default_factory=list)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        if "system:kube-aggregator" in head:
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(RESOURCES))
            writer.write(RESOURCES)
        else:
            self.heads.append(head)
            with suppress(ConnectionError):
                await self.serve(reader, writer)
            self.ended.set()
        writer.close()


@dataclass
class Site:
    """The server in front, and what is behind it."""

    front: ApiServer
    port: int
    folder: Path
    backend: Backend

    async def connect(
        self, *lines: str, user: str = "root", groups: tuple[str, ...] = ("system:masters",)
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        authority = self.front.identity.authority
        context = ssl.create_default_context(cadata=authority.certificate_pem.decode())
        (self.folder / "client.pem").write_bytes(b"".join(authority.issue_client(user, groups)))
        context.load_cert_chain(self.folder / "client.pem")
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=context)
        writer.write("\r\n".join([f"POST {PATH} HTTP/1.1", "Host: h", *lines, "", ""]).encode())
        return reader, writer


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    (tmp_path / "pki").mkdir()
    authority = Authority.create("backend-ca")
    (tmp_path / "server.pem").write_bytes(b"".join(authority.issue_server("backend", server_names([HOST]))))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    backend = Backend()
    listener = await asyncio.start_server(backend, "127.0.0.1", 0, ssl=context)
    async with ApiServer(ApiServerOptions(folder=tmp_path / "pki")) as server:
        port = await server.listen()
        known = SimpleNamespace(identity=SimpleNamespace(authority=authority))
        await register(server, known, listener.sockets[0].getsockname()[1])
        yield Site(server, port, tmp_path, backend)
    listener.close()


SPDY = ("Connection: Upgrade", "Upgrade: SPDY/3.1", "Content-Length: 0")


async def head_of(reader: asyncio.StreamReader) -> str:
    async with asyncio.timeout(10):
        return (await reader.readuntil(b"\r\n\r\n")).decode()


async def test_bytes_are_carried_both_ways_under_the_identity_that_was_authenticated(site: Site) -> None:
    headers = ("Authorization: Bearer x", "X-Remote-User: mallory", "X-Remote-Group: system:nobody", "X-Stream: v4")
    reader, writer = await site.connect(*SPDY, *headers)
    writer.write(b"early ")
    head = await head_of(reader)
    assert head.startswith("HTTP/1.1 101 ")
    assert "upgrade: spdy/3.1\r\n" in head.lower()
    assert "x-chosen: v4\r\n" in head.lower()
    writer.write(b"and bye")
    async with asyncio.timeout(10):
        assert await reader.read() == b"hello EARLY AND BYE"
    writer.close()
    (received,) = site.backend.heads
    fields = received.splitlines()
    assert "Connection: Upgrade" in fields
    assert "Upgrade: SPDY/3.1" in fields
    assert "x-stream: v4" in fields
    identity = [
        line for line in fields if line.lower().startswith(("x-remote-user", "x-remote-group", "authorization"))
    ]
    assert identity == ["X-Remote-User: root", "X-Remote-Group: system:masters", "X-Remote-Group: system:authenticated"]


async def test_a_token_among_websocket_subprotocols_stays_here(site: Site) -> None:
    reader, writer = await site.connect(
        "Connection: keep-alive, Upgrade", "Upgrade: SPDY/3.1", f"Sec-WebSocket-Protocol: {TOKEN}, v5.channel.k8s.io"
    )
    writer.write(b"bye")
    await head_of(reader)
    await reader.read()
    writer.close()
    (received,) = site.backend.heads
    assert "Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n" in received
    assert "bearer" not in received
    assert without_token(TOKEN) == ""


async def test_nobody_is_dialled_for_those_who_may_not(site: Site) -> None:
    reader, writer = await site.connect(*SPDY, user="bob", groups=())
    assert (await head_of(reader)).startswith("HTTP/1.1 403 ")
    assert site.backend.heads == []
    writer.close()


async def test_the_client_s_end_is_the_backend_s_and_the_connection_counts_until_then(site: Site) -> None:
    reader, writer = await site.connect(*SPDY)
    await head_of(reader)
    assert await long_running(site) == 1
    writer.transport.abort()
    async with asyncio.timeout(10):
        await site.backend.ended.wait()
    assert await long_running(site) == 0


async def long_running(site: Site) -> float:
    """How many long-running requests the server in front counts."""
    lines = (await site.front.direct().raw("GET", "/metrics")).decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith("apiserver_longrunning_requests{"))


async def test_a_refusal_of_the_backend_is_the_answer(site: Site) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 7\r\n\r\nno such")
        await reader.read()

    site.backend.serve = refuse
    reader, writer = await site.connect(*SPDY)
    assert (await head_of(reader)).startswith("HTTP/1.1 404 ")
    async with asyncio.timeout(10):
        await site.backend.ended.wait()
    writer.close()


@pytest.mark.parametrize("requested", [SPDY, ("Content-Length: 0",)])
async def test_a_backend_that_switches_to_what_nobody_asked_for_has_failed(
    site: Site, requested: tuple[str, ...]
) -> None:
    async def switch(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n")
        await reader.read()

    site.backend.serve = switch
    reader, writer = await site.connect(*requested)
    assert (await head_of(reader)).startswith("HTTP/1.1 503 ")
    async with asyncio.timeout(10):
        await site.backend.ended.wait()
    writer.close()


@pytest.mark.parametrize("protocol", ["h2c", "H2C", "HTTP/2.0", "TLS/1.2", "h2c, websocket"])
async def test_no_protocol_in_which_requests_of_others_could_follow_is_asked_for(site: Site, protocol: str) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")

    site.backend.serve = answer
    reader, writer = await site.connect("Connection: Upgrade", f"Upgrade: {protocol}", "Content-Length: 0")
    assert (await head_of(reader)).startswith("HTTP/1.1 204 ")
    writer.close()
    (received,) = site.backend.heads
    assert "upgrade" not in received.lower()
    assert wanted_protocol({"connection": "keep-alive", "upgrade": "websocket"}) == ""


async def test_interim_answers_are_passed_over(site: Site) -> None:
    async def hints(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")
        await echo(reader, writer)

    site.backend.serve = hints
    reader, writer = await site.connect(*SPDY)
    writer.write(b"bye")
    assert (await head_of(reader)).startswith("HTTP/1.1 101 ")
    async with asyncio.timeout(10):
        assert await reader.read() == b"hello BYE"
    writer.close()
