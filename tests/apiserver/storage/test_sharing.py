"""Objects that resemble each other take little room in a database and in memory, and reads are the same."""

import asyncio
import os
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random

import pytest

from karmada.apiserver.storage.base import Record, Value
from karmada.apiserver.storage.delta import Delta, difference, whole
from karmada.apiserver.storage.sqlite import SqliteStorage, StoredSnapshot, Unusable, backup, restore
from karmada.apiserver.storage.sqlite.sharing import Sharing, likeness_of
from karmada.apiserver.watchcache import Index, WatchCache

KIND = ("work.karmada.io", "works")
FEW = Sharing(copies=3, size=500)
MANIFEST = ",".join(f'"field{number}":"the same everywhere"' for number in range(100))


def work(cluster: int, text: str = "", manifest: str = MANIFEST) -> Value:
    tail = f'","namespace":"es-{cluster}","uid":"{cluster * 7919:032x}"}},"text":"{text}","manifest":{{{manifest}}}}}'
    return Value(b'{"metadata":{"resourceVersion":"', tail.encode())


def key(cluster: int, name: str = "web") -> str:
    return f"/work.karmada.io/works/es-{cluster}/{name}"


async def opened(path: Path, listener, sharing: Sharing = FEW) -> SqliteStorage:
    storage = SqliteStorage(path, sharing=sharing)
    listener.revision = (await storage.open(listener)).revision
    return storage


async def filled(
    path: Path, listener, clusters: int = 20, sharing: Sharing = FEW
) -> tuple[SqliteStorage, list[Record]]:
    """A store with the Works of a workload, all of them compacted."""
    storage = await opened(path, listener, sharing)
    records = [await storage.put(key(cluster), work(cluster), 0) for cluster in range(clusters)]
    await storage.compact(records[-1].revision)
    return storage, records


