"""Questions to members are asked once, in time, and not again of a member that is silent."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from karmada.machinery.errors import NotFound, Unavailable
from karmada.membership.answers import Answers, Missing, Unread
from karmada.testing.loop import VirtualClock, run_virtual


def virtually(scenario: Callable[[VirtualClock], Awaitable[None]]) -> None:
    async def main() -> None:
        await scenario(VirtualClock())

    run_virtual(main)


def test_whoever_asks_the_same_meanwhile_or_soon_after_gets_the_same_answer() -> None:
    async def scenario(clock: VirtualClock) -> None:
        answers, requests = Answers(clock, keep=10), 0

        async def ask() -> int:
            nonlocal requests
            requests += 1
            await clock.sleep(1)
            return requests

        assert await asyncio.gather(*(answers.of("m", "q", ask) for _ in range(100))) == [1] * 100
        await clock.sleep(9)
        assert await answers.of("m", "q", ask) == 1
        assert await answers.of("m", "other", ask) == 2
        await clock.sleep(11)
        assert await answers.of("m", "q", ask) == 3

    virtually(scenario)


def test_a_silent_member_costs_one_deadline_and_others_nothing() -> None:
    async def scenario(clock: VirtualClock) -> None:
        answers = Answers(clock, keep=10, deadline=5)

        async def never() -> int:
            await clock.sleep(1000)
            return 0

        async def at_once() -> int:
            return 7

        started = clock.monotonic()
        for question in range(100):
            with pytest.raises(Unread, match="no answer within 5 s"):
                await answers.of("m", question, never)
        assert clock.monotonic() - started == 5
        assert await answers.of("other", 0, at_once) == 7
        await clock.sleep(11)
        assert await answers.of("m", 0, at_once) == 7

    virtually(scenario)


def test_an_asker_that_gives_up_leaves_the_question_to_the_next() -> None:
    async def scenario(clock: VirtualClock) -> None:
        answers = Answers(clock, keep=10, deadline=50)

        async def ask() -> int:
            await clock.sleep(3)
            return 7

        first = asyncio.ensure_future(answers.of("m", "q", ask))
        await clock.sleep(1)
        second = asyncio.ensure_future(answers.of("m", "q", ask))
        await clock.sleep(1)
        first.cancel()
        assert await second == 7

    virtually(scenario)


def test_a_failure_is_an_answer_too_and_absence_is_distinguished() -> None:
    async def scenario(clock: VirtualClock) -> None:
        answers = Answers(clock, keep=10)

        async def down() -> int:
            raise Unavailable("connection refused")

        async def absent() -> int:
            raise NotFound("no such pod")

        for _ in range(2):
            with pytest.raises(Unread, match="connection refused"):
                await answers.of("m", "down", down)
            with pytest.raises(Missing, match="no such pod"):
                await answers.of("m", "absent", absent)

    virtually(scenario)
