"""What a client sends on one stream, until whoever serves it reads on."""

import asyncio

LIMIT = 64
"""Pieces that wait; who sends more waits as well."""


class ClientInput:
    """Bytes in order, with an end after which every read is empty."""

    def __init__(self) -> None:
        self._pieces: asyncio.Queue[bytes] = asyncio.Queue(LIMIT)
        self._ended = False

    async def feed(self, data: bytes) -> None:
        """Bytes from the client, empty at the end; waits while too many are unread."""
        await self._pieces.put(data)

    async def read(self) -> bytes:
        """Next bytes; empty once the client has ended them."""
        if self._ended and self._pieces.empty():
            return b""
        data = await self._pieces.get()
        if not data:
            self._ended = True
        return data
