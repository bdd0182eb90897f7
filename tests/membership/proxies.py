"""Stand-ins for the proxies people put in front of members: HTTP CONNECT, the same over TLS, and SOCKS5."""

import asyncio
import contextlib
import ssl
from dataclasses import dataclass, field

USER, PASSWORD = "fleet", "p@ss"


@dataclass
class StandInProxy:
    """Carries connections anywhere, and records the requests."""

    scheme: str
    tls: ssl.SSLContext | None = None
    login: bool = False
    received: list[str] = field(default_factory=list)
    port: int = 0

    async def __aenter__(self) -> "StandInProxy":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    @property
    def url(self) -> str:
        login = f"{USER}:p%40ss@" if self.login else ""
        return f"{self.scheme}://{login}127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        greet = self._socks if self.scheme == "socks5" else self._connect
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, ssl.SSLError):
            where = await greet(reader, writer)
            if where is not None:
                await _carry(reader, writer, *await asyncio.open_connection(*where))
        writer.transport.abort()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[str, int] | None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.received.append(head)
        host, _, port = head.split(" ")[1].rpartition(":")
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        return host, int(port)

    async def _socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[str, int] | None:
        offered = await reader.readexactly((await reader.readexactly(2))[1])
        method = 2 if self.login else 0
        writer.write(bytes([5, method if method in offered else 0xFF]))
        if method not in offered:
            return None
        if self.login:
            name = await reader.readexactly((await reader.readexactly(2))[1])
            password = await reader.readexactly((await reader.readexactly(1))[0])
            known = (name.decode(), password.decode()) == (USER, PASSWORD)
            writer.write(bytes([1, 0 if known else 1]))
            if not known:
                return None
        kind = (await reader.readexactly(4))[3]
        size = {1: 4, 4: 16}.get(kind) or (await reader.readexactly(1))[0]
        address = await reader.readexactly(size)
        port = int.from_bytes(await reader.readexactly(2), "big")
        host = ".".join(map(str, address)) if kind == 1 else address.decode()
        self.received.append(f"{host}:{port}")
        if host == "forbidden.example":
            writer.write(b"\x05\x02\x00\x01" + bytes(6))
            return None
        writer.write(b"\x05\x00\x00\x01" + bytes(6))
        return host, port


async def _carry(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    inner_reader: asyncio.StreamReader,
    inner_writer: asyncio.StreamWriter,
) -> None:
    async def pipe(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()

    tasks = [asyncio.create_task(pipe(reader, inner_writer)), asyncio.create_task(pipe(inner_reader, writer))]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    inner_writer.transport.abort()
