"""Backups that are made by the clock, and proof that a backup can be restored.

`verified` restores a backup into a scratch directory beside it and reads every object. `Schedule` makes a verified
backup whenever the newest is older than an interval, and keeps the newest ones; a backup that fails is reported, and
no older one goes for it. It deletes files of its own naming only.
"""

import asyncio
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson

from karmada.apiserver.storage.base import StorageFailed
from karmada.apiserver.storage.delta import whole
from karmada.apiserver.storage.sqlite import database
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.os_errors import spelled
from karmada.standalone.archive import load, save
from karmada.standalone.layout import Layout, LayoutError

SCRATCH = ".karmada-verify-"
AGAIN = 60.0
"""Seconds after which a backup that failed is tried again, if the interval is not shorter."""
_NAME = re.compile(r"karmada-(\d{8}T\d{6}Z)\.tar\.gz")
_STAMP = "%Y%m%dT%H%M%SZ"


def verified(source: Path) -> dict[str, int]:
    """Restore a backup into a scratch directory and read all of it: objects by database; raises `LayoutError`."""
    with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=source.absolute().parent) as folder:
        layout = Layout(Path(folder))
        load(layout, source)
        found = {}
        for path in layout.databases():
            try:
                found[str(path.parent.relative_to(layout.root))] = _objects(path)
            except (StorageFailed, orjson.JSONDecodeError) as error:
                raise LayoutError(f"{source} cannot be used: {path.name} holds what cannot be read: {error}") from error
        if "control-plane" not in found:
            raise LayoutError(f"{source} cannot be used: it has no database of a control plane")
        return found


def _objects(path: Path) -> int:
    db = database.connect(path)
    try:
        records = database.load(db).records
        for record in records:
            orjson.loads(whole(record.value))
        return len(records)
    finally:
        db.close()


@dataclass(frozen=True, slots=True)
class Schedule:
    """Makes backups of one federation."""

    layout: Layout
    folder: Path
    every: float
    keep: int
    notice: Callable[[str], None]
    clock: Clock = REAL

    async def run(self) -> None:
        """Make backups until cancelled."""
        while True:
            await self.clock.sleep(self.wait())
            try:
                await asyncio.to_thread(self.make)
            except (LayoutError, OSError) as error:
                self.notice(f"no backup was made: {spelled(error)}")
                await self.clock.sleep(min(AGAIN, self.every))

    def wait(self) -> float:
        """Seconds until the next backup is due."""
        newest = max((_time_of(path) for path in self.backups()), default=0.0)
        return max(0.0, min(self.every, newest + self.every - self.clock.now()))

    def backups(self) -> list[Path]:
        """What there is, the newest first."""
        found = self.folder.glob("karmada-*.tar.gz") if self.folder.is_dir() else ()
        return sorted((path for path in found if _NAME.fullmatch(path.name)), reverse=True)

    def make(self) -> Path:
        """Make one backup, verify it, and delete the oldest."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._sweep()
        stamp = datetime.fromtimestamp(self.clock.now(), UTC).strftime(_STAMP)
        target = self.folder / f"karmada-{stamp}.tar.gz"
        save(self.layout, target)
        try:
            verified(target)
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        for old in self.backups()[self.keep :]:
            old.unlink(missing_ok=True)
        return target

    def _sweep(self) -> None:
        """Remove what a process that was killed left: this one is the only one at work here."""
        for left in self.folder.glob(".karmada-*"):
            shutil.rmtree(left, ignore_errors=True)
        for left in self.folder.glob("karmada-*.tar.gz.partial"):
            left.unlink(missing_ok=True)


def _time_of(path: Path) -> float:
    found = _NAME.fullmatch(path.name)
    assert found
    return datetime.strptime(found[1], _STAMP).replace(tzinfo=UTC).timestamp()
