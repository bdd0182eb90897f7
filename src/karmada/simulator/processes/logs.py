"""Logs of processes: a line per line they print, with its time, in files of bounded size."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path

from karmada.machinery.clock import Clock, parse_rfc3339, rfc3339_micro
from karmada.machinery.httpserver.backends import LogRequest
from karmada.machinery.httpserver.failure import bad_request

LIMIT = 5 << 20
LONGEST = 64 << 10
"""Bytes of a line; what is longer continues in the next one."""
PAUSE = 0.2


class LogWriter:
    """Takes what one run of a container prints."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.path = path
        self._clock = clock
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch()

    async def take(self, stream: asyncio.StreamReader) -> None:
        """Write down everything until the end of the stream."""
        unfinished = b""
        while piece := await stream.read(LONGEST):
            *lines, unfinished = (unfinished + piece).split(b"\n")
            if len(unfinished) >= LONGEST:
                lines, unfinished = [*lines, unfinished], b""
            self._write(lines)
        self._write([unfinished] if unfinished else [])

    def _write(self, lines: list[bytes]) -> None:
        stamp = rfc3339_micro(self._clock.now()).encode()
        with contextlib.suppress(OSError):  # a full disk must not stop who prints
            if self.path.stat().st_size > LIMIT:
                self.path.replace(older(self.path))
            with self.path.open("ab") as file:
                file.writelines(stamp + b" " + line + b"\n" for line in lines)


def older(path: Path) -> Path:
    """Where the part of a log goes that is too old for its file."""
    return path.with_name(f"{path.name}.1")


def read(path: Path, request: LogRequest, clock: Clock) -> AsyncIterator[bytes]:
    """The lines that a request asks for; without end when following."""
    old, new = (_lines(part) for part in (older(path), path))
    if new is None:
        raise bad_request(f'container "{request.container}" in pod "{request.pod}" has not started')
    return _pieces(path, request, clock, old or [], new)


async def _pieces(
    path: Path, request: LogRequest, clock: Clock, old: list[bytes], new: list[bytes]
) -> AsyncIterator[bytes]:
    since = clock.now() - request.since_seconds if request.since_seconds else 0.0
    since = parse_rfc3339(request.since_time) if request.since_time else since
    left = request.limit_bytes
    place = sum(map(len, new))
    lines = [line for line in (*old, *new) if _at(line) >= since]
    for line in deque(lines, request.tail):
        data = line if request.timestamps else line.partition(b" ")[2]
        data = data if left is None else data[:left]
        yield data
        if left is not None and (left := left - len(data)) <= 0:
            return
    while request.follow and path.parent.exists():
        await clock.sleep(PAUSE)
        with contextlib.suppress(OSError), path.open("rb") as file:
            if file.seek(0, 2) < place:
                place = 0
            file.seek(place)
            piece = file.read()
            whole = piece[: piece.rfind(b"\n") + 1]
            place += len(whole)
            for line in whole.splitlines(keepends=True):
                yield line if request.timestamps else line.partition(b" ")[2]


def _lines(path: Path) -> list[bytes] | None:
    try:
        return path.read_bytes().splitlines(keepends=True)
    except OSError:
        return None


def _at(line: bytes) -> float:
    try:
        return parse_rfc3339(line.partition(b" ")[0].decode())
    except ValueError:
        return 0.0
