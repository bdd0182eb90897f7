"""The contract of `storage.base`, the same for every storage."""

import asyncio
from collections.abc import Callable

import pytest

from karmada.apiserver.storage.base import Change, Compacted, Mismatch, Storage, StorageFailed, Value, Write, restamp

Obj = Callable[..., Value]


async def everything(storage: Storage, after: int, until: int) -> list[Change]:
    """The history through all its batches."""
    found: list[Change] = []
    while batch := await storage.history("", found[-1].revision if found else after, until):
        found += batch
    return found


async def test_a_write_is_answered_with_its_revision_in_the_object(storage: Storage, obj: Obj) -> None:
    first = await storage.put("/a", obj("1"), 0)
    second = await storage.put("/a", obj("2"), first.revision)
    assert second.revision > first.revision > 0
    assert second.value == b'{"metadata":{"resourceVersion":"%d","text":"2"}}' % second.revision


async def test_the_listener_has_a_write_when_it_is_answered(storage: Storage, obj: Obj, listener) -> None:
    record = await storage.put("/a", obj("1"), 0)
    assert listener.keys_and_values() == [("/a", record.value)]
    revision = await storage.delete("/a", obj("1"), record.revision)
    assert listener.keys_and_values()[1:] == [("/a", None)]
    assert listener.revision == revision


@pytest.mark.parametrize("given", ["absent", "older", "newer"])
async def test_a_write_that_expects_something_else_changes_nothing(
    storage: Storage, obj: Obj, listener, given: str
) -> None:
    old = await storage.put("/a", obj("1"), 0)
    now = await storage.put("/a", obj("2"), old.revision)
    expected = {"absent": 0, "older": old.revision, "newer": now.revision + 1}[given]
    with pytest.raises(Mismatch) as put:
        await storage.put("/a", obj("3"), expected)
    with pytest.raises(Mismatch):
        await storage.delete("/a", obj("3"), expected)
    assert (put.value.key, put.value.expected, put.value.actual) == ("/a", expected, now.revision)
    assert len(listener.changes) == 2
    await storage.put("/a", obj("4"), now.revision)


async def test_what_does_not_exist_cannot_be_replaced_or_deleted(storage: Storage, obj: Obj) -> None:
    for write in (storage.put("/a", obj(), 5), storage.delete("/a", obj(), 5)):
        with pytest.raises(Mismatch) as error:
            await write
        assert error.value.actual == 0


async def test_a_deleted_key_can_be_created_again(storage: Storage, obj: Obj, listener) -> None:
    first = await storage.put("/a", obj("1"), 0)
    await storage.delete("/a", obj("1"), first.revision)
    again = await storage.put("/a", obj("2"), 0)
    assert [change.value for change in listener.changes] == [first.value, None, again.value]


async def test_of_many_writers_of_one_key_one_wins(storage: Storage, obj: Obj, listener) -> None:
    outcomes = await asyncio.gather(
        *(storage.put("/a", obj(str(number)), 0) for number in range(20)), return_exceptions=True
    )
    lost = [outcome for outcome in outcomes if isinstance(outcome, Mismatch)]
    assert len(lost) == 19
    assert len(listener.changes) == 1
    assert {error.actual for error in lost} == {listener.changes[0].revision}


async def test_of_several_writes_each_has_its_own_outcome(storage: Storage, obj: Obj, listener) -> None:
    old = await storage.put("/old", obj("1"), 0)
    writes = [
        Write("/new", obj("1"), 0),
        Write("/old", obj("2"), old.revision + 1),
        Write("/old", None, old.revision),
        Write("/new", obj("2"), 0),
    ]
    one, late, gone, other = await storage.write_all(writes)
    assert (type(late), gone) == (Mismatch, None)
    lost = one or other
    assert {type(one), type(other)} == {type(None), Mismatch}, "of two writes of one key one wins"
    assert lost.actual == next(change.revision for change in listener.changes if change.key == "/new")
    assert sorted(listener.keys_and_values()[1:]) == sorted(
        [("/new", listener.changes[1].value or listener.changes[2].value), ("/old", None)]
    )
    assert await storage.write_all([]) == []


async def test_what_is_deleted_among_several_is_repeated_with_the_state_that_stands_in(
    storage: Storage, obj: Obj, listener
) -> None:
    old = await storage.put("/old", obj("1"), 0)
    assert await storage.write_all([Write("/old", None, old.revision)]) == [None]
    gone = listener.changes[-1]
    [repeated] = [change for change in await everything(storage, old.revision, gone.revision) if change.key == "/old"]
    assert (repeated.value, repeated.previous) == (None, old)
    assert repeated.last in (None, restamp(old.value, old.revision, gone.revision))
    await storage.put("/old", obj("2"), 0)


