"""`karmada backup` and `karmada restore`: one file with everything that makes a federation itself.

Databases are copied by SQLite's own online backup, so a running federation can be saved; each is consistent as of one
commit. Keys, ports and the format go along, so a restored federation has the same identity, and members believe it.
Nothing is restored over something that is there.
"""

import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from karmada.apiserver.storage.sqlite.backup import backup, restore
from karmada.apiserver.storage.sqlite.database import Unusable
from karmada.standalone.layout import FORMAT, Layout, LayoutError

_MARK = "format"
_LEFT_OUT = (".lock", "-wal", "-shm", ".partial", ".pid", ".log", "fleet.json")
"""What belongs to running processes only."""


def save(layout: Layout, target: Path) -> None:
    """Write a federation, running or not, to a new file; the file appears when it is complete."""
    if not layout.control_plane.is_dir():
        raise LayoutError(f"there is no federation in {layout.root}")
    if target.exists():
        raise LayoutError(f"{target} exists already: choose another name")
    draft = target.with_name(f"{target.name}.partial")
    try:
        with tempfile.TemporaryDirectory(prefix="karmada-backup-") as folder:
            draft.touch(0o600)
            with tarfile.open(draft, "w:gz") as archive:
                archive.add(layout.root / _MARK, _MARK)
                for number, (path, name) in enumerate(_files(layout)):
                    if path.suffix == ".db":
                        copy = Path(folder) / f"{number}.db"
                        backup(path, copy)
                        path = copy
                    archive.add(path, name)
        draft.replace(target)
    except (OSError, Unusable) as error:
        raise LayoutError(f"the backup was not written: {error}") from error
    finally:
        draft.unlink(missing_ok=True)


def load(layout: Layout, source: Path) -> None:
    """Make a federation from a backup, in a directory that has none."""
    if layout.control_plane.is_dir() and any(layout.control_plane.iterdir()):
        raise LayoutError(f"{layout.root} has a federation already: choose another directory with --data")
    try:
        with tempfile.TemporaryDirectory(prefix="karmada-restore-") as folder, tarfile.open(source) as archive:
            archive.extractall(folder, filter="data")
            _put(layout, Path(folder), source)
    except (OSError, tarfile.TarError, Unusable) as error:
        raise LayoutError(f"{source} was not restored: {error}") from error


def _put(layout: Layout, folder: Path, source: Path) -> None:
    try:
        found = int((folder / _MARK).read_text())
    except (OSError, ValueError):
        raise LayoutError(f"{source} is not a backup of a federation") from None
    if found > FORMAT:
        raise LayoutError(f"{source} was made by a newer version (format {found}): use that version")
    layout.prepare()
    with layout.lock():
        for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.name != _MARK):
            target = layout.root / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if path.suffix == ".db":
                restore(path, target)
            else:
                target.touch(0o600)
                target.write_bytes(path.read_bytes())


def _files(layout: Layout) -> Iterator[tuple[Path, str]]:
    for folder in (layout.control_plane, layout.members):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.name.endswith(_LEFT_OUT):
                yield path, str(path.relative_to(layout.root))
