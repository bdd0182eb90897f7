"""Questions to interpreter webhooks over HTTP: connections, failures and trust."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from karmada.controllers.interpreter_webhooks import IDLE, PLAIN_PORT, SECURE_PORT, WebhookClient
from karmada.interpreter.model import InterpretError, Unavailable
from karmada.interpreter.webhook import Endpoint, NotDelivered


@dataclass
class Server:
    """Answers every request with one status and the request's body."""

    status: int = 200
    connections: int = 0
    ended: int = 0
    """Connections that the client ended."""
    requests: list[bytes] = field(default_factory=list)
    port: int = 0
    more: bytes = b""
    """Further fields of every answer."""
    ends: bool = False
    """Whether it ends the connection after an answer, without a word."""
    waiting: asyncio.Event | None = None
    """What every answer waits for."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set whenever a request came or a connection ended."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                body = await reader.readexactly(size)
                self.requests.append(head)
                self.changed.set()
                if self.waiting is not None:
                    await self.waiting.wait()
                fields = f"HTTP/1.1 {self.status} X\r\nContent-Length: {size}\r\n".encode() + self.more
                writer.write(fields + b"\r\n" + body)
                if self.ends:
                    writer.write_eof()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()
            self.ended += 1
            self.changed.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for what clients do."""
        async with asyncio.timeout(120):
            while not holds():
                self.changed.clear()
                await self.changed.wait()

    @asynccontextmanager
    async def listening(self, context: ssl.SSLContext | None = None) -> AsyncIterator["Server"]:
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0, ssl=context)
        self.port = server.sockets[0].getsockname()[1]
        async with server:
            yield self


@pytest.fixture
async def client() -> AsyncIterator[WebhookClient]:
    client = WebhookClient()
    yield client
    client.close()


async def test_connection_is_used_again(client: WebhookClient) -> None:
    async with Server().listening() as server:
        endpoint = Endpoint(f"http://127.0.0.1:{server.port}/ask?x=1")
        assert [await client.post(endpoint, body) for body in (b"{}", b"[1]")] == [b"{}", b"[1]"]
        assert server.connections == 1
        assert server.requests[0].startswith(b"POST /ask?x=1 HTTP/1.1\r\nHost: 127.0.0.1:")
        client.close()


async def test_connections_beyond_those_that_are_kept_are_closed(client: WebhookClient) -> None:
    async with Server(waiting=asyncio.Event()).listening() as server:
        endpoint = Endpoint(f"http://127.0.0.1:{server.port}")
        asking = [asyncio.create_task(client.post(endpoint, b"{}")) for _ in range(IDLE + 2)]
        await server.until(lambda: len(server.requests) == IDLE + 2)
        assert server.requests[0].startswith(b"POST / HTTP/1.1\r\n")
        assert server.waiting is not None
        server.waiting.set()
        await asyncio.gather(*asking)
        await server.until(lambda: server.ended == 2)
        await asyncio.gather(*(client.post(endpoint, b"{}") for _ in range(IDLE)))
        assert server.connections == IDLE + 2
        client.close()
        await server.until(lambda: server.ended == IDLE + 2)
        assert await client.post(endpoint, b"{}") == b"{}", "what was closed is not used again"
        client.close()


async def test_a_connection_that_the_webhook_wants_closed_is_not_used_again(client: WebhookClient) -> None:
    async with Server(more=b"Connection: close\r\n").listening() as server:
        endpoint = Endpoint(f"http://127.0.0.1:{server.port}/")
        for _ in range(2):
            await client.post(endpoint, b"{}")
        assert server.connections == 2
        await server.until(lambda: server.ended == 2)


async def test_a_question_that_is_given_up_takes_its_connection_along(client: WebhookClient) -> None:
    async with Server(waiting=asyncio.Event()).listening() as server:
        asking = asyncio.create_task(client.post(Endpoint(f"http://127.0.0.1:{server.port}/"), b"{}"))
        await server.until(lambda: len(server.requests) == 1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert server.waiting is not None
        server.waiting.set()
        await server.until(lambda: server.ended == 1)


async def test_what_is_no_answer_may_be_asked_again(client: WebhookClient) -> None:
    async with Server(more=b"no field\r\n").listening() as server:
        with pytest.raises(NotDelivered):
            await client.post(Endpoint(f"http://127.0.0.1:{server.port}/"), b"{}")
        await server.until(lambda: server.ended == 1)


async def test_a_connection_that_ended_meanwhile_is_replaced(client: WebhookClient) -> None:
    async with Server(ends=True).listening() as server:
        endpoint = Endpoint(f"http://127.0.0.1:{server.port}/")
        for count in (1, 2):
            assert await client.post(endpoint, b"{}") == b"{}"
            await server.until(lambda count=count: server.ended == count)
        assert server.connections == 2


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (503, NotDelivered),
        (500, NotDelivered),
        (429, NotDelivered),
        (430, InterpretError),
        (404, InterpretError),
        (201, InterpretError),
    ],
)
async def test_other_answers_are_errors(client: WebhookClient, status: int, error: type[Exception]) -> None:
    async with Server(status).listening() as server:
        with pytest.raises(error, match=f"answered with status {status}"):
            await client.post(Endpoint(f"http://127.0.0.1:{server.port}/"), b"{}")
        client.close()


def test_an_address_without_a_port_means_that_of_its_scheme() -> None:
    assert (PLAIN_PORT, SECURE_PORT) == (80, 443)


async def test_server_that_is_not_there_may_come_back(client: WebhookClient) -> None:
    async with Server().listening() as server:
        endpoint = Endpoint(f"http://127.0.0.1:{server.port}/")
    with pytest.raises(NotDelivered, match="no connection"):
        await client.post(endpoint, b"{}")


@pytest.mark.parametrize(
    "url", ["ftp://x", "https://", "http://h/a b", "http://h/\r\nX: y", "http://h:no", "http://[h"]
)
async def test_address_that_is_none_is_refused(client: WebhookClient, url: str) -> None:
    with pytest.raises((Unavailable, NotDelivered)) as failure:
        await client.post(Endpoint(url), b"{}")
    assert failure.type is Unavailable


def certificate(folder: Path, name: str) -> tuple[ssl.SSLContext, bytes]:
    """A server's settings with a certificate for a name, and that certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "server.pem").write_bytes(private + pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    return context, pem


async def test_service_is_trusted_by_its_bundle_and_name_only(client: WebhookClient, tmp_path: Path) -> None:
    context, bundle = certificate(tmp_path, "hook.system.svc")
    async with Server().listening(context) as server:
        url = f"https://127.0.0.1:{server.port}/"
        assert await client.post(Endpoint(url, bundle, "hook.system.svc"), b"{}") == b"{}"
        for untrusted in (Endpoint(url, bundle, "other.system.svc"), Endpoint(url, b"", "hook.system.svc")):
            with pytest.raises(InterpretError, match="cannot be trusted"):
                await client.post(untrusted, b"{}")
        with pytest.raises(Unavailable, match="caBundle"):
            await client.post(Endpoint(url, b"no pem", "hook.system.svc"), b"{}")
        client.close()
