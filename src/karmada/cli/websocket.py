"""The client's side of exec and attach: one WebSocket with a channel per stream (v5.channel.k8s.io).

Channels: 0 stdin, 1 stdout, 2 stderr, 3 how it ended (a Status), 4 the size of the terminal, 255 closes a channel.
"""

import asyncio
import base64
import contextlib
import os
import ssl
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import orjson
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Ping, TextMessage

from karmada.machinery.errors import ApiError, Timeout, Unavailable, from_status
from karmada.machinery.http.credentials import CredentialSource
from karmada.machinery.http.head import request_head
from karmada.machinery.http.proxy import proxy_for, tunnel
from karmada.machinery.http.target import NOTHING, Target
from karmada.machinery.http.tls import TLSSettings
from karmada.machinery.os_errors import spelled

STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
PROTOCOL = "v5.channel.k8s.io"
LONGEST_HEAD = 64 * 1024
PATIENCE = 8.0
"""Seconds until a stream has to start."""


class Channels:
    """An open exec or attach."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, rest: bytes) -> None:
        self._reader = reader
        self._writer = writer
        self._rest = rest
        self._frames = Connection(ConnectionType.CLIENT)

    async def send(self, channel: int, data: bytes) -> None:
        """Write to a channel."""
        self._writer.write(self._frames.send(BytesMessage(bytes([channel]) + data)))
        await self._writer.drain()

    async def end(self, channel: int) -> None:
        """Say that nothing more comes on a channel."""
        await self.send(CLOSE, bytes([channel]))

    async def messages(self) -> AsyncIterator[tuple[int, bytes]]:
        """What comes, by channel, until the other side ends it."""
        part = b""
        data = self._rest or await self._reader.read(65536)
        while data:
            self._frames.receive_data(data)
            for event in self._frames.events():
                match event:
                    case BytesMessage():
                        part += bytes(event.data)
                        if event.message_finished:
                            if part:
                                yield part[0], part[1:]
                            part = b""
                    case TextMessage() if event.data:
                        yield ord(event.data[0]), event.data[1:].encode()
                    case Ping():
                        self._writer.write(self._frames.send(event.response()))
                    case CloseConnection():
                        return
            data = await self._reader.read(65536)

    async def close(self) -> None:
        """Drop the connection."""
        await _drop(self._writer)


async def connect(target: Target, path: str) -> Channels:
    """Open a path for exec or attach; raises the server's refusal."""
    parts = urlsplit(target.server)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    credentials = await CredentialSource(target).current()
    context = None
    if parts.scheme == "https":
        context = TLSSettings(target).context(credentials.certificate or NOTHING, credentials.key)
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await _open(target, context)
    except TimeoutError:
        raise Timeout(f"no connection to {target.server} within {PATIENCE:g} s") from None
    except OSError as error:
        raise Unavailable(f"no connection to {target.server}: {spelled(error)}") from error
    key = base64.b64encode(os.urandom(16)).decode()
    fields = [
        ("Host", f"{host}:{port}"),
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Key", key),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Protocol", PROTOCOL),
    ]
    head = request_head("GET", f"{parts.path}{path}", fields).removesuffix(b"\r\n")
    try:
        async with asyncio.timeout(PATIENCE):
            writer.write(head + credentials.headers + b"\r\n")
            answer = await _head(reader)
            status = int(answer.split(b" ", 2)[1])
            if status != 101:
                raise from_status(status, await _body(reader, answer))
    except TimeoutError:
        await _drop(writer)
        raise Timeout(f"the stream did not start within {PATIENCE:g} s: see karmadactl check") from None
    except ApiError:
        await _drop(writer)
        raise
    return Channels(reader, writer, b"")


async def _open(target: Target, context: ssl.SSLContext | None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the server, through the proxy that leads there if there is one."""
    parts = urlsplit(target.server)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    name = (target.server_name or host) if context else None
    proxy = proxy_for(parts.scheme, host, target.proxy, os.environ)
    if proxy is None:
        return await asyncio.open_connection(host, port, ssl=context, server_hostname=name)
    loop = asyncio.get_running_loop()
    transport: asyncio.WriteTransport | None = await tunnel(proxy, target, host, port)
    reader = asyncio.StreamReader(loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    assert transport is not None
    if context is None:
        transport.set_protocol(protocol)
    else:
        transport = await loop.start_tls(transport, protocol, context, server_hostname=name)
        if transport is None:
            raise Unavailable("the connection broke during the TLS handshake")
    protocol.connection_made(transport)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


async def _drop(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise Unavailable("the connection broke before the server answered") from error


async def _body(reader: asyncio.StreamReader, head: bytes) -> dict[str, object]:
    length = next(
        (int(line.partition(b":")[2]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
    )
    data = await reader.readexactly(length) if length else await reader.read(LONGEST_HEAD)
    try:
        found = orjson.loads(data[data.find(b"{") : data.rfind(b"}") + 1])
    except orjson.JSONDecodeError:
        return {"message": data.decode("utf-8", "replace").strip()}
    return found if isinstance(found, dict) else {}
