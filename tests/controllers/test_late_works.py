"""A Work that the cache shows only after its binding has given up the cluster is removed all the same."""

import contextlib
from functools import partial

from tests.controllers.wrapping import Wrapping

from karmada.api import names
from karmada.machinery.transport import EventType
from karmada.testing.scenarios.federation import (
    DEPLOYMENTS,
    POLICIES,
    SERVERS,
    WORKS,
    deployment,
    install,
    run_manager,
    run_scheduler,
)
from karmada.testing.world import Component, explore


class LateWorks(Wrapping):
    """A transport on which events of Works wait until somebody lets them through."""

    def __init__(self, open_gate, inner, around):
        super().__init__(inner, around)
        self._open_gate = open_gate

    @contextlib.asynccontextmanager
    async def watch(self, request):
        async with self._inner.watch(request) as stream:
            yield self._late(stream) if request.resource == WORKS else stream

    async def _late(self, stream):
        async for batch in stream:
            while not self._open_gate() and any(event.type is EventType.ADDED for event in batch):
                await self._clock.sleep(1)
            yield batch


def test_a_work_that_was_not_seen_in_time_is_removed():
    is_open = False
    found = []

    async def story(world):
        nonlocal is_open
        await install(world)
        late = partial(LateWorks, lambda: is_open)
        world.start(Component("controller-manager", partial(run_manager, wrap=late)))
        world.start(Component("scheduler", run_scheduler))
        await world.clock.sleep(40)
        await world.client().resource(DEPLOYMENTS).create(deployment("web", 1))
        await world.clock.sleep(10)
        assert world.objects(WORKS, names.execution_space("member2"))
        placement = {"clusterAffinity": {"clusterNames": ["member1"]}}
        await world.client().resource(POLICIES).patch("all", {"spec": {"placement": placement}}, "default")
        await world.clock.sleep(10)
        is_open = True
        await world.clock.sleep(60)
        found.extend(tree["metadata"]["namespace"] for tree in world.objects(WORKS))

    explore(story, 1, SERVERS)
    assert found == [names.execution_space("member1")]
