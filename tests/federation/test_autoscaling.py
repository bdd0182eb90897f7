"""A FederatedHPA over three simulated clusters, in virtual time: what it does with less than the whole truth."""

import re
from collections import Counter

import msgspec
from tests.federation.closed_loop import AUTOSCALER, DEPLOYMENT, POLICY, in_virtual_time, under_load

from karmada.machinery.errors import Unavailable
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource, Verb
from karmada.simulator.spec import FleetSpec, numbered

DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
EVENTS = GroupVersionResource("", "v1", "events")


def _without_metrics(member, *but):
    return msgspec.structs.replace(member, ready_seconds=0.0, metrics_server=member.name in but)


async def replicas(federation):
    return (await federation.get("Deployment", "web"))["spec"]["replicas"]


async def status(federation):
    found = await federation.get("FederatedHPA", "web", api_version="autoscaling.karmada.io/v1alpha1")
    return found.get("status") or {}


async def events(federation):
    return (await federation.hub.resource(EVENTS).list(Scope("default"))).items


async def condition(federation, type_):
    return next(c for c in (await status(federation))["conditions"] if c["type"] == type_)


async def deployed(federation, clock, *more):
    await federation.apply(DEPLOYMENT, POLICY, *(more or (AUTOSCALER,)))
    await clock.sleep(20)


def test_a_member_that_hangs_costs_its_own_pods_only():
    async def scenario(federation, clock):
        async with under_load(federation, clock, 150) as load:
            await deployed(federation, clock)
            federation.members["member2"].hang()
            load.total = 250
            await clock.sleep(60)
            assert await replicas(federation) == 6

    in_virtual_time(scenario)


def test_a_member_that_is_not_read_is_named_until_it_is():
    async def scenario(federation, clock):
        await deployed(federation, clock)
        assert "ClustersRead" not in {c["type"] for c in (await status(federation))["conditions"]}
        rejecting.add("member2")
        await clock.sleep(30)
        found = await condition(federation, "ClustersRead")
        assert (found["status"], found["reason"]) == ("False", "ClusterNotReadable")
        assert found["message"] == "member2: not now"
        await clock.sleep(60)
        named = [event for event in await events(federation) if event["reason"] == "ClusterNotReadable"]
        assert [(event["message"], event.get("count")) for event in named] == [("member2: not now", 1)]
        rejecting.clear()
        await clock.sleep(30)
        found = await condition(federation, "ClustersRead")
        assert (found["status"], found["reason"]) == ("True", "AllClustersRead")

    rejecting = set()

    def refuse(name, request):
        if name in rejecting and request.resource.resource == "pods" and request.namespace:
            raise Unavailable("not now")

    in_virtual_time(scenario, on_request=refuse)


def test_what_is_not_known_removes_nothing():
    """All but one of the members stop answering while the load falls: nobody knows what their pods do."""

    async def scenario(federation, clock):
        async with under_load(federation, clock, 600) as load:
            await deployed(federation, clock)
            await clock.sleep(45)
            assert await replicas(federation) == 12
            for member in federation.members.values():
                member.hang()
            load.total = 0
            await clock.sleep(180)
            assert await replicas(federation) == 12
            assert (await condition(federation, "AbleToScale"))["reason"] == "FailedGetScale"

    in_virtual_time(scenario)


def test_pods_of_a_member_without_metrics_are_taken_to_be_busy():
    """One pod of three idles and nothing is known of the others: nothing is removed, though one pod could do."""

    async def scenario(federation, clock):
        federation.members["member1"].use("default/web-*", 0)
        await deployed(federation, clock, AUTOSCALER.replace("minReplicas: 3", "minReplicas: 1"))
        await clock.sleep(180)
        assert await replicas(federation) == 3
        assert (await condition(federation, "ScalingActive"))["status"] == "True"

    in_virtual_time(scenario, fleet=FleetSpec(tuple(_without_metrics(m, "member1") for m in numbered(3).members)))


