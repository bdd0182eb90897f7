"""How often FederatedHPAs look, how fast they move, and what room they count on."""

import zlib
from dataclasses import replace

import pytest
from tests.controllers.autoscaling import AUTOSCALERS, CPU, scaling
from tests.controllers.plane import CLUSTERS

from karmada.api.feature_gates import parse
from karmada.controllers.federated_hpa import AutoscalerOptions

DOWN = {"type": "Percent", "value": 100, "periodSeconds": 15}


async def running(world, replicas, usage="50m", **binding):
    await world.members["m1"].run(replicas, usage=usage)
    await world.template(replicas)
    await world.bind("m1", **binding)


def test_the_autoscalers_of_a_namespace_look_at_the_same_moment_of_every_period():
    async def scenario(world):
        await running(world, 1)
        await world.autoscale(CPU)
        await world.sleep(1)
        looks = world.members["m1"].transport.times
        looks.clear()
        await world.sleep(2000)
        moment = zlib.crc32(b"default") % 1000
        assert [round((look - moment) % 1000, 3) % 1000 for look in sorted(set(looks))] == [0, 0]

    scaling(scenario, AutoscalerOptions(period=1000.0))


def test_what_members_answered_serves_for_half_a_period():
    async def scenario(world):
        transport = world.members["m1"].transport
        await running(world, 1)
        await world.autoscale(CPU)
        await world.sleep(1)
        first = transport.asked.count(("v1/pods", "app=web"))
        await world.sleep(450)
        await world.client.resource(AUTOSCALERS).patch("web", {"spec": {"maxReplicas": 30}}, "default")
        await world.sleep(1)
        assert transport.asked.count(("v1/pods", "app=web")) == first
        await world.sleep(50)
        await world.client.resource(AUTOSCALERS).patch("web", {"spec": {"minReplicas": 2}}, "default")
        await world.sleep(1)
        assert await world.replicas() == 2
        assert transport.asked.count(("v1/pods", "app=web")) == first + 1

    scaling(scenario, AutoscalerOptions(period=1000.0))


def test_replicas_grow_no_faster_than_the_policy_of_their_behavior():
    async def scenario(world):
        await running(world, 3, "100m")
        policy = {"type": "Pods", "value": 2, "periodSeconds": 120}
        await world.autoscale(CPU, behavior={"scaleUp": {"policies": [policy]}})
        await world.sleep(100)
        assert await world.replicas() == 5
        assert (await world.condition("ScalingLimited"))[:2] == ("True", "ScaleUpLimit")
        await world.sleep(60)
        assert await world.replicas() == 7

    scaling(scenario)


def test_recommendations_hold_for_the_window_of_the_behavior():
    async def scenario(world):
        await running(world, 3)
        await world.autoscale(CPU, behavior={"scaleDown": {"stabilizationWindowSeconds": 600, "policies": [DOWN]}})
        await world.sleep(1)
        world.members["m1"].use({f"web-{number}": "0" for number in range(3)})
        await world.sleep(550)
        assert await world.replicas() == 3
        assert (await world.condition("AbleToScale"))[:2] == ("True", "ScaleDownStabilized")
        await world.sleep(100)
        assert await world.replicas() == 1

    scaling(scenario)


def summary(cpu, pods="100"):
    served = {"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]}
    free = {"resourceSummary": {"allocatable": {"cpu": cpu, "pods": pods}}} if cpu else {}
    return {"status": {"apiEnablements": [served], **free}}


DIVIDED = {
    "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"},
    "clusterAffinity": {"clusterNames": ["m1", "m2"]},
}
ASKING = {"replicaRequirements": {"resourceRequest": {"cpu": "100m"}}}
LIMITED = "True", "InsufficientCapacity"


@pytest.mark.parametrize(
    ("rooms", "binding", "wanted", "limited"),
    [
        (("100m", "100m"), {"placement": DIVIDED, **ASKING}, 5, LIMITED),
        (("100m", "1"), {"placement": DIVIDED, **ASKING}, 6, ("False", "ScalingOut")),
        (("1", "0"), {"placement": DIVIDED, **ASKING}, 6, None),
        (("0", "0"), {"placement": DIVIDED}, 6, None),
        (("0", "0"), {"placement": DIVIDED, **ASKING}, 3, LIMITED),
        (("100m", None), {"placement": DIVIDED, **ASKING}, 6, ("False", "ScalingOut")),
        (("0", "0"), {"placement": {"clusterAffinity": {"clusterNames": ["m1"]}}, **ASKING}, 6, None),
        (("0", "0"), ASKING, 6, None),
    ],
    ids=[
        "less than wanted",
        "the rest elsewhere",
        "enough",
        "nothing but pods is asked for",
        "none",
        "not said",
        "duplicated",
        "no placement",
    ],
)
def test_no_more_replicas_are_asked_for_than_clusters_have_room_for(rooms, binding, wanted, limited):
    async def scenario(world):
        for name, room in zip(("m1", "m2"), rooms, strict=True):
            await world.client.resource(CLUSTERS).patch(name, summary(room), subresource="status")
        await running(world, 3, "100m", **binding)
        await world.autoscale(CPU)
        await world.sleep(2)
        assert await world.replicas() == wanted
        found = (await world.condition("ScalingLimited"))[:2]
        assert found == (limited or ("False", "DesiredWithinRange"))

    scaling(scenario, prepare=with_room)


def with_room(plane):
    plane.context = replace(plane.context, gates=parse("RoomAwareScaling=true"))


def test_replicas_that_were_just_added_take_room_that_clusters_still_report():
    async def scenario(world):
        for name in ("m1", "m2"):
            await world.client.resource(CLUSTERS).patch(name, summary("200m"), subresource="status")
        await running(world, 3, "60m", placement=DIVIDED, **ASKING)
        moment = zlib.crc32(b"default") % 1000 / 1000 * 20
        await world.sleep((moment - world.plane.clock.now()) % 20 + 1)
        await world.autoscale(CPU)
        await world.sleep(1)
        assert await world.replicas() == 4
        world.members["m1"].use({f"web-{number}": "500m" for number in range(3)})
        await world.sleep(18.5)
        assert await world.replicas() == 7

    scaling(scenario, AutoscalerOptions(period=20.0), prepare=with_room)


def test_pods_for_which_a_member_has_no_node_are_named():
    async def scenario(world):
        await running(world, 2)
        message = "0/3 nodes are available: 3 Insufficient cpu."
        waiting = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        await world.members["m1"].pod("web-9", {"app": "web"}, "Pending", "False", conditions=[waiting])
        await world.autoscale(CPU)
        await world.sleep(1)
        text = "m1 has no room for 1 pod: insufficient cpu"
        assert await world.condition("ScalingLimited") == (*LIMITED, text)
        assert await world.replicas() == 2

    scaling(scenario)
