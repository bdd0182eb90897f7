"""Bytes both ways to somewhere: a TCP or TLS connection, or a stream of a tunnel. Who uses one cannot tell which."""

import asyncio
import contextlib
from typing import Protocol

READ_SIZE = 64 * 1024


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


async def splice(one: Channel, other: Channel) -> None:
    """Carry bytes both ways until either side ends, then close both."""
    tasks = [asyncio.create_task(_carry(one, other)), asyncio.create_task(_carry(other, one))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await one.close()
        await other.close()


async def _carry(source: Channel, target: Channel) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read():
            await target.write(data)