def test_two_autoscalers_of_the_same_pods_say_so_and_scale_nothing():
    async def scenario(federation, clock):
        async with under_load(federation, clock, 600):
            second = AUTOSCALER.replace("metadata: {name: web}", "metadata: {name: other}")
            await deployed(federation, clock, AUTOSCALER, second)
            await clock.sleep(30)
            found = await condition(federation, "ScalingActive")
            assert found["reason"] == "AmbiguousSelector"
            assert "[default/other default/web]" in found["message"]

    in_virtual_time(scenario)


def test_a_template_without_replicas_is_left_alone():
    async def scenario(federation, clock):
        await deployed(federation, clock)
        await federation.hub.resource(DEPLOYMENTS).set_scale("web", 0, "default")
        await clock.sleep(60)
        assert await replicas(federation) == 0
        assert (await condition(federation, "ScalingActive"))["reason"] == "ScalingDisabled"

    in_virtual_time(scenario)


def test_replicas_outside_the_bounds_are_brought_within_them():
    async def scenario(federation, clock):
        async with under_load(federation, clock, 150):
            await deployed(federation, clock)
            await federation.hub.resource(DEPLOYMENTS).set_scale("web", 30, "default")
            await clock.sleep(20)
            assert await replicas(federation) == 24
            messages = [e["message"] for e in await events(federation) if e["reason"] == "SuccessfulRescale"]
            assert "New size: 24; reason: Current number of replicas above Spec.MaxReplicas" in messages

    in_virtual_time(scenario)


def test_a_missing_target_is_named():
    async def scenario(federation, clock):
        await federation.apply(AUTOSCALER)
        await clock.sleep(5)
        found = await condition(federation, "AbleToScale")
        assert (found["status"], found["reason"]) == ("False", "FailedGetScaleTargetRef")
        assert 'deployments.apps "web" not found' in found["message"]
        assert "FailedGetScaleTargetRef" in {event["reason"] for event in await events(federation)}
        figures = {sample.name for family in federation.plane.metrics.collect() for sample in family.samples}
        assert "federatedhpa_process_duration_seconds_count" in figures

    in_virtual_time(scenario)


def test_a_target_that_is_deleted_is_named_and_comes_back_with_what_it_had():
    async def scenario(federation, clock):
        async with under_load(federation, clock, 300):
            await deployed(federation, clock)
            await federation.hub.resource(DEPLOYMENTS).delete("web", "default")
            await clock.sleep(30)
            assert (await condition(federation, "AbleToScale"))["reason"] == "FailedGetScaleTargetRef"
            await federation.apply(DEPLOYMENT.replace("replicas: 3", "replicas: 7"))
            await clock.sleep(30)
            assert (await condition(federation, "AbleToScale"))["status"] == "True"
            assert await replicas(federation) == 7

    in_virtual_time(scenario)


def test_autoscalers_of_a_namespace_share_what_is_read():
    """Ten autoscalers over three members: three lists of pods and three of metrics per period, not thirty each."""

    async def scenario(federation, clock):
        for index in range(10):
            name = f"web{index}"
            for text in (DEPLOYMENT, POLICY, AUTOSCALER):
                text = text.replace("name: web", f"name: {name}").replace("app: web", f"app: {name}")
                await federation.apply(text)
        await clock.sleep(40)
        requests.clear()
        await clock.sleep(60)
        for name in federation.members:
            for group in ("", "metrics.k8s.io"):
                assert 3 <= requests[name, group] <= 5, (name, group)

    requests = Counter()

    def count(name, request):
        if request.verb is Verb.LIST and request.resource.resource == "pods" and request.namespace:
            requests[name, request.resource.group] += 1

    in_virtual_time(scenario, on_request=count)


def following(*metrics):
    return {
        "apiVersion": "autoscaling.karmada.io/v1alpha1",
        "kind": "FederatedHPA",
        "metadata": {"name": "web"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 3,
            "maxReplicas": 24,
            "metrics": list(metrics),
        },
    }


PODS_METRIC = {
    "type": "Pods",
    "pods": {"metric": {"name": "rate"}, "target": {"type": "AverageValue", "averageValue": "10"}},
}
OBJECT_METRIC = {
    "type": "Object",
    "object": {
        "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "web"},
        "metric": {"name": "hits"},
        "target": {"type": "AverageValue", "averageValue": "30"},
    },
}


