"""What members say of pods is read without holding up others."""

import asyncio

from karmada.controllers.hpa_members import in_turns
from karmada.machinery.limits import SLICE


async def test_many_objects_of_a_member_are_read_in_turns_with_others():
    turns = 0

    async def others():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    found = await in_turns(len, [b"x"] * (10 * SLICE))
    task.cancel()
    assert found == [1] * (10 * SLICE)
    assert turns >= 9
