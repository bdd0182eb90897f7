"""What an aggregated server receives, byte by byte, when somebody tries to send it more than one request."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.apiserver.aggregation.test_remote import HOST, register

from karmada.apiserver.auth.pki import Authority, server_names
from karmada.apiserver.outgoing import CallFailed, HttpCaller, Target
from karmada.apiserver.server import ApiServer, ApiServerOptions

PATH = "/apis/example.dev/v1/namespaces/default/widgets"
RESOURCES = b'{"groupVersion":"example.dev/v1","resources":[{"name":"widgets","namespaced":true,"verbs":["list"]}]}'


@dataclass
class Recording:
    """A backend that writes down what it is sent and answers each connection once."""

    received: list[bytes] = field(default_factory=list)
    port: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        data = await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(0.01)
        data += reader._buffer  # type: ignore[attr-defined]
        if b"system:kube-aggregator" not in data:
            self.received.append(data)
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(RESOURCES) + RESOURCES)
        writer.close()


@dataclass
class Front:
    server: ApiServer
    port: int
    folder: Path
    backend: Recording

    async def send(self, head: bytes, user: str = "root", groups: tuple[str, ...] = ("system:masters",)) -> bytes:
        authority = self.server.identity.authority
        context = ssl.create_default_context(cadata=authority.certificate_pem.decode())
        (self.folder / "client.pem").write_bytes(b"".join(authority.issue_client(user, groups)))
        context.load_cert_chain(self.folder / "client.pem")
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=context)
        writer.write(head)
        answer = await asyncio.wait_for(reader.read(), 10)
        writer.close()
        return answer


@pytest.fixture
async def front(tmp_path: Path) -> AsyncIterator[Front]:
    (tmp_path / "pki").mkdir()
    authority = Authority.create("backend-ca")
    (tmp_path / "server.pem").write_bytes(b"".join(authority.issue_server("backend", server_names([HOST]))))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    backend = Recording()
    listener = await asyncio.start_server(backend.serve, "127.0.0.1", 0, ssl=context)
    backend.port = listener.sockets[0].getsockname()[1]
    async with ApiServer(ApiServerOptions(folder=tmp_path / "pki")) as server:
        port = await server.listen()
        known = SimpleNamespace(identity=SimpleNamespace(authority=authority))
        await register(server, known, backend.port)
        yield Front(server, port, tmp_path, backend)
    listener.close()


def request(path: str, *lines: str, method: str = "GET") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: h", "Connection: close", *lines, "", ""]).encode("latin-1")


FORGED = "%20HTTP/1.1%0d%0aHost:%20b%0d%0aX-Remote-User:%20root%0d%0aX-Remote-Group:%20system:masters%0d%0a%0d%0a"


@pytest.mark.parametrize("encoded", [FORGED, FORGED.upper(), "%0a", "%0d", "%00", "%7f", "%1f", "/../x", "/%2e%2e/x"])
async def test_a_path_that_would_become_two_requests_never_reaches_the_backend(front: Front, encoded: str) -> None:
    answer = await front.send(request(f"{PATH}{encoded}GET%20/x"))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert front.backend.received == []


async def test_one_request_comes_out_with_the_identity_that_was_authenticated(front: Front) -> None:
    rule = request(
        f"{PATH}/a%20b%25%23%3f?x=%0d%0aX-Remote-User:%20root&y=é",
        "X-Remote-User: mallory",
        "X-Remote-Group: other",
        "X-Remote-Group: system:masters",
        "X_Remote_User: mallory",
        "X-Remote-Extra-A: b",
        "Impersonate-Extra-A: b",
        "Authorization: Bearer x",
        "User-Agent: x\xff",
    ).replace("é".encode("latin-1"), b"%C3%A9")
    answer = await front.send(rule)
    assert answer.startswith(b"HTTP/1.1 400 "), "impersonation without a user"
    rule = rule.replace(b"Impersonate-Extra-A: b\r\n", b"")
    assert (await front.send(rule)).startswith(b"HTTP/1.1 200 ")
    (received,) = front.backend.received
    assert received.count(b"\r\n\r\n") == 1
    line, *fields = received.removesuffix(b"\r\n\r\n").split(b"\r\n")
    assert line == f"GET {PATH}/a%20b%25%23%3F?x=%0d%0aX-Remote-User:%20root&y=%C3%A9 HTTP/1.1".encode()
    identity = [
        one for one in fields if one.lower().replace(b"_", b"-").startswith((b"x-remote", b"imperson", b"authori"))
    ]
    assert identity[:3] == [
        b"X-Remote-User: root",
        b"X-Remote-Group: system:masters",
        b"X-Remote-Group: system:authenticated",
    ]
    assert all(one.startswith(b"X-Remote-Extra-authentication.kubernetes.io%2F") for one in identity[3:])


async def test_repeated_identity_headers_do_not_pass(front: Front) -> None:
    for name in ("X-Remote-User", "Impersonate-User", "Authorization"):
        answer = await front.send(request(PATH, f"{name}: a", f"{name}: b"))
        assert answer.startswith(b"HTTP/1.1 400 ")
    assert front.backend.received == []


@pytest.mark.parametrize("user", ["ro\not", "root\r\nX-Remote-Group: system:masters", "root ", "\troot"])
async def test_a_user_who_would_be_read_as_another_is_refused(front: Front, user: str) -> None:
    answer = await front.send(request(PATH), user)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"cannot be passed on" in answer
    assert front.backend.received == []


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/a b", {}),
        ("/a\r\nX: y", {}),
        ("/é", {}),
        ("/", {"A": "b\r\nC: d"}),
        ("/", {"A\r\nC": "d"}),
        ("/", {"A": ["b", "c\x00"]}),
    ],
)
async def test_the_server_writes_no_request_that_holds_two(path: str, headers: dict[str, str]) -> None:
    caller = HttpCaller()
    target = Target("127.0.0.1", 1, path, tls=False)
    for call in (caller.request("POST", target, headers, b"", 1.0), caller.open("GET", target, headers, b"")):
        with pytest.raises(CallFailed, match=r"encoded|header"):
            await call


@pytest.mark.parametrize(
    "answer", [b"\r\n\r\n", b"HTTP/1.1\r\n\r\n", b"HTTP/1.1 two\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: " + b"a" * 100_000]
)
async def test_an_answer_that_is_no_http_is_a_failed_call(answer: bytes) -> None:
    ended = asyncio.Semaphore(0)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        with suppress(ConnectionError):
            await reader.read()
        writer.close()
        ended.release()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    target = Target("127.0.0.1", listener.sockets[0].getsockname()[1], "/", tls=False)
    caller = HttpCaller()
    for call in (caller.request("GET", target, {}, b"", 5.0), caller.open("GET", target, {}, b"")):
        with pytest.raises(CallFailed, match="malformed HTTP response"):
            await call
        await asyncio.wait_for(ended.acquire(), 10)
    listener.close()
