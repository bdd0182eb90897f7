"""The loop of the controllers: every key is worked on, none twice at the same time, failures again."""

import asyncio
from contextvars import ContextVar

import pytest

from karmada.apiserver.controllers.worker import Worker


class Work:
    """Notes what happens; keys wait until they are released."""

    def __init__(self, width: int) -> None:
        self.started: list[str] = []
        self.running: set[str] = set()
        self.most = 0
        self.gate = asyncio.Event()
        self.failing: dict[str, int] = {}
        self.worker: Worker[str] = Worker("test", self.process, width)

    async def process(self, key: str) -> None:
        assert key not in self.running
        self.running.add(key)
        self.started.append(key)
        self.most = max(self.most, len(self.running))
        try:
            await self.gate.wait()
            if self.failing.get(key, 0) > 0:
                self.failing[key] -= 1
                raise RuntimeError("not yet")
        finally:
            self.running.discard(key)


async def settle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


@pytest.mark.parametrize("width", [1, 3])
async def test_no_more_keys_than_the_width_at_the_same_time(width):
    work = Work(width)
    work.worker.start()
    for key in "abcde":
        work.worker.add(key)
    await settle()
    assert work.most == width
    work.gate.set()
    await settle()
    assert work.started == list("abcde")
    await work.worker.stop()


async def test_a_key_added_while_it_is_worked_on_is_worked_on_once_more():
    work = Work(2)
    work.worker.start()
    work.worker.add("a")
    await settle()
    work.worker.add("a")
    work.worker.add("a")
    await settle()
    assert work.started == ["a"]
    work.gate.set()
    await settle()
    assert work.started == ["a", "a"]
    await work.worker.stop()


@pytest.mark.looptime
@pytest.mark.parametrize(("failures", "seconds"), [(2, 0.1), (1440, 86_500)], ids=["twice", "for a day"])
async def test_a_key_that_failed_is_tried_again(failures, seconds):
    work = Work(1)
    work.gate.set()
    work.failing["a"] = failures
    work.worker.start()
    work.worker.add("a")
    await asyncio.sleep(seconds)
    assert work.started == ["a"] * (failures + 1)
    await work.worker.stop()


async def test_keys_wait_for_the_start_and_stopping_cancels_what_runs():
    work = Work(1)
    work.worker.add("a")
    await settle()
    assert work.started == []
    work.worker.start()
    await settle()
    assert work.started == ["a"]
    await work.worker.stop()
    assert work.running == set()


async def test_others_have_their_turn_between_keys_that_take_long_without_waiting():
    """Each key works longer than a slice; in each round of the loop one of the tasks does at most."""
    loop = asyncio.get_running_loop()
    rounds = 0
    seen: list[int] = []
    done = asyncio.Event()

    async def count() -> None:
        nonlocal rounds
        while True:
            rounds += 1
            await asyncio.sleep(0)

    async def process(key: str) -> None:
        seen.append(rounds)
        if len(seen) == 8:
            done.set()
        until = loop.time() + 0.006
        while loop.time() < until:
            pass

    counting = asyncio.create_task(count())
    worker: Worker[str] = Worker("test", process, 8)
    worker.start()
    for key in "abcdefgh":
        worker.add(key)
    await done.wait()
    counting.cancel()
    await worker.stop()
    assert len(set(seen)) == 8


async def test_a_key_is_not_worked_on_in_the_name_of_whoever_adds_it():
    on_behalf_of: ContextVar[str] = ContextVar("on_behalf_of", default="the process")
    found: list[str] = []

    async def process(key: str) -> None:
        found.append(on_behalf_of.get())

    worker: Worker[str] = Worker("test", process)
    worker.start()
    on_behalf_of.set("a user")
    worker.add("key")
    await settle()
    await worker.stop()
    assert found == ["the process"]
