"""The room for answers that clients have still to read."""

import asyncio

import pytest

from karmada.machinery.httpserver.unsent import ALWAYS, Unsent


async def taking(room: Unsent, client: str, size: int) -> "asyncio.Task[None]":
    task = asyncio.create_task(room.take(client, size))
    await asyncio.sleep(0)
    return task


async def test_one_client_holds_half_and_waits_for_its_own():
    room = Unsent(100)
    assert room.try_take("a", 40)
    assert not room.try_take("a", 20)
    first, second = await taking(room, "a", 20), await taking(room, "a", 5)
    assert not first.done()
    assert not second.done(), "nobody overtakes"
    assert not room.try_take("a", 1)
    assert room.try_take("b", 50)
    room.give("a", 40)
    await asyncio.gather(first, second)
    assert room.left == 100 - 50 - 25


async def test_who_holds_nothing_is_never_starved():
    room = Unsent(100)
    assert room.try_take("a", 90), "an answer may be larger than a share"
    assert room.try_take("b", 20)
    assert room.left < 0
    assert room.try_take("c", ALWAYS)
    assert not room.try_take("d", ALWAYS + 1)


async def test_who_holds_nothing_and_waits_for_much_gets_it_when_others_have_read():
    room = Unsent(100)
    assert room.try_take("a", 90)
    assert room.try_take("b", 20)
    waiting = await taking(room, "c", ALWAYS + 1)
    room.give("a", 90)
    await asyncio.wait_for(waiting, 1.0)
    assert not room.try_take("c", 1)
    room.give("c", ALWAYS + 1)
    assert room.try_take("c", 1)


async def test_who_stops_waiting_in_the_moment_in_which_room_comes_is_cancelled_only():
    room = Unsent(100)
    await room.take("a", 50)
    first = await taking(room, "a", 50)
    first.cancel()
    room.give("a", 50)
    with pytest.raises(asyncio.CancelledError):
        await first
    assert room.left == 100
    assert room.try_take("a", 50)


@pytest.mark.parametrize("granted", [False, True])
async def test_who_stops_waiting_leaves_nothing_behind(granted: bool):
    room = Unsent(100)
    await room.take("a", 50)
    first, second = await taking(room, "a", 50), await taking(room, "a", 10)
    if granted:
        room.give("a", 50)
    first.cancel()
    await asyncio.sleep(0)
    if not granted:
        room.give("a", 50)
    await second
    assert room.left == 90
    room.give("a", 10)
    assert room.left == 100
    assert room.try_take("a", 50)
