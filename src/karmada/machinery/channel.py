"""Bytes both ways to somewhere: a TCP or TLS connection, or a stream of a tunnel. Who uses one does not know which."""

import asyncio
from typing import Protocol

from karmada.machinery.httpserver.upgraded import ENDED

READ_SIZE = 64 * 1024
IDLE_SECONDS = 4 * 3600.0
"""After this long without a byte in either direction a connection is closed, as kubelets do with streams."""
HALF_CLOSED_SECONDS = 5.0
FIRST = asyncio.FIRST_COMPLETED


class Channel(Protocol):
    """A connection."""

    async def read(self) -> bytes:
        """Next bytes; empty at the end. Raises OSError when the connection breaks."""
        ...

    async def write(self, data: bytes) -> None:
        """Write with back-pressure; raises OSError when the connection is broken."""
        ...

    async def close(self) -> None:
        """Drop the connection."""
        ...


class SocketChannel:
    """A channel on asyncio's streams."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self) -> bytes:
        """Next bytes."""
        return await self._reader.read(READ_SIZE)

    async def write(self, data: bytes) -> None:
        """Write with back-pressure."""
        self._writer.write(data)
        await self._writer.drain()

    async def close(self) -> None:
        """Drop the connection without waiting for the other side."""
        self._writer.transport.abort()


async def splice(client: Channel, server: Channel) -> None:
    """Carry bytes both ways until the server's side ends, either side breaks or both are silent; then close both.

    The end of the client's side is not the end: what the server still sends reaches the client, as long as it does not
    pause for `HALF_CLOSED_SECONDS`.
    """
    clock = asyncio.get_running_loop().time
    moved = clock()

    async def carry(source: Channel, target: Channel) -> bool:
        """Carry to the end of the source; whether it ended and did not break."""
        nonlocal moved
        try:
            while data := await source.read():
                moved = clock()
                await target.write(data)
                moved = clock()
        except OSError:
            return False
        moved = clock()
        return True

    # A client that is known to be gone will not read what the server sends.
    up, down = asyncio.create_task(carry(client, server)), asyncio.create_task(carry(server, client))
    try:
        while client is not ENDED and not down.done() and (not up.done() or up.result()):
            allowed = HALF_CLOSED_SECONDS if up.done() else IDLE_SECONDS
            left = moved + allowed - clock()
            if left <= 0:
                break
            await asyncio.wait([task for task in (up, down) if not task.done()], timeout=left, return_when=FIRST)
    finally:
        for task in (up, down):
            task.cancel()
        await asyncio.gather(up, down, return_exceptions=True)
        await client.close()
        await server.close()
