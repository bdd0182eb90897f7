"""Manifests that somebody sends: read once, however many objects and mistakes are in them."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from tests.growth import Work, excess, grows, work

from karmada.dashboard import manifests
from karmada.dashboard.answers import Refusal
from karmada.dashboard.manifests import Manifest

ONE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


def read(text: str) -> list[Manifest]:
    return asyncio.run(manifests.read({"manifests": text}))


def at_once(line: Coroutine[Any, Any, int]) -> int:
    """What a coroutine that waits for nothing returns, without a loop: one that ends looks at all tasks of the tests
    before."""
    try:
        line.send(None)
    except StopIteration as end:
        return int(end.value)
    raise AssertionError("it waits")


@pytest.mark.parametrize("lists", [False, True], ids=["documents", "items"])
def test_objects_cost_the_same_each_however_many_there_are(lists: bool) -> None:
    item = "- " + ONE.replace("\n", "\n  ").strip()
    many = (lambda n: "items:\n" + f"{item}\n" * n) if lists else (lambda n: "---\n".join([ONE] * n))

    def measured(count: int) -> Work:
        text = many(count)
        return work(lambda: len(read(text)))

    assert not grows(excess(measured) or Work(0, 0, 0))


def test_the_text_is_taken_apart_once_for_the_lines_of_all_mistakes() -> None:
    def asked(found: list[Manifest]) -> int:
        return sum(at_once(found[0].line("metadata.name")) for _ in range(100))

    text = "---\n".join([ONE] * 20)
    asked(read(text))  # what is imported or started once does not count
    found = read(text)
    assert work(lambda: asked(found)).calls < 5_000


async def test_large_texts_are_read_beside_the_loop() -> None:
    values = "".join(f"  k{number}: v\n" for number in range(100))
    text = "---\n".join([f"{ONE}data:\n{values}"] * 100)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    task: asyncio.Task[Any] = asyncio.create_task(others())
    await manifests.read({"manifests": text})
    task.cancel()
    assert turns > 1


def test_an_object_that_is_none_is_named_by_its_line() -> None:
    with pytest.raises(Refusal, match="line 5: an object has apiVersion"):
        read(f"{ONE}---\nnothing: here\n")
    with pytest.raises(Refusal, match="201 objects at once"):
        read("---\n".join([ONE] * 200 + ["nothing: here\n"]))
