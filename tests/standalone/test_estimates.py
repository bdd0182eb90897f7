"""What members are asked by the embedded scheduler: one that cannot be read holds up one decision, and not all."""

from tests.controllers.plane import OneMember, on_a_plane, server, unloadable
from tests.scheduler.facts import binding, cluster

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.estimator.state import NODES, PODS
from karmada.scheduler.core.snapshot import Snapshot
from karmada.standalone.estimates import TIMEOUT, MemberEstimates

NODE = {"metadata": {"name": "n1"}}
READY = {"type": "Ready", "status": "True"}
STATUS = {"status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "5"}, "conditions": [READY]}}


async def estimated(plane, estimates):
    """What fits into the member, and the seconds until that was known."""
    started = plane.clock.monotonic()
    found = await estimates.estimate(Snapshot([cluster("m1")]), binding(3), ["m1"], False)
    return found, plane.clock.monotonic() - started


def test_a_member_whose_pods_cannot_be_read_holds_up_one_decision_and_not_every_one():
    async def scenario(plane):
        await plane.cluster("m1")
        async with server(plane.clock) as hosting:
            members = OneMember(hosting, plane.clock)
            transport = members.connection.client.transport
            sound = transport.watch
            unloadable(transport, PODS)
            nodes = members.client.resource(NODES)
            await nodes.create(NODE)
            await nodes.patch("n1", {"spec": {"taints": None}})
            await nodes.patch("n1", STATUS, subresource="status")
            clusters = plane.context.informers.of(Cluster)
            await clusters.synced()
            gates = plane.context.gates
            estimates = MemberEstimates(members, clusters, plane.supervisor, gates, plane.clock)
            found = [await estimated(plane, estimates) for _ in range(5)]
            assert found == [({}, TIMEOUT), *[({}, 0.0)] * 4]
            transport.watch = sound
            await plane.clock.sleep(60)
            assert await estimated(plane, estimates) == ({"m1": 5}, 0.0)
            estimates.forget("m1")
            await members.connection.close()

    on_a_plane(scenario)
