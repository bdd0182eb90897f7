"""Controllers follow any kind of a member."""

from karmada.apiserver.server import ADMIN, ApiServer
from karmada.controllers.member_watches import MemberWatches
from karmada.machinery.client import Client
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.resource import Scope
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource
from karmada.membership.connections import connection_of
from karmada.testing.loop import VirtualClock, run_virtual

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")


def test_a_part_of_a_kind_that_nobody_manages_can_be_followed():
    async def scenario():
        clock = VirtualClock()
        seen = []
        async with ApiServer() as hub, ApiServer() as server, Supervisor(clock) as supervisor:
            client = Client(server.direct(ADMIN))
            clusters = InformerFactory(Client(hub.direct(ADMIN)), supervisor, clock=clock).resource(CONFIG_MAPS)
            watches = MemberWatches(clusters, lambda name, _, changes: seen.extend((name, c.key.name) for c in changes))
            member = connection_of("m1", server.direct(ADMIN), clock)
            for name, colour in (("one", "red"), ("two", "blue")):
                tree = {"metadata": {"name": name, "labels": {"colour": colour}}}
                await client.resource(CONFIG_MAPS).create(tree, "default")
            for scope in (Scope(labels="colour=red"), Scope(labels="colour=red"), Scope(fields="metadata.name=two")):
                watches.follow("m1", CONFIG_MAPS, member.informer(CONFIG_MAPS, scope))
            await clock.sleep(1)
            assert sorted(seen) == [("m1", "one"), ("m1", "two")]
            await member.close()

    run_virtual(scenario)
