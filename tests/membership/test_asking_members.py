"""Controllers ask many members at once, and follow any kind of them."""

import asyncio

from karmada.api.cluster.v1alpha1 import Cluster, ClusterSpec
from karmada.api.meta import ObjectMeta
from karmada.apiserver.server import ADMIN, ApiServer
from karmada.controllers.member_watches import MemberWatches
from karmada.machinery.client import Client
from karmada.machinery.errors import NotFound
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.resource import Scope
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource
from karmada.membership.connections import connection_of
from karmada.membership.members import MemberUnavailable, ask_members
from karmada.testing.loop import VirtualClock, run_virtual

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")


class Members:
    """Members by name: what connecting gives, or raises."""

    def __init__(self, answers):
        self._answers = answers

    def concerns(self, cluster):
        return cluster.spec.sync_mode == "Push"

    async def connect(self, cluster):
        answer = self._answers[cluster.metadata.name]
        if isinstance(answer, Exception):
            raise answer
        return answer


def cluster(name, mode="Push"):
    return Cluster(metadata=ObjectMeta(name=name), spec=ClusterSpec(sync_mode=mode))


def test_no_member_delays_or_fails_another():
    async def scenario():
        clock = VirtualClock()

        async def question(member):
            if member == "silent":
                await clock.sleep(3600)
            if member == "empty":
                raise NotFound("there is none")
            return f"answer of {member}"

        members = Members({"a": "a", "b": "silent", "c": "empty", "d": MemberUnavailable("no credentials")})
        clusters = [*map(cluster, "abcd"), cluster("pulled", "Pull")]
        started = clock.monotonic()
        answers = await ask_members(members, clusters, question, seconds=2)
        assert clock.monotonic() - started == 2
        assert answers.pop("a") == "answer of a"
        assert {name: str(error) for name, error in answers.items()} == {
            "b": "no answer of b within 2 s",
            "c": "c: there is none",
            "d": "no credentials",
        }
        assert all(isinstance(error, MemberUnavailable) for error in answers.values())

    run_virtual(scenario)


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


def test_a_caller_that_is_cancelled_leaves_nobody_asking():
    async def scenario():
        clock = VirtualClock()
        ended = []

        async def question(member):
            try:
                await clock.sleep(3600)
            finally:
                ended.append(member)

        members = Members({"a": "a", "b": "b"})
        task = asyncio.ensure_future(ask_members(members, [cluster("a"), cluster("b")], question, seconds=60))
        await clock.sleep(1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert sorted(ended) == ["a", "b"]

    run_virtual(scenario)
