"""Works that were created a moment ago are applied without asking the server whether it has them."""

import asyncio
from functools import partial

from tests.controllers.wrapping import Wrapping

from karmada.controllers.created_works import FRESH, CreatedWorks
from karmada.machinery.transport import Verb
from karmada.testing.loop import VirtualClock, run_virtual
from karmada.testing.scenarios.federation import (
    DEPLOYMENTS,
    MEMBERS,
    SERVERS,
    WORKS,
    deployment,
    install,
    run_manager,
    run_scheduler,
)
from karmada.testing.world import Component, explore


def test_a_work_counts_as_there_for_a_second_after_it_was_created():
    async def scenario():
        works = CreatedWorks(VirtualClock())
        works.add("a")
        await asyncio.sleep(0.9 * FRESH)
        assert "a" in works
        assert "b" not in works
        await asyncio.sleep(0.1 * FRESH)
        assert "a" not in works

    run_virtual(scenario)


def test_works_of_earlier_seconds_are_forgotten():
    async def scenario():
        works = CreatedWorks(VirtualClock())
        for number in range(100):
            works.add(str(number))
            await asyncio.sleep(FRESH / 10)
        assert len(works) <= 11

    run_virtual(scenario)


class Counting(Wrapping):
    """A transport that notes the Works that are read one by one."""

    def __init__(self, read, inner, around):
        super().__init__(inner, around)
        self._read = read

    async def send(self, request):
        if request.verb is Verb.GET and request.resource == WORKS:
            self._read.append(request.name)
        return await self._inner.send(request)


def test_a_deployment_comes_into_its_members_without_a_work_being_read():
    read = []

    async def steps(world):
        await install(world)
        world.start(Component("manager", partial(run_manager, wrap=partial(Counting, read))))
        world.start(Component("scheduler", run_scheduler))
        await world.clock.sleep(40)
        await world.client().resource(DEPLOYMENTS).create(deployment("web", 1))
        await world.clock.sleep(20)
        assert all(world.objects(DEPLOYMENTS, server=name) for name in MEMBERS)

    explore(steps, 1, SERVERS)
    assert [name for name in read if name.startswith("web-")] == []
