"""Turns of those who change an object: their order, their end, and what is left of them."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from karmada.apiserver.requests import turns
from karmada.apiserver.requests.turns import Place, TooManyWaiting, Turns
from karmada.testing.loop import run_virtual

PLACE: Place = (("", "configmaps"), "default", "a")
OTHER: Place = (("", "configmaps"), "default", "b")


def virtual(test: Callable[[Turns], Awaitable[None]]) -> Callable[[], None]:
    """A test in virtual time, which leaves no turn behind."""

    def run() -> None:
        async def main() -> None:
            of_all = Turns()
            await test(of_all)
            assert len(of_all) == 0

        run_virtual(main)

    run.__name__ = test.__name__
    return run


@virtual
async def test_changes_of_one_object_follow_each_other_in_their_order(of_all: Turns) -> None:
    order: list[str] = []

    async def change(name: str) -> None:
        turn = await of_all.take(PLACE)
        order.append(f"{name} begins")
        await asyncio.sleep(turns.SECONDS / 2)
        order.append(f"{name} ends")
        of_all.end(PLACE, turn)

    await asyncio.gather(change("a"), change("b"), change("c"))
    assert order == [f"{name} {what}" for name in "abc" for what in ("begins", "ends")]


@virtual
async def test_changes_of_different_objects_do_not_wait(of_all: Turns) -> None:
    first, second = await of_all.take(PLACE), await of_all.take(OTHER)
    assert len(of_all) == 2
    of_all.end(PLACE, first)
    of_all.end(OTHER, second)


@virtual
async def test_a_change_that_takes_long_is_not_waited_for(of_all: Turns) -> None:
    loop = asyncio.get_running_loop()
    slow = await of_all.take(PLACE)
    waiting = [asyncio.ensure_future(of_all.take(PLACE)) for _ in range(2)]
    second = await waiting[0]
    assert loop.time() == turns.SECONDS
    of_all.end(PLACE, slow)  # It is the turn of another one by now.
    await asyncio.sleep(0)
    assert not waiting[1].done()
    of_all.end(PLACE, second)
    of_all.end(PLACE, await waiting[1])
    assert loop.time() == turns.SECONDS


@virtual
async def test_who_no_longer_waits_is_passed_over(of_all: Turns) -> None:
    first = await of_all.take(PLACE)
    gone, kept = (asyncio.ensure_future(of_all.take(PLACE)) for _ in range(2))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.sleep(0)
    of_all.end(PLACE, first)
    of_all.end(PLACE, await kept)


@virtual
async def test_who_leaves_in_the_moment_of_their_turn_passes_it_on(of_all: Turns) -> None:
    first = await of_all.take(PLACE)
    gone, kept = (asyncio.ensure_future(of_all.take(PLACE)) for _ in range(2))
    await asyncio.sleep(0)
    of_all.end(PLACE, first)
    gone.cancel()
    of_all.end(PLACE, await kept)
    assert gone.cancelled()


@virtual
async def test_who_leaves_just_before_their_turn_is_passed_over(of_all: Turns) -> None:
    first = await of_all.take(PLACE)
    gone, kept = (asyncio.ensure_future(of_all.take(PLACE)) for _ in range(2))
    await asyncio.sleep(0)
    gone.cancel()
    of_all.end(PLACE, first)
    of_all.end(PLACE, await kept)
    assert gone.cancelled()


@virtual
async def test_a_bounded_number_waits(of_all: Turns) -> None:
    first = await of_all.take(PLACE)
    waiting = [asyncio.ensure_future(of_all.take(PLACE)) for _ in range(turns.WAITING)]
    await asyncio.sleep(0)
    with pytest.raises(TooManyWaiting):
        await of_all.take(PLACE)
    of_all.end(OTHER, await of_all.take(OTHER))
    of_all.end(PLACE, first)
    for future in waiting:
        of_all.end(PLACE, await future)