def test_replicas_follow_a_custom_metric_of_pods():
    async def scenario(federation, clock):
        for member in federation.members.values():
            member.measure("pods", "rate", "default/web-*", "15")
        await deployed(federation, clock, following(PODS_METRIC))
        current = (await status(federation))["currentMetrics"][0]["pods"]["current"]
        assert current == {"averageValue": "15"}
        # As long as more pods do not lower it: 3, 5, 8 and so on.
        await clock.sleep(90)
        assert await replicas(federation) == 24
        for member in federation.members.values():
            member.measure("pods", "rate", "default/web-*", "5")
        await clock.sleep(90)
        assert await replicas(federation) == 12

    in_virtual_time(scenario)


def test_the_metric_of_an_object_is_the_sum_over_clusters_and_a_part_of_it_removes_nothing():
    async def scenario(federation, clock):
        for member in federation.members.values():
            member.measure("services", "hits", "default/web", "60")
        await deployed(federation, clock, following(OBJECT_METRIC))
        # 180 at 30 for each pod are six pods.
        assert await replicas(federation) == 6
        for member in federation.members.values():
            member.measure("services", "hits", "default/web", "10")
        federation.members["member2"].fail()
        await clock.sleep(120)
        assert (await replicas(federation)) >= 6
        assert (await condition(federation, "ScalingActive"))["reason"] == "FailedGetObjectMetric"
        federation.members["member2"].recover()
        await clock.sleep(180)
        assert await replicas(federation) == 3

    in_virtual_time(scenario)


def test_a_metric_that_nobody_serves_changes_nothing_and_is_named():
    async def scenario(federation, clock):
        external = {
            "type": "External",
            "external": {"metric": {"name": "queue"}, "target": {"type": "Value", "value": "1"}},
        }
        await deployed(federation, clock, following(external))
        assert await replicas(federation) == 3
        found = await condition(federation, "ScalingActive")
        assert found["reason"] == "FailedGetExternalMetric"
        assert "unable to fetch metrics from external metrics API" in found["message"]

    in_virtual_time(scenario)


def test_a_cluster_without_room_is_named_with_what_it_lacks():
    """Every pod asks for 3 CPUs; the weight of member1 gives it more of them than its nodes have."""

    async def scenario(federation, clock):
        for member in federation.members.values():
            member.use("default/web-*", 3000)
        large = DEPLOYMENT.replace("cpu: 100m", "cpu: 3000m").replace("replicas: 3", "replicas: 12")
        heavy = POLICY.replace("[member1]}, weight: 1", "[member1]}, weight: 10")
        await federation.apply(large, heavy, AUTOSCALER)
        await clock.sleep(60)
        found = await condition(federation, "ScalingLimited")
        assert (found["status"], found["reason"]) == ("True", "InsufficientCapacity")
        assert re.search(r"member1 has no room for \d+ pods: insufficient cpu", found["message"]), found

    in_virtual_time(scenario)


def test_replicas_that_a_cluster_has_no_room_for_go_to_others_and_no_more_are_asked_for_than_fit():
    """Every pod asks for a CPU and uses all of it; 24, 16 and 4 CPUs are there, and member1 is preferred ten to one."""

    async def scenario(federation, clock):
        for member in federation.members.values():
            member.use("default/web-*", 1000)
        large = DEPLOYMENT.replace("cpu: 100m", "cpu: 1000m")
        heavy = POLICY.replace("[member1]}, weight: 1", "[member1]}, weight: 10")
        await federation.apply(large, heavy, AUTOSCALER.replace("maxReplicas: 24", "maxReplicas: 36"))
        await clock.sleep(90)
        assert await federation.placement("Deployment", "web") == {"member1": 24, "member2": 8, "member3": 4}
        await federation.apply(AUTOSCALER.replace("maxReplicas: 24", "maxReplicas: 60"))
        await clock.sleep(60)
        assert await federation.placement("Deployment", "web") == {"member1": 24, "member2": 16, "member3": 4}
        found = await condition(federation, "ScalingLimited")
        assert (found["status"], found["reason"]) == ("True", "InsufficientCapacity")
        assert "member2 has room for 0 more (insufficient cpu)" in found["message"]
        assert (await status(federation))["desiredReplicas"] == 44

    in_virtual_time(scenario, gates="RoomAwareScaling=true")
