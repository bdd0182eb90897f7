"""What is special to memory: it must not fill up with the past."""

import pytest

from karmada.apiserver.storage.base import Compacted
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
