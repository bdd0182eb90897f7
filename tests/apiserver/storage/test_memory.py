"""What is special to memory: it must not fill up with the past."""

import pytest

from karmada.apiserver.storage.base import Compacted, Value, restamp
from karmada.apiserver.storage.memory import MemoryStorage


async def test_history_is_bounded_by_count(listener, obj) -> None:
    storage = MemoryStorage(history=3)
    start = (await storage.open(listener)).revision
    for number in range(5):
        await storage.put(f"/{number}", obj(), 0)
    with pytest.raises(Compacted) as error:
        await storage.history("", start, start + 5)
    assert error.value.oldest == start + 2
    assert len(await storage.history("", start + 2, start + 5)) == 3


async def test_history_is_bounded_by_the_bytes_it_alone_keeps(listener, obj) -> None:
    storage = MemoryStorage(history_bytes=250_000)
    start = (await storage.open(listener)).revision
    for number in range(5):
        await storage.put(f"/{number}", obj("x" * 100_000), 0)
    assert len(await storage.history("", start, start + 5)) == 5
    for number in range(3):
        await storage.put(f"/{number}", obj(), start + number + 1)
    with pytest.raises(Compacted):
        await storage.history("", start, start + 8)
    assert len(await storage.history("", start + 6, start + 8)) == 2


async def test_one_starts_where_another_stood(listener, obj) -> None:
    first = MemoryStorage()
    await first.open(listener)
    await first.put("/kept", obj(), 0)
    second = MemoryStorage()
    second.start_from(first.snapshot())
    await first.delete("/kept", obj(), first.snapshot().revision)
    listener.revision = 0
    found = await second.open(listener)
    assert [record.key for record in found.records] == ["/kept"]
    with pytest.raises(Compacted):
        await second.history("", found.revision - 1, found.revision)
    assert (await second.put("/new", obj(), 0)).revision == found.revision + 1


async def test_an_empty_store_begins_at_the_second_revision_and_counts_by_one(listener, obj) -> None:
    storage = MemoryStorage()
    assert await storage.open(listener) == ([], 2)
    first = await storage.put("/a", obj(), 0)
    assert (first.revision, await storage.delete("/a", obj(), first.revision)) == (3, 4)


async def test_by_itself_it_keeps_ten_thousand_changes_in_parts_of_a_thousand(listener, obj) -> None:
    storage = MemoryStorage()
    await storage.open(listener)
    for number in range(10_000):
        await storage.put(f"/{number}", obj(), 0)
    assert len(await storage.history("", 2, 10_002)) == 1000
    await storage.put("/more", obj(), 0)
    with pytest.raises(Compacted):
        await storage.history("", 2, 10_002)


@pytest.mark.parametrize("more", [0, 1])
async def test_by_itself_it_keeps_32_mebibytes_of_what_was_replaced(listener, more: int) -> None:
    storage = MemoryStorage()
    await storage.open(listener)
    first = await storage.put("/a", Value(b"", b"x" * ((32 << 20) - 1 + more)), 0)
    second = await storage.put("/a", Value(b"", b""), first.revision)
    if more:
        with pytest.raises(Compacted):
            await storage.history("", 2, second.revision)
    else:
        assert len(await storage.history("", 2, second.revision)) == 2


def test_only_an_objects_own_revision_is_replaced() -> None:
    body = b'{"metadata":{"resourceVersion":"5"},"spec":{"of":{"resourceVersion":"5"}}}'
    assert restamp(body, 5, 17) == b'{"metadata":{"resourceVersion":"17"},"spec":{"of":{"resourceVersion":"5"}}}'
