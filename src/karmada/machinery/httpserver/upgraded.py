"""The connection below HTTP, and what becomes of it after an upgrade: a stream of bytes in both directions."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol


class Wire(Protocol):
    """What a connection needs of its transport (TCP, or TLS over TCP)."""

    def write(self, data: bytes) -> None:
        """Queue bytes."""
        ...

    def close(self) -> None:
        """Close after everything queued is sent."""
        ...

    def abort(self) -> None:
        """Close at once."""
        ...

    def is_closing(self) -> bool:
        """Whether the connection is closed or closing."""
        ...

    def pause_reading(self) -> None:
        """Stop delivering data."""
        ...

    def resume_reading(self) -> None:
        """Deliver data again."""
        ...


class Disconnected(ConnectionError):
    """The client went away."""


class _Ended:
    """A stream whose client is gone (`ByteStream`)."""

    async def read(self) -> bytes:
        """Nothing comes."""
        return b""

    async def write(self, data: bytes) -> None:
        """Nobody reads."""
        raise Disconnected("the client went away")

    async def close(self) -> None:
        """Nothing is open."""


ENDED = _Ended()


class UpgradedStream:
    """The connection after an upgrade (`ByteStream`); reading pauses while more than `HIGH` bytes wait."""

    HIGH = 256 * 1024

    __slots__ = ("_drained", "_ended", "_paused", "_size", "_waiter", "_waiting", "_wire")

    def __init__(self, wire: Wire, drained: Callable[[], Awaitable[None]]) -> None:
        self._wire = wire
        self._drained = drained
        self._waiting: list[bytes] = []
        self._size = 0
        self._ended = False
        self._paused = False
        self._waiter: asyncio.Future[None] | None = None

    def feed(self, data: bytes) -> None:
        """Bytes from the client; empty at the end."""
        if data:
            self._waiting.append(data)
            self._size += len(data)
            if self._size > self.HIGH and not self._paused:
                self._paused = True
                self._wire.pause_reading()
        else:
            self._ended = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def read(self) -> bytes:
        """Everything that arrived; waits for something, empty at the end."""
        while not self._waiting and not self._ended:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        data = b"".join(self._waiting)
        self._waiting.clear()
        self._size = 0
        if self._paused:
            self._paused = False
            self._wire.resume_reading()
        return data

    async def write(self, data: bytes) -> None:
        """Write with back-pressure; raises `Disconnected` when the client is gone."""
        if self._wire.is_closing():
            raise Disconnected("the client went away")
        self._wire.write(data)
        await self._drained()

    async def close(self) -> None:
        """Close after everything written is sent."""
        self._wire.close()
