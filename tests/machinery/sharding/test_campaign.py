import asyncio

import pytest

from karmada.machinery.client import Client
from karmada.machinery.controller import DONE, Controller
from karmada.machinery.errors import Unavailable
from karmada.machinery.leader import LEASES, LeaderElector, LeadershipLost, NotLeader, Timing
from karmada.machinery.sharding.campaign import Campaign
from karmada.machinery.sharding.layout import OtherLayouts
from karmada.machinery.sharding.ownership import Ownership, ShardedTransport, Tenure
from karmada.machinery.transport import GroupVersionResource, Request, Verb
from karmada.testing.loop import VirtualClock, run_virtual

SPACE = "karmada-system"
CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
EVENTS = GroupVersionResource("", "v1", "events")


async def nothing():
    pass


def campaign(server, identity, count, first=0):
    ownership = Ownership(count, first)
    return Campaign(Client(server), "copier", SPACE, identity, ownership, clock=VirtualClock())


def holders(server):
    found = {key[2]: tree["spec"].get("holderIdentity") for key, tree in server.objects.items() if key[0] == LEASES}
    return {name: holder for name, holder in found.items() if holder}


def held(of):
    return [shard for shard in range(of.ownership.count) if of.ownership.holds(shard)]


async def stop(*tasks):
    for task in tasks:
        task.cancel()
    return await asyncio.gather(*tasks, return_exceptions=True)


def write(kind=CONFIG_MAPS):
    return Request(Verb.CREATE, kind, "default", body={"metadata": {"name": "it", "namespace": "default"}})


def test_one_replica_holds_all_shards_and_a_second_one_gets_its_share(server):
    async def main():
        one, two = campaign(server, "one", 5), campaign(server, "two", 5)
        first = asyncio.create_task(one.run(nothing))
        await asyncio.sleep(10)
        assert held(one) == [0, 1, 2, 3, 4]
        second = asyncio.create_task(two.run(nothing))
        await asyncio.sleep(10)
        assert len(held(one)) == 3
        assert len(held(two)) == 2
        assert 0 in held(one)
        assert sorted(held(one) + held(two)) == [0, 1, 2, 3, 4]
        await stop(first)
        await asyncio.sleep(5)
        assert held(two) == [0, 1, 2, 3, 4]
        await stop(second)
        assert holders(server) == {}

    run_virtual(main)


def test_what_a_replica_that_died_held_is_taken_when_its_leases_have_run_out(server):
    async def main():
        class Link:
            broken = False

            async def send(self, request):
                if self.broken:
                    raise Unavailable("no route")
                return await server.send(request)

        link = Link()
        one, two = campaign(link, "one", 4), campaign(server, "two", 4)
        first = asyncio.create_task(one.run(nothing))
        await asyncio.sleep(5)
        second = asyncio.create_task(two.run(nothing))
        await asyncio.sleep(10)
        link.broken = True
        await asyncio.sleep(12)
        assert held(one) == []
        await asyncio.sleep(15)
        assert held(two) == [0, 1, 2, 3]
        assert isinstance((await stop(first, second))[0], LeadershipLost)

    run_virtual(main)


def test_a_shard_is_handed_over_when_the_work_on_its_keys_has_ended(server):
    async def main():
        one, two = campaign(server, "one", 2), campaign(server, "two", 2)
        first = asyncio.create_task(one.run(nothing))
        await asyncio.sleep(5)
        key = next(str(number) for number in range(99) if one.ownership.shard(str(number)) == 1)
        tenure = one.ownership.of(key)
        with tenure.working():
            second = asyncio.create_task(two.run(nothing))
            await asyncio.sleep(20)
            assert one.ownership.of(key) is None, "no more work begins"
            assert tenure.leads, "what is under way may write"
            assert held(two) == []
        await asyncio.sleep(5)
        assert held(two) == [1]
        assert not tenure.leads
        await stop(first, second)

    run_virtual(main)


