"""A backup counts when it was restored once; the schedule keeps the newest, and nobody else's files go."""

import asyncio
from pathlib import Path

import pytest

from karmada.apiserver.storage.sqlite.database import Row, append, connect
from karmada.standalone.archive import load, save
from karmada.standalone.backups import Schedule, verified
from karmada.standalone.layout import Layout, LayoutError
from karmada.testing.loop import VirtualClock

HUB, MEMBER = "control-plane/karmada.db", "members/member1/objects.db"


class Clock(VirtualClock):
    """Stands where it is put."""

    moment = 1_700_000_000.0

    def now(self) -> float:
        return self.moment


def write(path: Path, *values: bytes) -> None:
    db = connect(path)
    append(db, [Row(revision, f"/{revision}", 0, False, value) for revision, value in enumerate(values, 3)])
    db.close()


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path / "federation")
    layout.prepare()
    (layout.members / "member1").mkdir()
    write(layout.root / HUB, b'{"kind":"ConfigMap"}', b'{"kind":"Secret"}')
    write(layout.root / MEMBER, b'{"kind":"Pod"}')
    for name in ("control-plane", "members/member1"):
        (layout.root / name / "port").write_text("21000")
    return layout


def schedule(layout: Layout, keep: int = 2) -> tuple[Schedule, Clock, list[str]]:
    clock, messages = Clock(), []
    return Schedule(layout, layout.root / "backups", 3600.0, keep, messages.append, clock), clock, messages


def test_a_backup_is_restored_and_read_to_verify_it(layout: Layout, tmp_path: Path) -> None:
    save(layout, tmp_path / "saved.tar.gz")
    assert verified(tmp_path / "saved.tar.gz") == {"control-plane": 2, "members/member1": 1}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["federation", "saved.tar.gz"]


def test_a_backup_of_what_cannot_be_read_is_refused(layout: Layout, tmp_path: Path) -> None:
    db = connect(layout.root / MEMBER)
    append(db, [Row(9, "/9", 0, False, b"\x00 torn")])
    db.close()
    save(layout, tmp_path / "saved.tar.gz")
    with pytest.raises(LayoutError, match=r"saved.tar.gz cannot be used: objects.db holds what cannot be read"):
        verified(tmp_path / "saved.tar.gz")


def test_the_newest_backups_are_kept_and_strangers_files_too(layout: Layout) -> None:
    backups, clock, _ = schedule(layout)
    backups.folder.mkdir()
    for stranger in ("karmada-before-upgrade.tar.gz", "notes.txt"):
        (backups.folder / stranger).touch()
    (backups.folder / "karmada-20231114T000000Z.tar.gz.partial").touch()  # of a process that was killed
    for _ in range(3):
        clock.moment += 3600
        backups.make()
    assert sorted(path.name for path in backups.folder.iterdir()) == [
        "karmada-20231115T001320Z.tar.gz",
        "karmada-20231115T011320Z.tar.gz",
        "karmada-before-upgrade.tar.gz",
        "notes.txt",
    ]
    assert oct(backups.backups()[0].stat().st_mode & 0o777) == "0o600"


def test_a_backup_is_due_when_the_newest_is_old_enough_whoever_restarted_meanwhile(layout: Layout) -> None:
    backups, clock, _ = schedule(layout)
    assert backups.wait() == 0
    backups.make()
    clock.moment += 600
    assert schedule(layout)[0].wait() == 3600
    assert backups.wait() == 3000
    clock.moment += 86400
    assert backups.wait() == 0
    clock.moment -= 10 * 86400  # set back: not for ever
    assert backups.wait() == 3600


async def test_a_backup_that_fails_costs_no_older_one_and_is_tried_again(layout: Layout) -> None:
    backups, clock, messages = schedule(layout, keep=1)
    kept = backups.make()
    good = (layout.root / HUB).read_bytes()
    (layout.root / HUB).write_bytes(b"garbage" * 1000)
    clock.moment += 3600
    slept = asyncio.Event()

    class Waiting(Clock):
        moment = clock.moment

        async def sleep(self, seconds: float) -> None:
            if seconds == 60.0:
                slept.set()
                await asyncio.Event().wait()

    failing = Schedule(layout, backups.folder, 3600.0, 1, messages.append, Waiting())
    running = asyncio.ensure_future(failing.run())
    await slept.wait()
    running.cancel()
    assert backups.backups() == [kept]
    assert [text[:19] for text in messages] == ["no backup was made:"]
    (layout.root / HUB).write_bytes(good)
    assert backups.make() != kept
    assert len(backups.backups()) == 1


def test_a_control_plane_alone_is_restored_beside_its_members(layout: Layout, tmp_path: Path) -> None:
    save(layout, tmp_path / "saved.tar.gz")
    with pytest.raises(LayoutError, match="has a control plane already"):
        load(layout, tmp_path / "saved.tar.gz", members=False)
    for path in layout.control_plane.iterdir():
        path.unlink()
    member = (layout.root / MEMBER).read_bytes()
    load(layout, tmp_path / "saved.tar.gz", members=False, new_ports=True)
    assert (layout.root / HUB).exists()
    assert not (layout.control_plane / "port").exists()
    assert (layout.members / "member1" / "port").exists()
    assert (layout.root / MEMBER).read_bytes() == member


def test_an_interrupted_restore_of_the_control_plane_never_costs_members(layout: Layout, tmp_path: Path) -> None:
    save(layout, tmp_path / "saved.tar.gz")
    layout.restoring_hub.mkdir()  # died in the middle
    with pytest.raises(LayoutError, match=r"not finished: run `karmada restore FILE --data .* --control-plane-only`"):
        load(layout, tmp_path / "saved.tar.gz")
    with pytest.raises(LayoutError, match="not finished"):
        layout.prepare()
    assert (layout.root / MEMBER).exists()
    load(layout, tmp_path / "saved.tar.gz", members=False)
    layout.prepare()
    assert (layout.root / MEMBER).exists()
