"""The scheduling queue: who comes first, who waits for what."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable

from karmada.scheduler.queue import BACKGROUND_SHARE, PARKED, SchedulingQueue
from karmada.testing.loop import VirtualClock, run_virtual

Queue = SchedulingQueue[str]


def in_virtual_time(test: Callable[[Queue, VirtualClock], Awaitable[None]]) -> None:
    async def main() -> None:
        clock = VirtualClock()
        await test(SchedulingQueue(clock), clock)

    run_virtual(main)


async def order(queue: Queue, count: int) -> list[str]:
    taken = [await queue.take() for _ in range(count)]
    for key in taken:
        queue.succeeded(key)
    return taken


def test_higher_priority_goes_first_then_first_come() -> None:
    async def scenario(queue: Queue, clock: VirtualClock) -> None:
        for key, priority in (("a", 0), ("b", 5), ("c", 0), ("d", 5)):
            queue.add(key, priority)
        assert await order(queue, 4) == ["b", "d", "a", "c"]

    in_virtual_time(scenario)


def test_lanes_of_one_priority_take_turns() -> None:
    async def main() -> None:
        queue: SchedulingQueue[str] = SchedulingQueue(VirtualClock(), lane=lambda key: key[0])
        for number in range(100):
            queue.add(f"a{number:02d}")
        assert await order(queue, 10) == [f"a{number:02d}" for number in range(10)]
        for key in ("b0", "b1", "c0"):
            queue.add(key)
        queue.add("a_urgent", 1)
        assert await order(queue, 6) == ["a_urgent", "a10", "b0", "c0", "a11", "b1"]
        assert await order(queue, 88) == [f"a{number:02d}" for number in range(12, 100)]
        queue.add("b2")
        queue.add("a_last")
        assert await order(queue, 2) == ["b2", "a_last"], "nobody pays for turns of the past"

    run_virtual(main)


def test_what_happened_goes_before_what_is_only_looked_at() -> None:
    async def scenario(queue: Queue, clock: VirtualClock) -> None:
        for key in ("a", "b", "c"):
            queue.add(key, background=True)
        queue.add("d")
        queue.add("b")
        queue.add("urgent", 1, background=True)
        assert await order(queue, 5) == ["urgent", "d", "b", "a", "c"]
        assert queue.idle

    in_virtual_time(scenario)


def test_a_stream_of_changes_does_not_starve_the_background() -> None:
    async def scenario(queue: Queue, clock: VirtualClock) -> None:
        queue.add("background", background=True)
        for number in range(100):
            queue.add(f"{number}")
        assert "background" in await order(queue, BACKGROUND_SHARE)

    in_virtual_time(scenario)


def test_a_key_of_the_background_that_changes_while_it_is_decided_is_no_longer_in_it() -> None:
    async def scenario(queue: Queue, clock: VirtualClock) -> None:
        queue.add("a", background=True)
        queue.add("b", background=True)
        taken = await queue.take()
        queue.add("a")
        queue.add("a", background=True)
        queue.succeeded(taken)
        assert await order(queue, 2) == ["a", "b"]

    in_virtual_time(scenario)


def test_a_key_is_queued_once_with_its_highest_priority() -> None:
    async def scenario(queue: Queue, clock: VirtualClock) -> None:
        for key, priority in (("a", 0), ("b", 1), ("a", 2), ("a", 0)):
            queue.add(key, priority)
        assert await order(queue, 2) == ["a", "b"]
        assert queue.idle

    in_virtual_time(scenario)


def test_a_failed_key_returns_after_growing_pauses() -> None:
    async def scenario(queue: Queue, clock: VirtualClock) -> None:
        queue.add("a")
        moments = []
        for _ in range(6):
            key = await queue.take()
            moments.append(clock.monotonic())
            queue.failed(key)
        pauses = [round(after - before) for before, after in itertools.pairwise(moments)]
        assert pauses == [1, 2, 4, 8, 10]

    in_virtual_time(scenario)


def test_priority_holds_among_keys_that_come_back() -> None:
    async def scenario(queue: Queue, clock: VirtualClock) -> None:
        for key, priority in (("low", 0), ("high", 9)):
            queue.add(key, priority)
        for _ in range(2):
            queue.park(await queue.take())
        queue.release()
        assert await order(queue, 2) == ["high", "low"]

    in_virtual_time(scenario)


def test_a_parked_key_waits_for_a_change_and_no_longer_than_its_time() -> None:
    async def scenario(queue: Queue, clock: VirtualClock) -> None:
        queue.add("a")
        queue.park(await queue.take())
        await clock.sleep(PARKED - 31)
        assert (queue.parked, len(queue)) == (1, 0)
        await clock.sleep(62)
        assert (queue.parked, len(queue)) == (0, 1)
        queue.park(await queue.take())
        queue.add("a")
        assert await queue.take() == "a"

    in_virtual_time(scenario)


def test_a_key_added_while_it_is_taken_comes_again_however_it_ended() -> None:
    async def scenario(queue: Queue, clock: VirtualClock) -> None:
        for end in (queue.succeeded, queue.failed, queue.park):
            queue.add("a")
            key = await queue.take()
            queue.add("a")
            end(key)
            async with asyncio.timeout(0.5):
                queue.succeeded(await queue.take())
            assert queue.idle

    in_virtual_time(scenario)


def test_what_is_gone_does_not_come_back() -> None:
    async def scenario(queue: Queue, clock: VirtualClock) -> None:
        queue.add("a")
        queue.failed(await queue.take())
        queue.forget("a")
        await clock.sleep(60)
        assert queue.idle

    in_virtual_time(scenario)


def test_a_cancelled_worker_does_not_take_a_key_with_it() -> None:
    async def scenario(queue: Queue, clock: VirtualClock) -> None:
        first = asyncio.ensure_future(queue.take())
        second = asyncio.ensure_future(queue.take())
        await asyncio.sleep(0)
        queue.add("a")
        second.cancel()
        assert await first == "a"

    in_virtual_time(scenario)
