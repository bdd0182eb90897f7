"""A line between a client and a server on loopback that can be cut, as a network is: nothing is refused, nothing comes.

    async with Line(server.port) as line:
        ...  # clients use line.endpoint
        line.cut()
        line.mend()

What was under way when it was cut is lost: after mending, connections of before are gone and new ones work.
"""

import asyncio
import contextlib
from types import TracebackType
from typing import Self

HOST = "127.0.0.1"
PIECE = 64 * 1024


class Line:
    """Listens on a port of its own and carries every connection to a server's."""

    def __init__(self, to: int) -> None:
        self._to = to
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._forth, self._back = asyncio.Event(), asyncio.Event()
        self.mend()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._carry, HOST, 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        self.mend()

    @property
    def endpoint(self) -> str:
        """Where clients find the server."""
        assert self._server is not None
        return f"https://{HOST}:{self._server.sockets[0].getsockname()[1]}"

    def cut(self, *, answers_only: bool = False) -> None:
        """Let nothing through any more, or requests only."""
        self._back.clear()
        if not answers_only:
            self._forth.clear()

    def mend(self) -> None:
        """Let new connections through; those of before are gone."""
        for writer in self._open:
            writer.transport.abort()
        self._open.clear()
        self._forth.set()
        self._back.set()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            with contextlib.suppress(OSError):
                there, back = await asyncio.open_connection(HOST, self._to)
                self._open.add(back)
                try:
                    await asyncio.gather(_copy(reader, back, self._forth), _copy(there, writer, self._back))
                finally:
                    back.transport.abort()
                    self._open.discard(back)
        finally:
            writer.transport.abort()
            self._open.discard(writer)


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter, passable: asyncio.Event) -> None:
    while data := await source.read(PIECE):
        await passable.wait()
        if target.transport.is_closing():
            return
        target.write(data)
        await target.drain()
    await passable.wait()
    target.transport.close()
