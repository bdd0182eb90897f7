"""A replica of the API server that lags may fill a cache with what is long gone: nothing of that comes back to stay."""

import contextlib
from functools import partial

import pytest
from tests.controllers.wrapping import Wrapping

from karmada.machinery.errors import Invalid
from karmada.machinery.transport import Request, Verb
from karmada.testing.scenarios.federation import (
    BINDINGS,
    DEPLOYMENTS,
    MEMBERS,
    POLICIES,
    SERVERS,
    WORKS,
    deployment,
    install,
    run_manager,
    run_scheduler,
)
from karmada.testing.scenarios.propagation import CONFIG_MAPS
from karmada.testing.world import HUB, Component, explore

SECONDS = 5.0
"""How long events that the replica has missed take."""


class Lagging(Wrapping):
    """A transport whose loads of some collections are answered as they were once."""

    def __init__(self, answers, inner, around):
        super().__init__(inner, around)
        self._answers = answers

    async def send(self, request):
        if request.verb is Verb.LIST and request.resource in self._answers and "labelSelector" not in request.params:
            return self._answers[request.resource]
        return await self._inner.send(request)

    @contextlib.asynccontextmanager
    async def watch(self, request):
        if request.resource not in self._answers:
            async with self._inner.watch(request) as stream:
                yield stream
            return
        if "sendInitialEvents" in request.params:
            raise Invalid("sendInitialEvents is forbidden for watch")
        async with self._inner.watch(request) as stream:
            yield self._late(stream)

    async def _late(self, stream):
        async for batch in stream:
            await self._clock.sleep(SECONDS)
            yield batch


async def started(world):
    await install(world)
    world.start(Component("manager", run_manager))
    world.start(Component("scheduler", run_scheduler))
    await world.clock.sleep(40)


async def remembered(world, *collections):
    transport = world.client().transport
    return {type_: await transport.send(Request(Verb.LIST, type_, params={"limit": "500"})) for type_ in collections}


async def succeeded(world, answers, crashes=False):
    """Another manager takes over, which loads what was remembered; it may crash before it hears what it has missed."""
    cut_off(world, "manager")
    world.start(Component("successor", partial(run_manager, wrap=partial(Lagging, answers))))
    if crashes:
        await world.clock.sleep(0.9 * SECONDS)
        cut_off(world, "successor")
        world.start(Component("third", run_manager))
    await world.clock.sleep(120)


def cut_off(world, name):
    for server in (HUB, *MEMBERS):
        world.cut(name, server)


def test_a_work_that_only_a_cache_shows_brings_nothing_back_into_members():
    left = []

    async def story(world):
        await started(world)
        await world.client().resource(DEPLOYMENTS).create(deployment("web", 1))
        await world.clock.sleep(20)
        assert all(world.objects(DEPLOYMENTS, server=name) for name in MEMBERS)
        answers = await remembered(world, WORKS)
        await world.client().resource(DEPLOYMENTS).delete("web", "default")
        await world.clock.sleep(40)
        assert not any(world.objects(DEPLOYMENTS, server=name) for name in MEMBERS)
        await succeeded(world, answers)
        left.extend(name for name in MEMBERS if world.objects(DEPLOYMENTS, server=name))

    explore(story, 1, SERVERS)
    assert left == []


def needing(name, needed):
    tree = deployment(name, 1)
    tree["spec"]["template"]["spec"]["volumes"] = [{"name": "v", "configMap": {"name": needed}}]
    return tree


@pytest.mark.parametrize("crashes", [False, True], ids=["catches-up", "crashes"])
@pytest.mark.parametrize("ended", ["the wish for dependencies", "the binding"])
def test_a_dependency_that_only_a_cache_asks_for_goes_nowhere(ended, crashes):
    left = []

    async def story(world):
        await started(world)
        client = world.client()
        await client.resource(POLICIES).patch("all", {"spec": {"propagateDeps": True}}, "default")
        await client.resource(DEPLOYMENTS).create(needing("web", "settings"))
        await world.clock.sleep(20)
        answers = await remembered(world, BINDINGS, DEPLOYMENTS)
        if ended == "the binding":
            await client.resource(DEPLOYMENTS).delete("web", "default")
        else:
            await client.resource(POLICIES).patch("all", {"spec": {"propagateDeps": False}}, "default")
        await world.clock.sleep(40)
        await client.resource(CONFIG_MAPS).create({"metadata": {"name": "settings", "namespace": "default"}})
        await succeeded(world, answers, crashes)
        left.extend(name for name in MEMBERS if world.object(CONFIG_MAPS, "settings", "default", name))
        works = [tree["metadata"]["name"] for tree in world.objects(WORKS)]
        left.extend(name for name in works if name.startswith("settings-"))

    explore(story, 1, SERVERS)
    assert left == []
