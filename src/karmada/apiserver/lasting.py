"""Answers that last are authorised as they go on, not only when they begin: exec, attach, port-forward, followed logs,
agents' tunnels, and what other servers stream.

Whatever passes in either direction, the authoriser is asked first; it answers from memory. Whoever has lost the right
is cut off. Credentials are not looked at again: they may expire meanwhile, as with any Kubernetes.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator

from karmada.machinery.httpserver.model import ByteStream, CutOff
from karmada.machinery.httpserver.upgraded import ENDED, Disconnected

May = Callable[[], bool]
Serve = Callable[[ByteStream], Awaitable[None]]


class AllowedChunks:
    """A streamed body that is cut off when its reader may not have it any more."""

    def __init__(self, chunks: AsyncIterator[bytes | Iterable[bytes]], may: May) -> None:
        self._chunks = chunks
        self._may = may

    def __aiter__(self) -> "AllowedChunks":
        return self

    async def __anext__(self) -> bytes | Iterable[bytes]:
        chunk = await anext(self._chunks)
        try:
            self._check()
        except CutOff:
            await self.aclose()
            raise
        return chunk if isinstance(chunk, bytes) else self._parts(chunk)

    def _parts(self, parts: Iterable[bytes]) -> Iterator[bytes]:
        """Parts that are made while they are written, which takes as long as their reader likes."""
        for part in parts:
            self._check()
            yield part

    def _check(self) -> None:
        if not self._may():
            raise CutOff("the client may not have this answer any more")

    async def aclose(self) -> None:
        """Nobody reads on."""
        close = getattr(self._chunks, "aclose", None)
        if close is not None:
            await close()


class AllowedStream:
    """A connection after an upgrade (`ByteStream`) that closes when its client may not have it any more."""

    def __init__(self, stream: ByteStream, may: May) -> None:
        self._stream = stream
        self._may = may

    async def read(self) -> bytes:
        """What the client sent; empty at the end."""
        data = await self._stream.read()
        if data and not self._may():
            await self.close()
            return b""
        return data

    async def write(self, data: bytes) -> None:
        """Send to the client; raises `Disconnected`."""
        if not self._may():
            await self.close()
            raise Disconnected("the client may not use this connection any more")
        await self._stream.write(data)

    async def close(self) -> None:
        """Close the connection."""
        await self._stream.close()


def while_allowed(serve: Serve, may: May) -> Serve:
    """What serves an upgraded connection, as long as its client may have it."""

    async def serve_allowed(stream: ByteStream) -> None:
        await serve(stream if stream is ENDED else AllowedStream(stream, may))

    return serve_allowed
