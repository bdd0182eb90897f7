"""`karmada backup` and `karmada restore`: one file with everything that makes a federation itself.

A running federation can be saved: all databases are copied as of one moment, at which none of them is written, so what
a member has, the control plane knows. Keys, ports and the format go along, so a restored federation has the same
identity, and members believe it. A restore is all or nothing: it is staged and verified in the directory itself, then
renamed; `up` refuses a directory in which that was interrupted. Nothing is restored over something that is there.
"""

import errno
import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from karmada.apiserver.storage.base import StorageFailed
from karmada.apiserver.storage.sqlite.backup import Cut, restore
from karmada.machinery.os_errors import spelled
from karmada.standalone.layout import FORMAT, Layout, LayoutError

_MARK, _PORT = "format", "port"
_LEFT_OUT = (".lock", "-wal", "-shm", ".partial", ".pid", ".log", ".mark", ".sqlite", "fleet.json")
"""What belongs to running processes only, or to the databases in place."""
_FAILURES = (OSError, EOFError, zlib.error, tarfile.TarError, StorageFailed)


def save(layout: Layout, target: Path, *, plain: bool = False) -> None:
    """Write a federation, running or not, to a new file; the file appears when it is complete.

    A `plain` one can be restored by earlier versions too.
    """
    layout.refuse_unfinished()
    if not layout.control_plane.is_dir():
        raise LayoutError(f"there is no federation in {layout.root}")
    if target.exists():
        raise LayoutError(f"{target} exists already: choose another name")
    if not target.parent.is_dir():
        raise LayoutError(f"there is no directory {target.parent}: make it, or choose another place for the backup")
    draft = target.with_name(f"{target.name}.partial")
    try:
        files = list(_files(layout))
        with (
            tempfile.TemporaryDirectory(prefix=".karmada-backup-", dir=target.parent) as folder,
            Cut([path for path, _ in files if path.suffix == ".db"]) as cut,
        ):
            draft.touch(0o600)
            with tarfile.open(draft, "w:gz") as archive:
                archive.add(layout.root / _MARK, _MARK)
                for path, name in files:
                    if path.suffix == ".db":
                        copy = Path(folder) / "copy.db"
                        cut.copy(path, copy, plain=plain)
                        archive.add(copy, name)
                        copy.unlink()
                    else:
                        archive.add(path, name)
        draft.replace(target)
    except _FAILURES as error:
        raise LayoutError(f"the backup was not written: {_reason(error, target.parent)}") from error
    finally:
        draft.unlink(missing_ok=True)


def load(layout: Layout, source: Path, *, new_ports: bool = False, members: bool = True) -> None:
    """Make a federation from a backup, in a directory that has none; all of it, or nothing.

    With `new_ports` it takes other ports when it starts: the original may run on the same machine. Without `members`
    only the control plane is restored, where there is none, and members that are there stay as they are.
    """
    staging = _Staging.everything(layout) if members else _Staging.hub(layout)
    other = layout.restoring_hub if members else layout.restoring
    if other.exists():
        layout.refuse_unfinished()
    if not staging.folder.exists() and any(folder.is_dir() and any(folder.iterdir()) for folder in staging.parts):
        what = "a federation" if members else "a control plane"
        raise LayoutError(f"{layout.root} has {what} already: choose another directory with --data")
    try:
        layout.prepare(restoring=True)
        with layout.lock():
            _restore(staging, source, new_ports)
    except _FAILURES as error:
        raise LayoutError(f"{source} was not restored: {_reason(error, layout.root)}") from error


def unpack(archive: tarfile.TarFile, folder: Path) -> None:
    """Write files and directories of an archive into a folder, for its owner only; other entries, and names that lead
    outside, are refused. `tarfile`'s own filters are not in Python 3.11.0 to 3.11.3."""
    for entry in archive:
        name = PurePosixPath(entry.name)
        if name.is_absolute() or ".." in name.parts or not (entry.isdir() or entry.isfile()):
            raise tarfile.ExtractError(f"{entry.name} is neither a file nor a directory inside")
        target = folder / name
        parent = target if entry.isdir() else target.parent
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        content = archive.extractfile(entry)
        if content is not None:
            with content, open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                shutil.copyfileobj(content, file)


class _Staging(NamedTuple):
    """Where a restore is prepared, and the directories that it makes."""

    folder: Path
    parts: tuple[Path, ...]

    @classmethod
    def everything(cls, layout: Layout) -> "_Staging":
        return cls(layout.restoring, (layout.members, layout.control_plane))

    @classmethod
    def hub(cls, layout: Layout) -> "_Staging":
        return cls(layout.restoring_hub, (layout.control_plane,))


def _restore(staging: _Staging, source: Path, new_ports: bool) -> None:
    staged = staging.folder
    _discard(staging)
    staged.mkdir(mode=0o700)
    try:
        with tarfile.open(source) as archive:
            unpack(archive, staged)
        _verify(staged, source)
        for port in staged.rglob(_PORT) if new_ports else ():
            port.unlink()
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise
    for folder in staging.parts:  # an interruption from here on leaves the staged directory, which `up` refuses
        new = staged / folder.name
        if new.is_dir():
            folder.rmdir()
            new.rename(folder)
    _sync(staged.parent)
    shutil.rmtree(staged)


def _discard(staging: _Staging) -> None:
    """Remove what an interrupted restore left: all there is came from it, for nothing is restored over anything."""
    if staging.folder.exists():
        for folder in staging.parts:
            shutil.rmtree(folder)
            folder.mkdir(mode=0o700)
        shutil.rmtree(staging.folder)


def _verify(staged: Path, source: Path) -> None:
    """Bring what was extracted into the state in which a federation starts, or say what is wrong with it."""
    try:
        found = int((staged / _MARK).read_text())
    except (OSError, ValueError):
        raise LayoutError(f"{source} is not a backup of a federation") from None
    if found > FORMAT:
        raise LayoutError(f"{source} was made by a newer version (format {found}): use that version")
    for path in sorted(path for path in staged.rglob("*") if path.is_file()):
        path.chmod(0o600)
        if path.suffix == ".db":
            copy = path.replace(path.with_name(f"{path.name}.saved"))
            restore(copy, path)
            copy.unlink()
        _sync(path)
    for folder in (staged, *(path for path in staged.rglob("*") if path.is_dir())):
        folder.chmod(0o700)
        _sync(folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _files(layout: Layout) -> Iterator[tuple[Path, str]]:
    for folder in (layout.control_plane, layout.members):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.name.endswith(_LEFT_OUT):
                yield path, str(path.relative_to(layout.root))


def _reason(error: BaseException, folder: Path) -> str:
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return f"there is not enough space in {folder}"
    if isinstance(error, tarfile.TarError | EOFError | zlib.error):
        return "it is no backup, or only a part of one"
    return spelled(error) or type(error).__name__