def test_writes_are_refused_outside_of_a_tenure_and_after_its_end(server):
    async def main():
        elector = LeaderElector(Client(server), "copier", SPACE, "one", clock=VirtualClock())
        await elector.attempt()
        tenure, fenced = Tenure(0, elector), ShardedTransport(server)
        with pytest.raises(NotLeader, match="belongs to no shard"):
            await fenced.send(write())
        await fenced.send(Request(Verb.LIST, CONFIG_MAPS))
        await fenced.send(write(EVENTS))
        with tenure.working():
            await asyncio.gather(fenced.send(write()))
            tenure.end()
            assert elector.leads
            with pytest.raises(NotLeader):
                await fenced.send(write())

    run_virtual(main)


def taken(server, shard, by, count):
    """Somebody else holds the lease of a shard."""
    name = f"copier-shard-{shard}" if shard else "copier"
    metadata = {"name": name, "namespace": SPACE, "annotations": {"karmada.io/shards": str(count)}}
    lease = {"metadata": metadata, "spec": {"holderIdentity": by, "leaseDurationSeconds": 15}}
    server.put(LEASES, lease)


def test_a_replica_gives_up_its_shards_when_the_first_one_is_taken_with_another_number(server):
    async def main():
        taken(server, 0, "leader", 4)
        old = campaign(server, "old", 4)
        task = asyncio.create_task(old.run(nothing))
        await asyncio.sleep(5)
        assert held(old) == [1, 2, 3]
        taken(server, 0, "new", 8)
        await asyncio.sleep(5)
        assert held(old) == []
        await stop(task)

    run_virtual(main)


def test_a_replica_with_another_number_of_shards_waits_until_nobody_holds_one_of_the_former_number(server):
    async def main():
        taken(server, 2, "old", 4)
        new = campaign(server, "new", 8)
        task = asyncio.create_task(new.run(nothing))
        await asyncio.sleep(14)
        assert server.objects[LEASES, SPACE, "copier"]["spec"]["holderIdentity"] == "new"
        assert held(new) == []
        await asyncio.sleep(10)
        assert held(new) == list(range(8))
        await stop(task)

    run_virtual(main)


def test_one_leader_without_shards_waits_for_the_shards_of_former_replicas(server):
    async def main():
        sharded = campaign(server, "sharded", 3)
        task = asyncio.create_task(sharded.run(nothing))
        await asyncio.sleep(5)
        lease = server.objects[LEASES, SPACE, "copier"]
        assert lease["metadata"]["annotations"]["karmada.io/shards"] == "3"
        server.objects[LEASES, SPACE, "copier"]["spec"].pop("holderIdentity")
        alone = LeaderElector(Client(server), "copier", SPACE, "alone", clock=VirtualClock())
        assert await alone.attempt()
        assert alone.shards_before == 3
        assert "karmada.io/shards" not in server.objects[LEASES, SPACE, "copier"]["metadata"]["annotations"]
        leases = Client(server).resource(LEASES)
        others = OtherLayouts(leases, "copier", SPACE, 1, Timing(), VirtualClock())
        assert await others.held()
        await others.gone()
        assert held(sharded) == []
        await stop(task)

    run_virtual(main)


def test_a_controller_works_on_the_keys_of_its_shards_and_looks_at_those_it_acquires(server):
    async def main():
        seen = []

        async def reconcile(key):
            seen.append(key)
            return DONE

        ownership = Ownership(2)
        keys = [str(number) for number in range(20)]
        controller = Controller("copier", reconcile, clock=VirtualClock())
        controller.divide(ownership, lambda key: key, lambda: keys)
        running = asyncio.create_task(controller.run())
        for key in keys:
            controller.enqueue(key)
        await asyncio.sleep(1)
        assert seen == []
        elector = LeaderElector(Client(server), "copier", SPACE, "one", clock=VirtualClock())
        await elector.attempt()
        tenure = Tenure(1, elector)
        ownership.begin(tenure)
        await asyncio.sleep(1)
        assert sorted(seen) == sorted(key for key in keys if ownership.shard(key) == 1)
        controller.queue.add_after(seen[0], 5)
        controller.enqueue(seen[1])
        del seen[:]
        ownership.end(tenure)
        await asyncio.sleep(10)
        assert seen == [], "what was waiting is dropped with its shard"
        await stop(running)

    run_virtual(main)