def counted(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def uses(path: Path) -> None:
    """Every base is used, and counted right."""
    with closing(sqlite3.connect(path)) as db:
        wrong = (
            "SELECT b.id FROM base b WHERE b.uses = 0 OR b.uses != (SELECT count(*) FROM shared s WHERE s.base = b.id)"
        )
        assert db.execute(wrong).fetchall() == []
        assert db.execute("SELECT * FROM shared WHERE base NOT IN (SELECT id FROM base)").fetchall() == []


def test_a_difference_and_its_base_are_the_object() -> None:
    random = Random(1)
    for _ in range(500):
        pieces = [random.choice((b"", b"a", b"abc", b"aaaa", b"\\", b"\xc3\xa4", b"x" * 300)) for _ in range(30)]
        other = [random.choice((piece, piece, piece, b"a", b"ba", b"aab" + piece)) for piece in pieces]
        base, body = b'"'.join(pieces), b'"'.join(other)

        changes = difference(base, body)

        assert changes is not None
        assert Delta(base, changes).whole() == body
        assert Delta(base, changes).size == len(body)


def test_objects_of_another_shape_have_no_difference() -> None:
    assert difference(b'{"a":"1"}', b'{"a":"1","b":"2"}') is None


def test_only_what_is_repeated_in_namespaces_is_alike() -> None:
    assert likeness_of("/apps/deployments/a/web") == likeness_of("/apps/deployments/b/web")
    assert likeness_of("/apps/deployments/a/web") != likeness_of("/apps/daemonsets/a/web")
    assert likeness_of("/core/nodes//n1") == likeness_of("/odd") == ""


async def test_alike_objects_take_little_room_and_are_read_as_they_were_written(tmp_path: Path, listener) -> None:
    path = tmp_path / "store.db"
    storage, records = await filled(path, listener)
    await storage.close()

    assert counted(path, "base") == 1
    assert counted(path, "log") == 0
    uses(path)
    again = SqliteStorage(path)
    snapshot = await again.open(listener)
    await again.close()
    assert [(one.key, whole(one.value), one.revision) for one in snapshot.records] == sorted(map(tuple, records))
    assert len({id(one.value.base) for one in snapshot.records if isinstance(one.value, Delta)}) == 1
    assert all(isinstance(one.value, Delta) for one in snapshot.records)


async def test_the_watch_cache_holds_what_they_have_in_common_once(tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path / "store.db", sharing=FEW)
    store = WatchCache(storage, lambda kind, body: Index("", {}, (), {}))
    await store.start()
    for cluster in range(5):
        await store.create(KIND, f"es-{cluster}", "web", work(cluster), Index(str(cluster), {}, (), {}))
    before = [item.body for item in store.list(KIND).items]
    events = store.watch(KIND, after=store.revision - 3)
    await storage.compact(store.revision)
    await asyncio.sleep(0)  # what the writing thread has said is listener in the next turn

    items = store.list(KIND).items
    assert [item.body for item in items] == before
    assert [item.size for item in items] == [len(body) for body in before]
    assert len({id(item.stored.base) for item in items if isinstance(item.stored, Delta)}) == 1
    assert [event.item.body for event in await anext(events)] == before[-3:]
    await store.stop()


async def test_an_object_that_changed_meanwhile_is_held_as_it_is(tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path / "store.db", sharing=FEW)
    store = WatchCache(storage, lambda kind, body: Index("", {}, (), {}))
    await store.start()
    item = await store.create(KIND, "es-1", "web", work(1), Index("", {}, (), {}))
    await store.update(KIND, "es-1", "web", work(1, "new"), Index("", {}, (), {}), item.revision)
    store.shrunk([Record(key(1), Delta(b"", b""), item.revision), Record(key(2), Delta(b"", b""), item.revision)])

    found = store.get(KIND, "es-1", "web")
    assert found is not None
    assert b'"text":"new"' in found.body
    await store.stop()


async def test_watches_resume_over_changes_of_objects_that_are_shared(tmp_path: Path, listener) -> None:
    storage, records = await filled(tmp_path / "store.db", listener)
    changed = await storage.put(key(0), work(0, "changed"), records[0].revision)
    await storage.delete(key(1), work(1, "last"), records[1].revision)

    first, second = await storage.history("", records[-1].revision, changed.revision + 1)

    assert first.previous is not None
    assert whole(first.previous.value) == records[0].value
    assert second.previous is not None
    assert whole(second.previous.value) == records[1].value
    await storage.close()


async def test_a_base_stays_as_long_as_something_is_a_difference_from_it(tmp_path: Path, listener) -> None:
    path = tmp_path / "store.db"
    storage, records = await filled(path, listener)
    for record in records[1:]:
        last = await storage.delete(record.key, work(0), record.revision)
    await storage.compact(last)
    uses(path)
    assert counted(path, "base") == counted(path, "shared") == 1
    last = await storage.delete(records[0].key, work(0), records[0].revision)
    await storage.compact(last)
    assert counted(path, "base") == counted(path, "shared") == 0
    fresh = [await storage.put(key(cluster), work(cluster), 0) for cluster in range(5)]
    await storage.compact(fresh[-1].revision)
    await storage.close()
    uses(path)
    assert counted(path, "base") == 1


async def test_an_edit_of_all_of_them_makes_another_base_when_it_is_large(tmp_path: Path, listener) -> None:
    path = tmp_path / "store.db"
    storage, records = await filled(path, listener)
    other = MANIFEST.replace("the same", "something else that is the same")
    edited = [
        await storage.put(record.key, work(number, "", other), record.revision) for number, record in enumerate(records)
    ]
    await storage.compact(edited[-1].revision)
    await storage.close()

    uses(path)
    assert counted(path, "base") == 1
    again = SqliteStorage(path)
    assert {whole(one.value) for one in (await again.open(listener)).records} == {one.value for one in edited}
    await again.close()


@pytest.mark.parametrize("seed", range(10))
async def test_whatever_is_written_compacted_and_reopened_is_found_again(seed: int, tmp_path: Path, listener) -> None:
    random, path = Random(seed), tmp_path / "store.db"
    expected: dict[str, Record] = {}
    for _ in range(4):
        storage = await opened(
            path, listener, Sharing(copies=random.choice((2, 3)), size=0, times=random.choice((0, 4)))
        )
        for _ in range(60):
            cluster, name = random.randrange(6), random.choice(("web", "db"))
            where = key(cluster, name)
            known = expected.get(where)
            if known is not None and random.random() < 0.2:
                last = await storage.delete(where, work(cluster), known.revision)
                del expected[where]
            else:
                made = work(cluster, random.choice(("", "a", "b" * 2000)), MANIFEST[: random.choice((0, 300, 3000))])
                expected[where] = await storage.put(where, made, known.revision if known else 0)
                last = expected[where].revision
            if random.random() < 0.1:
                await storage.compact(last - random.randrange(5))
        await storage.close()
        if counted(path, "sqlite_schema WHERE name = 'shared'"):
            uses(path)
        again = SqliteStorage(path)
        found = {
            one.key: Record(one.key, whole(one.value), one.revision) for one in (await again.open(listener)).records
        }
        await again.close()
        assert found == expected


async def test_a_file_without_anything_to_share_stays_one_of_the_format_before(tmp_path: Path, listener) -> None:
    path = tmp_path / "store.db"
    storage, _ = await filled(path, listener, clusters=7, sharing=Sharing())
    await storage.check()
    await storage.close()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
        assert {name for (name,) in db.execute("SELECT name FROM sqlite_schema")} >= {"log", "current", "meta"}
    assert counted(path, "sqlite_schema WHERE name = 'shared'") == 0


async def test_a_file_that_shares_says_so_to_earlier_versions(tmp_path: Path, listener) -> None:
    path = tmp_path / "store.db"
    storage, _ = await filled(path, listener, clusters=8, sharing=Sharing())
    await storage.close()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (2,)


async def test_a_backup_of_shared_objects_is_restored_and_read_only_as_well(tmp_path: Path, listener) -> None:
    path, copy, other = (tmp_path / name for name in ("store.db", "backup.db", "restored.db"))
    storage, records = await filled(path, listener)
    await asyncio.to_thread(backup, path, copy)
    await storage.close()
    await asyncio.to_thread(restore, copy, other)
    for reader in (SqliteStorage(other), StoredSnapshot(other, "for a test")):
        found = (await reader.open(listener)).records
        await reader.close()
        assert {(one.key, whole(one.value)) for one in found} == {(one.key, one.value) for one in records}


async def test_a_plain_backup_is_of_the_format_that_earlier_versions_read(tmp_path: Path, listener) -> None:
    path, copy = tmp_path / "store.db", tmp_path / "backup.db"
    storage, records = await filled(path, listener)
    edited = await storage.put(key(3), work(3, "edited"), records[3].revision)
    await asyncio.to_thread(partial(backup, path, copy, plain=True))
    await storage.close()
    with closing(sqlite3.connect(copy)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
    assert counted(copy, "sqlite_schema WHERE name IN ('shared', 'base', 'unused')") == 0
    reader = SqliteStorage(copy)
    found = (await reader.open(listener)).records
    (change,) = await reader.history("/", edited.revision - 1, edited.revision)
    await reader.close()
    expected = {one.key: one.value for one in records} | {edited.key: edited.value}
    assert {one.key: one.value for one in found} == expected
    assert change.previous == records[3]


@pytest.mark.parametrize(
    "spoil",
    [
        "DELETE FROM base",
        "UPDATE base SET value = x'00'",
        "UPDATE shared SET changes = substr(changes, 1, 20) WHERE revision = (SELECT max(revision) FROM shared)",
        "UPDATE shared SET changes = x'0000000190' WHERE revision = (SELECT max(revision) FROM shared)",
        "DELETE FROM shared WHERE revision = (SELECT max(revision) FROM shared)",
    ],
)
async def test_what_cannot_be_put_together_again_is_corrupt(tmp_path: Path, listener, spoil: str) -> None:
    path = tmp_path / "store.db"
    storage, _ = await filled(path, listener)
    await storage.close()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(spoil)
    with pytest.raises(Unusable, match="restore a backup"):
        await SqliteStorage(path).open(listener)


async def test_alike_objects_give_their_room_back(tmp_path: Path, listener) -> None:
    path = tmp_path / "store.db"
    storage = await opened(path, listener)
    large = MANIFEST * 10
    records = await asyncio.gather(*(storage.put(key(one), work(one, "", large), 0) for one in range(400)))
    await storage.compact(max(record.revision for record in records))
    await storage.close()
    assert sum(entry.stat().st_size for entry in os.scandir(tmp_path)) < 400 * len(whole(records[0].value)) // 3
