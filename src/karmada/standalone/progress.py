"""Tells what is being done and how long it took; redraws one line on a terminal, prints lines elsewhere."""

import time
from types import TracebackType
from typing import TextIO


class Reporter:
    """Steps of something that takes more than a moment."""

    def __init__(self, output: TextIO) -> None:
        self._output = output
        self._terminal = output.isatty()
        self._started = time.monotonic()
        self._current = ""

    def __enter__(self) -> "Reporter":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def step(self, text: str) -> None:
        """A new step begins."""
        self.close()
        self._current = text
        if self._terminal:
            self._output.write(f"  … {text}")
        else:
            self._output.write(f"  {text}\n")
        self._output.flush()

    def done(self, text: str) -> None:
        """Everything is done."""
        self.close()
        self._output.write(f"  {text} after {time.monotonic() - self._started:.1f} s\n")
        self._output.flush()

    def close(self) -> None:
        """The current step is over."""
        if self._current and self._terminal:
            self._output.write(f"\r  ✓ {self._current}\n")
            self._output.flush()
        self._current = ""
