"""Backups are one moment of a whole federation; a restore is all or nothing."""

import sqlite3
import tarfile
import threading
from pathlib import Path

import pytest

from karmada.apiserver.storage.sqlite.database import Row, append, connect
from karmada.standalone.archive import load, save
from karmada.standalone.layout import Layout, LayoutError

HUB, MEMBER = "control-plane/karmada.db", "members/member1/objects.db"


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A federation that does not run."""
    layout = Layout(tmp_path / "federation")
    layout.prepare()
    (layout.members / "member1").mkdir()
    for name in (HUB, MEMBER):
        db = connect(layout.root / name)
        append(db, [Row(revision, f"/{revision}", 0, False, b"x" * 100_000) for revision in range(3, 43)])
        db.close()
    (layout.control_plane / "port").write_text("6443")
    return layout


def newest(path: Path) -> int:
    db = sqlite3.connect(path)
    try:
        return int(db.execute("SELECT max(revision) FROM log").fetchone()[0])
    finally:
        db.close()


def test_a_backup_under_load_is_one_moment_of_control_plane_and_members(layout: Layout, tmp_path: Path) -> None:
    """What a member has, the control plane knows; what it knows of a moment ago, the member has."""
    stopping, busy = threading.Event(), threading.Event()

    def propagate() -> None:
        hub, member = (connect(layout.root / name) for name in (HUB, MEMBER))
        revision = 43
        while not stopping.is_set():
            for db in (hub, member):
                append(db, [Row(revision, f"/{revision}", 0, False, b"x")])
            revision += 1
            busy.set()
        hub.close()
        member.close()

    load_generator = threading.Thread(target=propagate)
    load_generator.start()
    busy.wait(30)
    try:
        for number in range(3):
            save(layout, tmp_path / f"{number}.tar.gz")
    finally:
        stopping.set()
        load_generator.join()
    for number in range(3):
        restored = Layout(tmp_path / f"restored-{number}")
        load(restored, tmp_path / f"{number}.tar.gz")
        hub, member = newest(restored.root / HUB), newest(restored.root / MEMBER)
        assert hub >= 43
        assert hub - 1 <= member <= hub


def test_a_backup_into_a_directory_that_is_not_there_names_it(layout: Layout, tmp_path: Path) -> None:
    with pytest.raises(LayoutError, match=f"^there is no directory {tmp_path / 'absent'}: make it, or choose another"):
        save(layout, tmp_path / "absent" / "saved.tar.gz")


def test_a_restored_directory_has_everything_and_is_its_owners_only(layout: Layout, tmp_path: Path) -> None:
    save(layout, tmp_path / "saved.tar.gz")
    restored = Layout(tmp_path / "restored")
    load(restored, tmp_path / "saved.tar.gz")
    assert (restored.control_plane / "port").read_text() == "6443"
    assert not restored.restoring.exists()
    found = [path for path in restored.root.rglob("*") if path.name not in ("lock", "format")]
    assert {oct(path.stat().st_mode & 0o777) for path in found} == {"0o600", "0o700"}
    restored.prepare()


@pytest.mark.parametrize("kept", [0.3, 0.9, 0.999])
def test_a_truncated_backup_leaves_the_directory_empty(layout: Layout, tmp_path: Path, kept: float) -> None:
    source = tmp_path / "saved.tar.gz"
    save(layout, source)
    whole = source.read_bytes()
    source.write_bytes(whole[: int(len(whole) * kept)])
    restored = Layout(tmp_path / "restored")
    with pytest.raises(LayoutError, match=r"saved.tar.gz was not restored"):
        load(restored, source)
    assert not any(restored.control_plane.iterdir())
    assert not any(restored.members.iterdir())
    restored.prepare()
    source.write_bytes(whole)
    load(restored, source)
    assert newest(restored.root / HUB) == 42


def test_a_backup_with_a_spoilt_database_leaves_the_directory_empty(layout: Layout, tmp_path: Path) -> None:
    source = tmp_path / "saved.tar.gz"
    (layout.root / MEMBER).write_bytes(b"garbage" * 10_000)
    with tarfile.open(source, "w:gz") as archive:
        for name in ("format", HUB, MEMBER):
            archive.add(layout.root / name, name)
    restored = Layout(tmp_path / "restored")
    with pytest.raises(LayoutError, match=r"objects.db.* is corrupt or not a database"):
        load(restored, source)
    assert not any(restored.control_plane.iterdir())
    restored.prepare()


@pytest.mark.parametrize("way", ["up", "link", "hard link", "absolute"])
def test_a_backup_whose_names_lead_outside_writes_nothing_there(layout: Layout, tmp_path: Path, way: str) -> None:
    """CVE-2024-56514: names of an archive that became paths."""
    source, target = tmp_path / "saved.tar.gz", tmp_path / "outside"
    target.mkdir()
    (target / "kept").write_text("as it was")
    (tmp_path / "evil").write_text("evil")
    with tarfile.open(source, "w:gz") as archive:
        for name in ("format", HUB, MEMBER):
            archive.add(layout.root / name, name)
        if way in ("link", "hard link"):
            linked = tarfile.TarInfo("control-plane/way")
            linked.type = tarfile.SYMTYPE if way == "link" else tarfile.LNKTYPE
            linked.linkname = str(target if way == "link" else target / "kept")
            archive.addfile(linked)
        names = {
            "up": "../../outside/kept",
            "link": "control-plane/way/kept",
            "hard link": "control-plane/way",
            "absolute": str(target / "kept"),
        }
        added = archive.gettarinfo(tmp_path / "evil")
        added.name = names[way]
        with (tmp_path / "evil").open("rb") as content:
            archive.addfile(added, content)
    restored = Layout(tmp_path / "restored")
    with pytest.raises(LayoutError, match=r"saved.tar.gz was not restored"):
        load(restored, source)
    assert not any(restored.control_plane.iterdir())
    assert (target / "kept").read_text() == "as it was"
    assert [path.name for path in target.iterdir()] == ["kept"]


def test_an_interrupted_restore_is_refused_until_it_is_repeated(layout: Layout, tmp_path: Path) -> None:
    save(layout, tmp_path / "saved.tar.gz")
    restored = Layout(tmp_path / "restored")
    load(restored, tmp_path / "saved.tar.gz")
    restored.restoring.mkdir()
    restored.control_plane.rename(restored.restoring / "control-plane")  # members had been renamed when it died
    with pytest.raises(LayoutError, match=r"was not finished: run `karmada restore FILE --data .*restored` again"):
        restored.prepare()
    with pytest.raises(LayoutError, match="was not finished"):
        save(restored, tmp_path / "other.tar.gz")
    load(restored, tmp_path / "saved.tar.gz")
    restored.prepare()
    assert newest(restored.root / HUB) == newest(restored.root / MEMBER) == 42


def test_nothing_is_restored_over_members_without_a_control_plane(layout: Layout, tmp_path: Path) -> None:
    save(layout, tmp_path / "saved.tar.gz")
    other = Layout(tmp_path / "other")
    other.prepare()
    (other.members / "member7").mkdir()
    with pytest.raises(LayoutError, match="has a federation already"):
        load(other, tmp_path / "saved.tar.gz")
    assert (other.members / "member7").is_dir()
