"""The size of the window in which a client shows a terminal."""

import asyncio

from karmada.machinery.httpserver.backends import TerminalSize


class Window:
    """Keeps the newest size only: a client may report any number of them, and commands need not look."""

    def __init__(self) -> None:
        self._size: TerminalSize | None = None
        self._reported = asyncio.Event()

    def report(self, size: TerminalSize) -> None:
        """The window has another size."""
        self._size = size
        self._reported.set()

    async def resized(self) -> TerminalSize:
        """Wait for a size that was not looked at yet."""
        await self._reported.wait()
        self._reported.clear()
        assert self._size is not None
        return self._size
