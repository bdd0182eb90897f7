import asyncio

from karmada.machinery.workqueue.waiters import Waiters
from karmada.testing.loop import run_virtual


async def waiting(waiters: Waiters, count: int) -> list[asyncio.Task[None]]:
    tasks = [asyncio.create_task(waiters.wait()) for _ in range(count)]
    await asyncio.sleep(0)
    return tasks


async def gone_on(tasks: list[asyncio.Task[None]]) -> list[bool]:
    await asyncio.sleep(0)
    done = [task.done() for task in tasks]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return done


def test_who_has_waited_longest_goes_on_first() -> None:
    async def main() -> None:
        waiters = Waiters()
        tasks = await waiting(waiters, 3)
        waiters.wake()
        assert await gone_on(tasks) == [True, False, False]

    run_virtual(main)


def test_nobody_is_woken_for_one_that_has_left() -> None:
    async def main() -> None:
        waiters = Waiters()
        tasks = await waiting(waiters, 3)
        tasks[0].cancel()
        waiters.wake()
        assert await gone_on(tasks) == [True, True, False]

    run_virtual(main)


def test_one_that_is_cancelled_after_it_was_woken_wakes_the_next() -> None:
    async def main() -> None:
        waiters = Waiters()
        tasks = await waiting(waiters, 3)
        waiters.wake()
        tasks[0].cancel()
        await asyncio.sleep(0)
        assert await gone_on(tasks) == [True, True, False]

    run_virtual(main)


def test_all_go_on_at_the_end() -> None:
    async def main() -> None:
        waiters = Waiters()
        tasks = await waiting(waiters, 3)
        waiters.wake_all()
        assert await gone_on(tasks) == [True, True, True]

    run_virtual(main)
