"""What a process says, kept in a file of bounded size; its end is known even when the disk takes no more.

At `LIMIT` bytes the file becomes `<name>.log.1`, in place of an older one, and a new one begins: a process takes up at
most twice the limit, however long it runs.
"""

import contextlib
from collections import deque
from pathlib import Path

LIMIT = 5 << 20
REMEMBERED = 12
"""Lines."""


class LogFile:
    """Takes what a process writes, in pieces of any size."""

    def __init__(self, path: Path, limit: int = LIMIT) -> None:
        self.path = path
        self._limit = limit
        self._lines: deque[bytes] = deque(maxlen=REMEMBERED)
        self._unfinished = b""
        self.write(b"")  # the log of a silent process is there, and empty

    def write(self, piece: bytes) -> None:
        """Keep a piece; a disk that refuses it must not stop the process that wrote it."""
        *lines, self._unfinished = (self._unfinished + piece).split(b"\n")
        self._lines.extend(lines)
        with contextlib.suppress(OSError):
            if self.path.exists() and self.path.stat().st_size + len(piece) > self._limit:
                self.path.replace(self.path.with_name(f"{self.path.name}.1"))
            with self.path.open("ab") as file:
                file.write(piece)

    def tail(self) -> str:
        """The last lines."""
        lines = [*self._lines, self._unfinished] if self._unfinished else list(self._lines)
        return b"\n".join(lines[-REMEMBERED:]).decode(errors="replace")


def tail_and_size(path: Path, lines: int) -> tuple[str, int]:
    """The end of a log and the bytes of it that were read: whoever follows the log goes on exactly there."""
    found: list[bytes] = []
    size = 0
    for part in (path.with_name(f"{path.name}.1"), path):
        size = 0
        with contextlib.suppress(OSError):
            content = part.read_bytes()
            size = len(content)
            found += content.splitlines()
    return b"\n".join(found[max(0, len(found) - lines) :]).decode(errors="replace"), size
