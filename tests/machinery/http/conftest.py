"""A scripted HTTP server: each test says what it answers."""

import asyncio
import contextlib

import orjson
import pytest


class Exchange:
    """One request as it arrived."""

    def __init__(self, head: str, body: bytes) -> None:
        lines = head.split("\r\n")
        self.method, self.path, _ = lines[0].split(" ")
        self.headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:] if line)}
        self.body = body


class ScriptedServer:
    """Answers with what `script(exchange, number)` returns: bytes to write, or None to cut the connection."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self.connections = 0
        self.script = lambda exchange, number: answer({"kind": "ConfigMap"})
        self.port = 0
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()

    async def start(self, tls=None) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=tls)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        self._server.close()
        self.cut()
        await asyncio.gather(*self._serving, return_exceptions=True)
        await self._server.wait_closed()

    def cut(self) -> None:
        """Break every connection."""
        for task in self._serving:
            task.cancel()

    async def _accept(self, reader, writer) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._serving.add(task)
        await asyncio.gather(task, return_exceptions=True)
        self._serving.discard(task)

    async def _serve(self, reader, writer) -> None:
        self.connections += 1
        try:
            await self._converse(reader, writer)
        finally:
            writer.transport.abort()

    async def _converse(self, reader, writer) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                exchange = Exchange(head, b"")
                exchange.body = await reader.readexactly(int(exchange.headers.get("content-length", "0")))
                self.exchanges.append(exchange)
                reply = self.script(exchange, len(self.exchanges))
                if asyncio.iscoroutine(reply):
                    reply = await reply
                if reply is None:
                    break
                for part in reply if isinstance(reply, list) else [reply]:
                    writer.write(part)
                    await writer.drain()
                    await asyncio.sleep(0)
            writer.close()
            await writer.wait_closed()


def answer(body, status=200, **headers):
    encoded = body if isinstance(body, bytes) else orjson.dumps(body)
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(encoded)}\r\n{lines}\r\n".encode() + encoded


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@pytest.fixture
async def scripted():
    server = ScriptedServer()
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
def reply():
    return answer


@pytest.fixture
def as_chunk():
    return chunk
