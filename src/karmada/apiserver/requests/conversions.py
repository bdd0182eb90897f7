"""What watchers want in another version or form than it is stored: made once for all who want the same.

Watchers of a place are shown the same event within moments, so that only the newest is kept, within a number of bytes.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from contextvars import Context
from typing import Any

SIZE = 16 * 1024 * 1024
_ENTRY = 512
"""Bytes that count for an entry whatever is in it."""


class Conversions:
    """Lines by what they were made of, and those that are being made."""

    def __init__(self, size: int = SIZE) -> None:
        self._left = size
        self._lines: OrderedDict[Hashable, tuple[bytes, int]] = OrderedDict()
        """Lines with the bytes that each keeps, the one used longest ago first."""
        self._making: dict[Hashable, asyncio.Future[bytes | None]] = {}

    async def line(self, key: Hashable, source: int, make: Callable[[], Coroutine[Any, Any, bytes]]) -> bytes:
        """The line of a key that keeps an object of `source` bytes; made unless it is known."""
        while (made := self._making.get(key)) is not None:
            await asyncio.wait((made,))
            if (line := made.result()) is not None:
                return line
        known = self._lines.get(key)
        if known is not None:
            self._lines.move_to_end(key)
            return known[0]
        made = self._making[key] = asyncio.get_running_loop().create_future()
        line = None
        try:
            # A line is everybody's: it waits for nobody's turn with large requests.
            line = await asyncio.create_task(make(), context=Context())
            self._keep(key, line, source + len(line) + _ENTRY)
            return line
        finally:
            # Without a line, the next who waits tries itself: what failed may have been the caller's own.
            del self._making[key]
            made.set_result(line)

    def _keep(self, key: Hashable, line: bytes, size: int) -> None:
        self._lines[key] = line, size
        self._left -= size
        while self._left < 0:
            _, (_, size) = self._lines.popitem(last=False)
            self._left += size
