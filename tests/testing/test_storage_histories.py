"""Histories of a store on a disk with faults are linearizable and their watches whole; planted bugs are found out."""

from pathlib import Path
from random import Random

import pytest

from karmada.apiserver.storage.sqlite import SqliteStorage
from karmada.machinery.transport import EventType
from karmada.testing.histories.check import check
from karmada.testing.histories.disk import Disk, Trouble
from karmada.testing.histories.record import Commit, History, Outcome, Read, Seen, Stream, Write, value
from karmada.testing.histories.vfs import FULL, OK, reachable
from karmada.testing.scenarios.storage import explore
from karmada.testing.world import Broken

ENOUGH = 200
HEALTHY = Trouble(0, 0, OK)

needs_vfs = pytest.mark.skipif(not reachable(), reason="Python's SQLite cannot be given a file system of ours")


@needs_vfs
@pytest.mark.parametrize("first", range(0, 50, 10), ids="seeds from {}".format)
def test_histories_with_faults_are_linearizable_and_their_watches_whole(first: int) -> None:
    for seed in range(first, first + 10):
        explore(seed)


@needs_vfs
def test_the_same_seed_is_the_same_history() -> None:
    assert explore(3) == explore(3)


def explore_many(planted: type[SqliteStorage]) -> None:
    for seed in range(ENOUGH):
        explore(seed, planted)


class CompactsOneTooMany(SqliteStorage):
    """Forgets, with a compaction, the first change after it."""

    forgotten = 0

    async def compact(self, revision):
        self.forgotten = revision
        await super().compact(revision)

    async def history(self, prefix, after, until):
        changes = await super().history(prefix, after, until)
        return [change for change in changes if not after <= self.forgotten == change.revision - 1]


class SilentWhileCompacting(SqliteStorage):
    """Does not call its listener with what is committed during a compaction."""

    compacting = False

    async def open(self, listener):
        forward = listener.committed

        class Deaf:
            replaced, shrunk = listener.replaced, listener.shrunk

            @staticmethod
            def committed(changes, revision):
                forward([] if self.compacting else changes, revision)

        return await super().open(Deaf())

    async def compact(self, revision):
        self.compacting = True
        try:
            await super().compact(revision)
        finally:
            self.compacting = False


class ResumesOneLate(SqliteStorage):
    """Repeats history from one revision too late."""

    async def history(self, prefix, after, until):
        return await super().history(prefix, after + 1, until)


class DoesNotSync(SqliteStorage):
    """Answers when a write is in the kernel's hands."""

    async def open(self, listener):
        snapshot = await super().open(listener)
        self._writer._db.execute("PRAGMA synchronous = NORMAL")
        return snapshot


class IgnoresExpectations(SqliteStorage):
    """Overwrites whatever is there."""

    async def put(self, key, value, expected, context=None):
        return await super().put(key, value, self._heads.get(key, 0), context)


class DropsWhatIsShared(SqliteStorage):
    """Removes a base when all but one of its objects have gone."""

    async def open(self, listener):
        snapshot = await super().open(listener)
        bases = self._writer._bases
        collect = bases.collect

        def too_much(db):
            if bases._known:
                db.execute("UPDATE base SET uses = 0 WHERE uses = 1")
            collect(db)

        bases.collect = too_much
        return snapshot


class ConfusesWhatIsShared(SqliteStorage):
    """Says of the objects of a base that they are the same."""

    async def open(self, listener):
        forward = listener.shrunk

        class Confused:
            replaced, committed = listener.replaced, listener.committed

            @staticmethod
            def shrunk(records):
                forward([record._replace(value=records[0].value) for record in records])

        return await super().open(Confused())


@needs_vfs
@pytest.mark.parametrize(
    "planted",
    [
        CompactsOneTooMany,
        SilentWhileCompacting,
        ResumesOneLate,
        DoesNotSync,
        IgnoresExpectations,
        DropsWhatIsShared,
        ConfusesWhatIsShared,
    ],
)
def test_a_planted_bug_is_found(planted: type[SqliteStorage]) -> None:
    with pytest.raises(Broken, match=r"seed \d+: storage"):
        explore_many(planted)


