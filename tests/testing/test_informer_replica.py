"""An informer under faults: changes that handlers get add up to what the cache holds, and in the end to the truth."""

import contextlib

from karmada.machinery.errors import ApiError
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource
from karmada.testing.world import Component, explore

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")


class Replica:
    """Built only from changes; complains about changes that do not fit."""

    def __init__(self, world):
        self.world = world
        self.state = {}

    def handle(self, changes):
        for old, new, _ in changes:
            key = (new or old).key
            before = self.state.get(key)
            if (before and (before.uid, before.resource_version)) != (old and (old.uid, old.resource_version)):
                self.world.fail("changes fit together", f"{before} became {new}, but {old} was reported")
            if old and new and old.uid != new.uid:
                self.world.fail("a change is about one incarnation", f"{old} {new}")
            if new is None:
                del self.state[key]
            else:
                self.state[key] = new


async def scenario(world):
    replicas = []

    async def run(around):
        async with Supervisor(around.clock, around.random) as supervisor:
            replica = Replica(world)
            informers = InformerFactory(around.client, supervisor, clock=around.clock, random=around.random)
            informer = informers.resource(CONFIG_MAPS)
            informer.add_handler(replica.handle)
            replicas[:] = [(replica, informer)]
            await supervisor.wait()

    async def use():
        maps = world.client("user").resource(CONFIG_MAPS)
        for number in range(60):
            await world.clock.sleep(world.random.random() ** 2)
            name = world.random.choice("abcde")
            body = {"metadata": {"name": name, "namespace": "default"}, "data": {"n": str(number)}}
            with contextlib.suppress(ApiError):
                if world.object(CONFIG_MAPS, name, "default") is None:
                    await maps.create(body)
                elif world.random.random() < 0.4:
                    await maps.delete(name, "default")
                else:
                    await maps.update(body)

    world.start(Component("reader", run))
    using = world.background(use())
    await world.storm(30)
    await using
    await world.calm(120)
    [(replica, informer)] = replicas
    truth = {tree["metadata"]["name"]: tree["metadata"]["resourceVersion"] for tree in world.objects(CONFIG_MAPS)}
    cached = {item.key.name: item.resource_version for item in informer.all_items()}
    handled = {key.name: item.resource_version for key, item in replica.state.items()}
    if not truth == cached == handled:
        world.fail("the cache is the truth in the end", f"{truth} {cached} {handled}")


def test_an_informer_keeps_the_truth_whatever_happens():
    for seed in range(60):
        explore(scenario, seed)
