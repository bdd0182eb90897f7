"""Background tasks: which failures are raised to whoever waits, and that stopping ends whatever a task does."""

import asyncio

import pytest

from karmada.machinery.supervisor import Supervisor


class Lost(Exception):
    """Something that ends a process."""


async def test_the_failure_of_a_task_that_must_not_fail_is_raised_and_not_logged() -> None:
    async def lose() -> None:
        raise Lost

    async with Supervisor() as supervisor:
        supervisor.start("lease", lose, restart=False)
        with pytest.raises(Lost):
            await supervisor.wait()


async def test_a_task_that_fails_when_it_is_cancelled_is_not_started_again(failures: list[str]) -> None:
    began = 0

    async def fail_when_cancelled() -> None:
        nonlocal began
        began += 1
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise Lost from None

    supervisor = Supervisor()
    supervisor.start("stubborn", fail_when_cancelled)
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await supervisor.stop()
    assert began == 1
    assert len(failures) == 1