# The disk.


def disk(folder: Path, seed: int = 0, crash_at: int = 10**9, trouble: Trouble = HEALTHY) -> Disk:
    return Disk(folder, Random(seed), crash_at, trouble, lambda: None)


def left(tmp_path: Path, seed: int, *, power: bool) -> bytes:
    """What is in a file after two sectors were synced and three written."""
    folder = tmp_path / f"{seed}-{power}"
    folder.mkdir()
    path = folder / "store.db"
    made = disk(folder, seed)
    assert made.write(str(path), 0, b"a" * 1024) == OK
    assert made.sync(str(path)) == OK
    assert made.write(str(path), 512, b"b" * 1536) == OK
    path.write_bytes(b"a" * 512 + b"b" * 1536)
    made.crash("a test", power)
    made.survivors(folder / "left")
    return (folder / "left" / "store.db").read_bytes()


def test_what_was_not_synced_survives_a_power_failure_wholly_in_part_or_not(tmp_path: Path) -> None:
    found = {left(tmp_path, seed, power=True) for seed in range(60)}

    assert all(data.startswith(b"a" * 512) for data in found)
    assert {len(data) for data in found} == {1024, 1536, 2048}
    assert b"a" * 1024 in found


def test_what_was_written_survives_the_death_of_a_process(tmp_path: Path) -> None:
    assert left(tmp_path, 1, power=False) == b"a" * 512 + b"b" * 1536


def test_a_full_disk_refuses_some_operations_and_then_goes_on(tmp_path: Path) -> None:
    made = disk(tmp_path, trouble=Trouble(2, 2, FULL))

    assert [made.write(str(tmp_path / "store.db"), 0, b"x") for _ in range(4)] == [OK, FULL, FULL, OK]


def test_nothing_is_written_after_a_crash(tmp_path: Path) -> None:
    made = disk(tmp_path, crash_at=1)
    path = str(tmp_path / "store.db")

    assert made.sync(path) == OK
    assert made.write(path, 0, b"x") != OK
    assert made.sync(path) != OK
    assert made.crashed


# The checks, on histories made by hand.

KEY = "/core/configmaps/a/x"


def body(text: str, revision: int, color: str = "red") -> bytes:
    return value(text, color).at(revision)


def history_of(*writes: tuple[str, int, Outcome, int], commits: tuple[int, ...]) -> History:
    """Writes of one key one after the other, given as text, expected, outcome, revision."""
    history = History()
    for text, expected, outcome, revision in writes:
        history.writes.append(Write(KEY, text, expected, False, history.tick(), history.tick(), outcome, revision))
    history.commits = [Commit(revision, KEY, body(f"w{revision}", revision)) for revision in commits]
    return history


@pytest.mark.parametrize(
    ("history", "problem"),
    [
        (history_of(("w3", 0, Outcome.DONE, 3), ("w4", 3, Outcome.DONE, 4), commits=(3, 4)), ""),
        (history_of(("w3", 0, Outcome.DONE, 3), ("w4", 3, Outcome.UNKNOWN, 0), commits=(3,)), ""),
        (history_of(("w3", 0, Outcome.DONE, 3), ("w4", 3, Outcome.UNKNOWN, 0), commits=(3, 4)), ""),
        (history_of(("w3", 0, Outcome.DONE, 3), ("w4", 0, Outcome.CONFLICT, 3), commits=(3,)), ""),
        (history_of(("w3", 0, Outcome.DONE, 3), commits=()), "acknowledged, but lost"),
        (history_of(("other", 0, Outcome.DONE, 3), commits=(3,)), "another value"),
        (history_of(commits=(3,)), "nobody wrote"),
        (history_of(("w3", 0, Outcome.FAILED, 0), commits=(3,)), "answered otherwise"),
        (history_of(("w3", 0, Outcome.CONFLICT, 1), commits=(3,)), "answered otherwise"),
        (
            history_of(("w3", 0, Outcome.DONE, 3), ("w4", 0, Outcome.DONE, 4), commits=(3, 4)),
            "although the key was at 3",
        ),
        (history_of(("w4", 0, Outcome.DONE, 4), ("w3", 4, Outcome.DONE, 3), commits=(3, 4)), "before it was asked for"),
        (history_of(("w3", 0, Outcome.CONFLICT, 0), commits=()), "very revision that was expected"),
        (history_of(("w3", 0, Outcome.DONE, 3), ("w4", 3, Outcome.DONE, 4), commits=(4, 3)), "was committed after 4"),
    ],
)
def test_answers_to_writes_are_explained_by_the_commits(history: History, problem: str) -> None:
    problems = check(history)

    assert any(problem in found for found in problems) if problem else problems == []


