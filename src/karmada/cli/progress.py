"""Something to look at while waiting: a spinner with the time on a terminal, silence elsewhere.

    with Waiting(session, "waiting for member1 to leave"):
        await ...

The line goes to standard error, so that output can be piped, and disappears when the wait is over.
"""

import time
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING

from karmada.cli.output.controls import one_line
from karmada.cli.session import Session

if TYPE_CHECKING:
    import asyncio

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
PAUSE = 0.1


async def until(check: Callable[[], Awaitable[bool]]) -> None:
    """Ask again until it is so."""
    import asyncio

    while True:
        if await check():
            return
        await asyncio.sleep(PAUSE)


class Waiting:
    """A spinner with the elapsed time on a terminal; nothing elsewhere."""

    def __init__(self, session: Session, text: str, after: float = 0.0) -> None:
        """Nothing is shown for `after` seconds: what is quick needs no progress."""
        self._after = after
        self._stream = session.err
        self._text = text
        self._task: asyncio.Task[None] | None = None

    def say(self, text: str) -> None:
        """What is waited for now."""
        self._text = text

    def __enter__(self) -> "Waiting":
        if self._stream.isatty():
            import asyncio

            self._task = asyncio.get_running_loop().create_task(self._draw())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._task is not None:
            self._task.cancel()
            self._stream.write("\r\033[K")
            self._stream.flush()

    async def _draw(self) -> None:
        import asyncio

        start = time.monotonic()
        await asyncio.sleep(self._after)
        while True:
            elapsed = time.monotonic() - start
            frame = FRAMES[int(elapsed / PAUSE) % len(FRAMES)]
            self._stream.write(f"\r\033[K{frame} {one_line(self._text)} ({elapsed:.0f}s)")
            self._stream.flush()
            await asyncio.sleep(PAUSE)
