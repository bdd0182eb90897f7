"""A disk below SQLite that fills up, fails and loses power, as a seed decides.

It knows of each file what has been synced and what was written since. When the power fails, of the latter anything
may have reached the disk: each write wholly, in part (whole sectors of 512 bytes), or not at all, in any order. When
only the process dies, the kernel keeps all of it. `survivors` writes what is left to another folder, for the next life.
Every operation that changes something counts; the crash happens at the operation that was chosen, be it a sync or not.
"""

import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

from karmada.testing.histories.vfs import FULL, IO_ERROR, OK

SECTOR = 512


class Write(NamedTuple):
    """Bytes at a place, or, without bytes, the new end of the file."""

    offset: int
    data: bytes | None


class Trouble(NamedTuple):
    """Operations from `first` on that fail, and how."""

    first: int
    number: int
    code: int


class _File:
    """What a file holds on the disk, and what is on the way there."""

    def __init__(self, durable: bytes, named: bool) -> None:
        self.durable = bytearray(durable)
        self.pending: list[Write] = []
        self.named = named
        """Whether its name survives."""

    def sync(self) -> None:
        for write in self.pending:
            _apply(self.durable, write)
        self.pending, self.named = [], True


class Disk:
    """The files of one folder; a `vfs.Watching`."""

    def __init__(self, folder: Path, random: Random, crash_at: int, trouble: Trouble, busy: Callable[[], None]) -> None:
        """`crash_at` counts operations; `busy` is called before each sync, as one takes time."""
        self._random = random
        self._crash_at = crash_at
        self._trouble = trouble
        self._busy = busy
        self._mark = _contents(folder)
        self._files = {name: _File(data, True) for name, data in self._mark.items() if _is_database(name)}
        self._removed: dict[str, _File] = {}
        """Files whose removal the folder does not know for certain."""
        self._folder = folder
        self.operations = 0
        self.crashed = ""
        """What it was doing when it crashed."""
        self._left: dict[str, bytes] = {}

    def write(self, path: str, offset: int, data: bytes) -> int:
        """Kept in mind until the next sync."""
        return self._operate(path, "write", Write(offset, data))

    def truncate(self, path: str, size: int) -> int:
        """Kept in mind until the next sync."""
        return self._operate(path, "truncate", Write(size, None))

    def sync(self, path: str) -> int:
        """What was written so far is durable."""
        self._busy()
        code = self._counted(f"sync of {os.path.basename(path)}")
        if code == OK:
            self._sync(self._file(path))
            self._crash_if_due(f"sync of {os.path.basename(path)}, done")
        return code

    def delete(self, path: str, durably: bool) -> int:
        """Until the folder is synced, the file may be back after a crash."""
        code = self._counted(f"deletion of {os.path.basename(path)}")
        if code == OK:
            self._removed[os.path.basename(path)] = self._file(path)
            del self._files[os.path.basename(path)]
            if durably:
                self._removed.clear()
        return code

    def crash(self, doing: str, power: bool) -> None:
        """Nothing is written any more; what was written is as durable as it is."""
        if not self.crashed:
            self.crashed = doing
            self._left = self._lose() if power else _contents(self._folder)
            self._left = {name: data for name, data in self._left.items() if not name.endswith(("-shm", ".lock"))}

    @property
    def failing(self) -> bool:
        """Whether an operation was refused: it crashed, or had its trouble."""
        return bool(self.crashed) or (self._trouble.number > 0 and self.operations >= self._trouble.first)

    def survivors(self, folder: Path) -> None:
        """Write what the crash left to a folder."""
        folder.mkdir()
        for name, data in self._left.items():
            (folder / name).write_bytes(data)

    def _operate(self, path: str, what: str, write: Write) -> int:
        code = self._counted(f"{what} of {os.path.basename(path)} at {write.offset}")
        if code == OK:
            self._file(path).pending.append(write)
        return code

    def _counted(self, doing: str) -> int:
        self._crash_if_due(doing)
        if self.crashed:
            return IO_ERROR
        self.operations += 1
        first, number, code = self._trouble
        return code if first <= self.operations < first + number else OK

    def _crash_if_due(self, doing: str) -> None:
        if self.operations >= self._crash_at:
            self.crash(doing, power=self._random.random() < 0.8)

    def _sync(self, file: _File) -> None:
        if not file.named:  # SQLite syncs the folder with the first sync of a new file
            self._removed.clear()
        file.sync()

    def _file(self, path: str) -> _File:
        name = os.path.basename(path)
        found = self._files.get(name)
        if found is None:
            found = self._files[name] = _File(b"", False)
        return found

    def _lose(self) -> dict[str, bytes]:
        """What is left of each file after the power has failed."""
        left = {name: bytes(file.durable) for name, file in self._removed.items() if self._random.random() < 0.5}
        for name, file in self._files.items():
            data = bytearray(file.durable)
            fate = self._random.random()  # often all or nothing of a file arrives
            for write in file.pending:
                if fate < 0.25 or (fate > 0.5 and self._random.random() < 0.5):
                    _apply(data, self._torn(write))
            if file.named or self._random.random() < 0.5:
                left[name] = bytes(data)
        return {**left, **self._marks()}

    def _torn(self, write: Write) -> Write:
        if write.data is None or self._random.random() < 0.7:
            return write
        return Write(write.offset, write.data[: self._random.randrange(len(write.data) // SECTOR + 1) * SECTOR])

    def _marks(self) -> dict[str, bytes]:
        """Files that are no databases: as they are, as they were at the start, or not there."""
        now = _contents(self._folder)
        versions = self._random.choice((now, self._mark, {}))
        return {name: data for name, data in versions.items() if not _is_database(name)}


def trouble(random: Random, operations: int) -> Trouble:
    """Perhaps a disk that is full or fails for a while."""
    if random.random() < 0.5:
        return Trouble(0, 0, OK)
    return Trouble(random.randrange(operations), random.randint(1, 8), random.choice((FULL, FULL, IO_ERROR)))


def _is_database(name: str) -> bool:
    return name.endswith((".db", "-wal", "-journal", "-shm"))


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def _apply(data: bytearray, write: Write) -> None:
    if write.data is None:
        del data[write.offset :]
        return
    if len(data) < write.offset:
        data.extend(bytes(write.offset - len(data)))
    data[write.offset : write.offset + len(write.data)] = write.data
