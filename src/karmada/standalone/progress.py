"""Prints what is being done and how long it took; redraws one line on a terminal, prints lines elsewhere."""

import os
import time
from types import TracebackType
from typing import TextIO

PAUSE = 2.0
"""Seconds between lines about one step where nothing can be redrawn."""
_CLEAR = "\r\033[K"


class Reporter:
    """Steps of something that takes more than a moment."""

    def __init__(self, output: TextIO) -> None:
        self._output = output
        self._terminal = output.isatty()
        self._tick = "\033[32m✓\033[0m" if self._terminal and not os.environ.get("NO_COLOR") else "✓"
        self._started = time.monotonic()
        self._printed_at = 0.0
        self._current = ""

    def __enter__(self) -> "Reporter":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def step(self, text: str) -> None:
        """A new step begins, or (same words before a parenthesis) more is known about the current one."""
        same = bool(self._current) and _title(text) == _title(self._current)
        if not same:
            self.close()
        self._current = text
        if self._terminal:
            self._write(f"{_CLEAR}  … {text}")
        elif not same or time.monotonic() - self._printed_at >= PAUSE:
            self._printed_at = time.monotonic()
            self._write(f"  {text}\n")

    def done(self, text: str) -> None:
        """Everything is done."""
        self.close()
        self._write(f"  {text} after {time.monotonic() - self._started:.1f} s\n")

    def notice(self, text: str) -> None:
        """Something happened beside the steps."""
        current = self._current if self._terminal else ""
        self._write((_CLEAR if current else "") + f"{time.strftime('%H:%M:%S')} {text}\n")
        if current:
            self._write(f"  … {current}")

    def close(self) -> None:
        """The current step is over."""
        if self._current and self._terminal:
            # Whatever else is on the line (the ^C of whoever ended it) goes.
            self._write(f"{_CLEAR}  {self._tick} {_title(self._current)}\n")
        self._current = ""

    def _write(self, text: str) -> None:
        self._output.write(text)
        self._output.flush()


def _title(text: str) -> str:
    return text.partition(" (")[0]
