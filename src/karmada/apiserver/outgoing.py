"""Outgoing HTTPS requests of the server itself: admission and conversion webhooks, aggregated API servers.

One small HTTP/1.1 client on asyncio streams, with kept-alive connections per address. Failures are `CallFailed` with
the words clients of the reference know.
"""

import asyncio
import errno
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

from karmada.machinery.channel import Channel, SocketChannel
from karmada.machinery.http.head import UnsafeHead, is_field_value, request_head
from karmada.machinery.httpserver.model import Headers

_IDLE_LIMIT = 4
_BODY_LIMIT = 16 << 20
_READ_SIZE = 64 << 10
_OPEN_SECONDS = 60.0
SWITCHING = 101


_BROKEN = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError, IndexError)
"""The connection broke, or what came is no HTTP within the limits."""


class CallFailed(Exception):
    """No usable answer; the text says why, as the reference's HTTP client would."""


class Response(NamedTuple):
    """A whole answer; header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Opened(NamedTuple):
    """An answer whose body is still coming; iterating it to the end closes the connection."""

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]
    channel: Channel | None = None
    """The connection itself, after a change of protocol (101)."""


class Target(NamedTuple):
    """Where to connect and how to trust it. `address` is the host and port to dial, `host` the name to verify."""

    host: str
    port: int
    path: str
    tls: bool = True
    authorities: bytes = b""
    """PEM; empty means the system's authorities."""
    address: tuple[str, int] | None = None
    certificate: tuple[str, str] | None = None
    """Files of the client certificate and key."""
    insecure: bool = False

    @property
    def origin(self) -> str:
        """Where connections can be shared."""
        return f"{self.host}:{self.port}"


class Caller(Protocol):
    """Sends requests to other servers; the seam where tests answer instead of the network."""

    async def request(self, method: str, target: Target, headers: Headers, body: bytes, timeout: float) -> Response:
        """Send one request and read its whole answer; raises `CallFailed`."""
        ...

    async def open(self, method: str, target: Target, headers: Headers, body: bytes) -> Opened:
        """Send one request and hand out its answer as it comes; raises `CallFailed` until the headers are there.

        With the header `Upgrade` the server may switch to the protocol that it names, and to no other.
        """
        ...

    async def close(self) -> None:
        """Release all connections."""
        ...


@dataclass(slots=True)
class _Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class HttpCaller:
    """Sends requests; connections are kept for reuse until `close`."""

    def __init__(self) -> None:
        self._idle: dict[Target, list[_Connection]] = {}

    async def request(self, method: str, target: Target, headers: Headers, body: bytes, timeout: float) -> Response:
        """Send one request and read its whole answer; raises `CallFailed`."""
        try:
            async with asyncio.timeout(timeout):
                return await self._exchange(method, target, _encoded(method, target, headers, body))
        except _BROKEN as error:
            raise _failure(target, error) from None

    async def open(self, method: str, target: Target, headers: Headers, body: bytes) -> Opened:
        """Send one request and hand out its answer as it comes; raises `CallFailed` until the headers are there."""
        connection: _Connection | None = None
        protocol = headers.get("Upgrade")
        data = _encoded(method, target, {**headers, "Connection": "Upgrade" if protocol else "close"}, body)
        try:
            async with asyncio.timeout(_OPEN_SECONDS):
                connection = await self._connect(target)
                connection.writer.write(data)
                await connection.writer.drain()
                status, received = await _read_final_head(connection.reader)
                if status == SWITCHING and (
                    not protocol or received.get("upgrade", "").lower() != str(protocol).lower()
                ):
                    raise CallFailed("the server switched to a protocol that nobody asked for")
        except BaseException as error:
            if connection is not None:
                connection.writer.close()
            if isinstance(error, _BROKEN):
                raise _failure(target, error) from None
            raise
        if status == SWITCHING:
            return Opened(status, received, _nothing(), SocketChannel(connection.reader, connection.writer))
        if method == "HEAD" or status in (204, 304):
            connection.writer.close()
            return Opened(status, received, _nothing())
        return Opened(status, received, _body_chunks(connection, received))

    async def close(self) -> None:
        """Drop all idle connections."""
        for connections in self._idle.values():
            for connection in connections:
                connection.writer.close()
        self._idle.clear()

    async def _exchange(self, method: str, target: Target, data: bytes) -> Response:
        key = target._replace(path="")
        reused = self._idle.get(key)
        while reused:
            connection = reused.pop()
            try:
                return await self._send(connection, key, method, data)
            except (OSError, asyncio.IncompleteReadError):
                # The other side closed it while it was idle.
                connection.writer.close()
            except BaseException:
                connection.writer.close()
                raise
        connection = await self._connect(target)
        try:
            return await self._send(connection, key, method, data)
        except BaseException:
            connection.writer.close()
            raise

    async def _connect(self, target: Target) -> _Connection:
        host, port = target.address or (target.host, target.port)
        context = _context(target.authorities, target.certificate, target.insecure) if target.tls else None
        name = target.host if context is not None else None
        reader, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname=name)
        return _Connection(reader, writer)

    async def _send(self, connection: _Connection, key: Target, method: str, data: bytes) -> Response:
        connection.writer.write(data)
        await connection.writer.drain()
        response = await _read(connection.reader, method)
        idle = self._idle.setdefault(key, [])
        if response.headers.get("connection", "").lower() != "close" and len(idle) < _IDLE_LIMIT:
            idle.append(connection)
        else:
            connection.writer.close()
        return response


