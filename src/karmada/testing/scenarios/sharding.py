"""Replicas that divide the keys of one controller: they come, crash, are cut off and freeze; some run with another
number of shards.

Each key is an object whose `wanted` a user changes all the time; the controller copies it to `done` and signs, without
any other guard than the fence of its shard. The rules: at the moment a write is committed, the lease of the key's shard
names the writer, and no lease of another number of shards names anybody; in the end all that was wanted is done, and
the shards are spread over the replicas.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from karmada.machinery.client import Client
from karmada.machinery.controller import DONE, Controller, Result
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.leader import LEASES, LeadershipLost, shards_of
from karmada.machinery.sharding.balance import MOST, shard_of
from karmada.machinery.sharding.campaign import Campaign
from karmada.machinery.sharding.layout import lease_name
from karmada.machinery.sharding.ownership import Ownership, ShardedTransport
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import EventType, GroupVersionResource, JSONObject
from karmada.testing.faults import STORMY
from karmada.testing.world import Component, Scenario, Step, Surroundings, World

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
SPACE = "default"
COMPONENT = "copier"
KEYS = [f"key-{number}" for number in range(12)]
REPLICAS = {"one": 4, "two": 4, "three": 4}
"""How many shards each replica is given; one of them is another number in every third world."""


class Replica:
    """A process with one controller, whose keys it shares with others."""

    transport: Callable[[Any], Any] = ShardedTransport

    def __init__(self, around: Surroundings, name: str, shards: int, undivided: int) -> None:
        self._around = around
        self._name = name
        self.ownership = Ownership(shards, undivided)
        self._maps = Client(self.transport(around.client.transport), field_manager=name).resource(CONFIG_MAPS)

    async def run(self) -> None:
        """Share the keys, and begin anew when the first shard was lost, as a process that is restarted does."""
        while True:
            try:
                await self._live()
            except LeadershipLost:
                self.ownership = Ownership(self.ownership.count, self.ownership.first)

    async def _live(self) -> None:
        around = self._around
        campaign = Campaign(around.client, COMPONENT, SPACE, self._name, self.ownership, clock=around.clock)
        async with Supervisor(around.clock, around.random) as supervisor:
            informers = InformerFactory(around.client, supervisor, clock=around.clock, random=around.random)
            seen = self._seen = informers.resource(CONFIG_MAPS)
            controller: Controller[str] = Controller(
                COMPONENT, self._copy, needs=(seen,), clock=around.clock, random=around.random
            )
            controller.watch(seen, _wanted)
            self.divide(controller)
            supervisor.start("controller", controller.run)
            await controller.synced()
            await campaign.run(_nothing)

    def divide(self, controller: Controller[str]) -> None:
        """Have the controller work on this replica's keys."""
        controller.divide(self.ownership, lambda key: key, lambda: [item.key.name for item in self._seen.all_items()])

    async def _copy(self, key: str) -> Result:
        found = self._seen.get(key, SPACE)
        data = (found or {}).get("data") or {}
        if found is None or data.get("wanted") == data.get("done"):
            return DONE
        # Work takes its time, and sometimes as long as a lease.
        await self._around.clock.sleep(self._around.random.random() ** 8 * 30)
        await self._maps.patch(key, {"data": {"done": data["wanted"], "by": self._name}}, SPACE)
        return DONE


def _wanted(change: Change[JSONObject]) -> list[str]:
    return [change.key.name] if change.new is not None and change.key.name in KEYS else []


async def _nothing() -> None:
    """What the holder of the first shard does beside its keys."""


async def _user(world: World) -> None:
    """Wants something else all the time."""
    maps = world.client("user").resource(CONFIG_MAPS)
    for number in range(10_000):
        await maps.patch(world.random.choice(KEYS), {"data": {"wanted": str(number)}}, SPACE)
        await world.clock.sleep(world.random.random() * 2)


async def _freeze(world: World, names: list[str]) -> None:
    """Now and then a replica hears nothing for longer than a lease."""
    while True:
        await world.clock.sleep(world.random.uniform(5, 40))
        heal = world.outage(world.random.choice(names), "hub", one_way=world.random.random() < 0.5)
        await world.clock.sleep(world.random.uniform(5, 30))
        heal()


def _runner(
    replica: type[Replica], name: str, shards: int, undivided: int
) -> Callable[[Surroundings], Awaitable[None]]:
    return lambda around: replica(around, name, shards, undivided).run()


def scenario(replica: type[Replica] = Replica) -> Scenario:
    """Replicas through a storm; in the end nothing is left to do."""

    async def live(world: World) -> None:
        maps = world.client().resource(CONFIG_MAPS)
        for key in KEYS:
            await maps.create({"metadata": {"name": key, "namespace": SPACE}, "data": {"wanted": "", "done": ""}})
        undivided = world.seed % 2
        sizes = {**REPLICAS, **({"three": 6} if world.seed % 3 == 2 else {})}

        def held() -> dict[int, tuple[str, int]]:
            leases = {shard: world.object(LEASES, lease_name(COMPONENT, shard), SPACE) for shard in range(MOST)}
            holders = {
                shard: (str((lease.get("spec") or {}).get("holderIdentity") or ""), shards_of(lease))
                for shard, lease in leases.items()
                if lease is not None
            }
            return {shard: who for shard, who in holders.items() if who[0]}

        def writer_holds(step: Step) -> str | None:
            if step.kind != ("", "configmaps") or step.type is not EventType.MODIFIED or step.previous is None:
                return None
            data, before = step.object.get("data") or {}, step.previous.get("data") or {}
            writer = data.get("by")
            if not writer or (data.get("done"), writer) == (before.get("done"), before.get("by")):
                return None
            key, count = step.object["metadata"]["name"], sizes[writer]
            holder = held().get(shard_of(key, count, undivided))
            return None if holder == (writer, count) else f"{writer} wrote {key} of a shard that {holder} holds"

        world.check("only the holder of a shard writes its keys", writer_holds)
        for name, shards in sizes.items():
            world.start(Component(name, _runner(replica, name, shards, undivided)))
        user, freezing = world.background(_user(world)), world.background(_freeze(world, list(sizes)))
        await world.storm(90, STORMY)
        for task in (user, freezing):
            task.cancel()
        for name in sizes:
            world.outage(name, "hub")()
        await world.calm(75)
        for key in KEYS:
            data = (world.object(CONFIG_MAPS, key, SPACE) or {}).get("data") or {}
            if data.get("wanted") != data.get("done"):
                world.fail("nothing is lost", f"{key} is {data.get('done')!r}, wanted is {data.get('wanted')!r}")
        if len(set(sizes.values())) == 1 and {who for who, _ in held().values()} != set(sizes):
            world.fail("every replica has a share", str(held()))

    return live