async def test_concurrent_writes_are_reported_in_order_each_once(storage: Storage, obj: Obj, listener) -> None:
    async def writer(name: str) -> None:
        revision = 0
        for number in range(10):
            revision = (await storage.put(name, obj(str(number)), revision)).revision
        await storage.delete(name, obj("last"), revision)

    await asyncio.gather(*(writer(f"/{number}") for number in range(20)))
    assert len(listener.changes) == 220
    for number in range(20):
        own = [change.value for change in listener.changes if change.key == f"/{number}"]
        assert len(own) == 11
        assert own[-1] is None


async def test_what_the_writer_gives_along_comes_back(storage: Storage, obj: Obj, listener) -> None:
    token = object()
    await storage.put("/a", obj(), 0, token)
    assert listener.changes[0].context is token


async def test_a_cancelled_writer_does_not_block_the_key(storage: Storage, obj: Obj, listener) -> None:
    task = asyncio.create_task(storage.put("/a", obj("1"), 0))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    outcome = await asyncio.gather(storage.put("/a", obj("2"), 0), return_exceptions=True)
    assert len(listener.changes) == 1
    revision = listener.changes[0].revision
    assert isinstance(outcome[0], Mismatch) or outcome[0].revision == revision
    await storage.put("/a", obj("3"), revision)


async def test_history_repeats_what_was_written(storage: Storage, obj: Obj) -> None:
    start = await storage.put("/z", obj("0"), 0)
    first = await storage.put("/a", obj("1"), 0)
    second = await storage.put("/a", obj("2"), first.revision)
    gone = await storage.delete("/a", obj("2"), second.revision)
    again = await storage.put("/a", obj("3"), 0)
    changes = await everything(storage, start.revision, again.revision)
    assert [(change.revision, change.value, change.previous) for change in changes] == [
        (first.revision, first.value, None),
        (second.revision, second.value, first),
        (gone, None, second),
        (again.revision, again.value, None),
    ]
    assert changes[2].last == obj("2").at(gone)
    assert [change.key for change in await storage.history("/z", start.revision - 1, again.revision)] == ["/z"]
    assert await storage.history("/zz", start.revision - 1, again.revision) == []
    part = await everything(storage, first.revision, gone)
    assert [change.revision for change in part] == [second.revision, gone]
    assert await everything(storage, again.revision, again.revision) == []


async def test_long_histories_come_in_parts(storage: Storage, obj: Obj) -> None:
    first = await storage.put("/first", obj(), 0)
    records = await asyncio.gather(*(storage.put(f"/{number}", obj(), 0) for number in range(1200)))
    wanted = sorted(record.revision for record in records)
    changes = await everything(storage, first.revision, wanted[-1])
    assert [change.revision for change in changes] == wanted


async def test_compaction_forgets_history_and_keeps_state(storage: Storage, obj: Obj) -> None:
    kept = await storage.put("/kept", obj("k"), 0)
    first = await storage.put("/a", obj("1"), 0)
    second = await storage.put("/a", obj("2"), first.revision)
    gone = await storage.put("/gone", obj(), 0)
    deleted = await storage.delete("/gone", obj(), gone.revision)
    await storage.compact(deleted)
    third = await storage.put("/a", obj("3"), second.revision)
    changes = await everything(storage, deleted, third.revision)
    assert [(change.value, change.previous) for change in changes] == [(third.value, second)]
    with pytest.raises(Compacted) as error:
        await storage.history("", first.revision, third.revision)
    assert error.value.oldest >= deleted
    await storage.put("/kept", obj("l"), kept.revision)
    await storage.put("/gone", obj(), 0)


async def test_a_closed_storage_refuses_writes(storage: Storage, obj: Obj) -> None:
    await storage.close()
    with pytest.raises(StorageFailed):
        await storage.put("/a", obj(), 0)


async def test_a_reopened_storage_goes_on_where_it_was(storage: Storage, make, obj: Obj, listener) -> None:
    first = await storage.put("/a", obj("1"), 0)
    second = await storage.put("/a", obj("2"), first.revision)
    other = await storage.put("/b", obj("1"), 0)
    gone = await storage.delete("/b", obj("1"), other.revision)
    await storage.close()
    again = make()
    snapshot = await again.open(listener)
    assert snapshot.revision >= gone
    assert [tuple(record) for record in snapshot.records] == [("/a", second.value, second.revision)]
    changes = await everything(again, first.revision, snapshot.revision)
    assert [change.revision for change in changes] == [second.revision, other.revision, gone]
    third = await again.put("/a", obj("3"), second.revision)
    assert third.revision > snapshot.revision
    await again.close()