def _encoded(method: str, target: Target, headers: Headers, body: bytes) -> bytes:
    """The request as it goes over the wire; raises `CallFailed` when it would be more than one."""
    lines = [("Host", target.origin), ("Content-Length", str(len(body)))]
    for name, value in headers.items():
        lines += [(name, single) for single in ((value,) if isinstance(value, str) else value)]
    try:
        return request_head(method, target.path or "/", lines) + body
    except UnsafeHead as error:
        raise CallFailed(str(error)) from None


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    status = int(head[0].split(" ", 2)[1])
    headers = {}
    for line in head[1:]:
        name, _, value = line.partition(":")
        if name and is_field_value(value):
            headers[name.strip().lower()] = value.strip()
    return status, headers


async def _read_final_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    """The head of the answer; interim ones (100, 103) are passed over."""
    while True:
        status, headers = await _read_head(reader)
        if status >= 200 or status == SWITCHING:
            return status, headers


async def _nothing() -> AsyncIterator[bytes]:
    """The body of an answer that has none."""
    return
    yield b""


async def _body_chunks(connection: _Connection, headers: Mapping[str, str]) -> AsyncIterator[bytes]:
    reader = connection.reader
    try:
        if headers.get("transfer-encoding", "").lower() == "chunked":
            while size := int((await reader.readline()).split(b";")[0] or b"0", 16):
                # In parts: a chunk may be announced larger than anybody wants to keep.
                while size > 0:
                    data = await reader.read(min(size, _READ_SIZE))
                    if not data:
                        return
                    size -= len(data)
                    yield data
                await reader.readline()
            return
        left = int(headers["content-length"]) if "content-length" in headers else None
        while left is None or left > 0:
            data = await reader.read(_READ_SIZE if left is None else min(left, _READ_SIZE))
            if not data:
                return
            if left is not None:
                left -= len(data)
            yield data
    except (OSError, asyncio.IncompleteReadError):
        return
    finally:
        connection.writer.close()


async def _read(reader: asyncio.StreamReader, method: str) -> Response:
    status, headers = await _read_head(reader)
    if method == "HEAD" or status in (204, 304):
        return Response(status, headers, b"")
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return Response(status, headers, await _chunked(reader))
    if "content-length" in headers:
        length = int(headers["content-length"])
        if length > _BODY_LIMIT:
            raise CallFailed("the answer is too large")
        return Response(status, headers, await reader.readexactly(length))
    headers["connection"] = "close"
    return Response(status, headers, await reader.read(_BODY_LIMIT))


async def _chunked(reader: asyncio.StreamReader) -> bytes:
    parts: list[bytes] = []
    total = 0
    while True:
        size = int((await reader.readline()).split(b";")[0], 16)
        if size == 0:
            while (await reader.readline()).strip():
                pass
            return b"".join(parts)
        total += size
        if total > _BODY_LIMIT:
            raise CallFailed("the answer is too large")
        parts.append(await reader.readexactly(size))
        await reader.readline()


@lru_cache(maxsize=256)
def _context(authorities: bytes, certificate: tuple[str, str] | None, insecure: bool) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=authorities.decode("ascii") if authorities else None)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate is not None:
        context.load_cert_chain(*certificate)
    return context


def _failure(target: Target, error: Exception) -> CallFailed:
    if isinstance(error, TimeoutError):
        return CallFailed("context deadline exceeded")
    if isinstance(error, ssl.SSLCertVerificationError):
        return CallFailed(f"tls: failed to verify certificate: {_certificate_problem(error)}")
    return CallFailed(_connection_problem(target, error))


def _certificate_problem(error: ssl.SSLCertVerificationError) -> str:
    if error.verify_code in (18, 19, 20, 21):
        return "x509: certificate signed by unknown authority"
    if error.verify_code == 10:
        return "x509: certificate has expired or is not yet valid"
    return f"x509: {error.verify_message}"


def _connection_problem(target: Target, error: Exception) -> str:
    host, port = target.address or (target.host, target.port)
    if isinstance(error, ssl.SSLError):
        return f"tls: {error.reason or error}"
    if isinstance(error, ConnectionRefusedError) or getattr(error, "errno", None) == errno.ECONNREFUSED:
        return f"dial tcp {host}:{port}: connect: connection refused"
    if isinstance(error, asyncio.IncompleteReadError | ConnectionResetError):
        return "EOF"
    if isinstance(error, asyncio.LimitOverrunError | ValueError | IndexError):
        return "malformed HTTP response"
    return (
        f"dial tcp: lookup {host}: no such host"
        if isinstance(error, OSError) and error.errno in (-2, -3)
        else str(error)
    )


def target_of(url: str, authorities: bytes) -> Target:
    """The target of a URL."""
    parts = urlsplit(url)
    tls = parts.scheme != "http"
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    return Target(parts.hostname or "", parts.port or (443 if tls else 80), path, tls, authorities)