def test_a_write_that_failed_may_take_effect_when_the_process_dies_and_not_before() -> None:
    crashed = history_of(("w3", 0, Outcome.FAILED, 0), commits=())
    crashed.recovered([Commit(3, KEY, body("w3", 3))])
    lived = history_of(("w3", 0, Outcome.FAILED, 0), commits=(3,))

    assert check(crashed) == []
    assert "answered otherwise" in check(lived)[0]


@pytest.mark.parametrize(
    ("revision", "found", "problem"),
    [
        (4, {KEY: body("w4", 4)}, ""),
        (3, {KEY: body("w3", 3)}, "stale"),
        (4, {}, "differs"),
        (4, {KEY: body("w3", 3)}, "differs"),
        (4, {KEY: body("w4", 4), f"{KEY}y": body("w9", 4)}, "differs"),
    ],
)
def test_reads_show_all_that_was_acknowledged_before_them(revision: int, found: dict[str, bytes], problem: str) -> None:
    history = history_of(("w3", 0, Outcome.DONE, 3), ("w4", 3, Outcome.DONE, 4), commits=(3, 4))
    history.reads.append(Read("/core/configmaps/", history.tick(), history.tick(), revision, found, True))

    problems = check(history)

    assert any(problem in each for each in problems) if problem else problems == []


def seen(revision: int, type_: EventType = EventType.MODIFIED, color: str = "red") -> Seen:
    return Seen(type_, KEY, revision, body(f"w{revision}", revision, color))


def mark(revision: int) -> Seen:
    return Seen(EventType.BOOKMARK, "", revision, b"")


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ([seen(4), seen(5), mark(5), seen(6)], ""),
        ([seen(4), mark(4), mark(5)], "a bookmark at 5 before MODIFIED"),
        ([seen(4), seen(6)], "instead of MODIFIED /core/configmaps/a/x@5"),
        ([seen(4), seen(4)], "repeated or out of order"),
        ([seen(5), seen(4)], "instead of"),
        ([seen(4), seen(5)], "@6 never came"),
        ([seen(4), seen(5), seen(6), mark(5)], "a bookmark at 5 after 6"),
        ([seen(4, EventType.ADDED)], "instead of"),
        ([seen(4), seen(5), seen(6), seen(7)], "instead of nothing"),
    ],
)
def test_watches_are_in_order_without_gap_or_repeat(events: list[Seen], problem: str) -> None:
    writes = [(f"w{number}", number - 1 if number > 3 else 0, Outcome.DONE, number) for number in range(3, 7)]
    history = history_of(*writes, commits=(3, 4, 5, 6))
    history.streams.append(Stream("/core/configmaps/", None, 3, False, events, complete_until=6))

    problems = check(history)

    assert any(problem in each for each in problems) if problem else problems == []


def test_a_watch_with_a_selector_sees_objects_come_and_go() -> None:
    history = history_of(("w3", 0, Outcome.DONE, 3), ("w4", 3, Outcome.DONE, 4), ("w5", 4, Outcome.DONE, 5), commits=())
    colors = {3: "red", 4: "blue", 5: "red"}
    history.commits = [Commit(number, KEY, body(f"w{number}", number, color)) for number, color in colors.items()]
    events = [seen(3, EventType.ADDED), seen(4, EventType.DELETED), seen(5, EventType.ADDED)]
    history.streams.append(Stream("/core/configmaps/", "red", 3, True, events, complete_until=5))

    assert check(history) == []

    history.streams[0].events = events[:1]
    assert "DELETED /core/configmaps/a/x@4 never came" in check(history)[0]
