"""A FederatedHPA closes its loop over three simulated clusters, in virtual time."""

import asyncio
import contextlib
import math
import re
from collections import Counter

import msgspec

from karmada.controllers.cluster_status import StatusOptions
from karmada.controllers.federated_hpa import AutoscalerOptions
from karmada.machinery.options import Options
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource, Verb
from karmada.simulator.spec import FleetSpec, numbered
from karmada.standalone.control_plane import ControlPlaneOptions
from karmada.testing.federation import Federation
from karmada.testing.loop import VirtualClock, run_virtual

PODS = GroupVersionResource("", "v1", "pods")
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
EVENTS = GroupVersionResource("", "v1", "events")
PROBING = StatusOptions(period=5.0, success_threshold=0, failure_threshold=0, probe_timeout=2.0)
REQUEST = 100
"""Thousandths of a CPU that a pod asks for; half of it is the target."""
IDEAL = REQUEST // 2
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: app
        image: nginx:1.25
        resources: {requests: {cpu: 100m}}
"""
POLICY = """
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
  placement:
    clusterAffinity: {clusterNames: [member1, member2, member3]}
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Weighted
      weightPreference:
        staticWeightList:
        - {targetCluster: {clusterNames: [member1]}, weight: 1}
        - {targetCluster: {clusterNames: [member2]}, weight: 1}
        - {targetCluster: {clusterNames: [member3]}, weight: 1}
"""
AUTOSCALER = """
apiVersion: autoscaling.karmada.io/v1alpha1
kind: FederatedHPA
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 3
  maxReplicas: 24
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}
"""


def _without_metrics(member, *but):
    return msgspec.structs.replace(member, ready_seconds=0.0, metrics_server=member.name in but)


def in_virtual_time(scenario, fleet=None, stabilization=60.0, on_request=None):
    async def main():
        clock = VirtualClock()
        # The CPU of new pods counts at once: what a pod uses here does not depend on its age.
        hpa = AutoscalerOptions(stabilization=stabilization, cpu_initialization=0.0)
        options = ControlPlaneOptions(options=Options(PROBING, hpa), clock=clock)
        async with Federation(3, fleet=fleet, options=options, on_request=on_request) as federation:
            await scenario(federation, clock)

    run_virtual(main)


async def replicas(federation):
    return (await federation.get("Deployment", "web"))["spec"]["replicas"]


async def status(federation):
    found = await federation.get("FederatedHPA", "web", api_version="autoscaling.karmada.io/v1alpha1")
    return found.get("status") or {}


async def events(federation):
    return (await federation.hub.resource(EVENTS).list(Scope("default"))).items


async def condition(federation, type_):
    return next(c for c in (await status(federation))["conditions"] if c["type"] == type_)


class Load:
    """Work that all running pods of all clusters share evenly, in thousandths of a CPU."""

    def __init__(self, federation, clock):
        self._federation = federation
        self._clock = clock
        self.total = 0

    async def run(self):
        while True:
            await self.share()
            await self._clock.sleep(1)

    async def share(self):
        ready = {}
        for name, member in self._federation.members.items():
            pods = (await member.client.resource(PODS).list(Scope("default", "app=web"))).items
            ready[name] = sum(pod["status"].get("phase") == "Running" for pod in pods)
        serving = sum(ready.values())
        each = math.ceil(self.total / serving) if serving else IDEAL
        for member in self._federation.members.values():
            member.use("default/web-*", each)


@contextlib.asynccontextmanager
async def under_load(federation, clock, total):
    load = Load(federation, clock)
    load.total = total
    task = asyncio.create_task(load.run())
    try:
        yield load
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def deployed(federation, clock, *more):
    await federation.apply(DEPLOYMENT, POLICY, *(more or (AUTOSCALER,)))
    await clock.sleep(20)


def test_replicas_follow_the_load_and_a_lost_cluster_does_not_lower_the_total():
    """Twelve replicas are needed for 600m at half of 100m each, fifteen for 720m, three for 100m."""

    async def scenario(federation, clock):
        async with under_load(federation, clock, 150) as load:
            await deployed(federation, clock)
            assert await replicas(federation) == 3
            curve = []

            async def pass_(seconds):
                for _ in range(seconds // 15):
                    await clock.sleep(15)
                    curve.append(await replicas(federation))

            load.total = 600
            await pass_(45)
            assert curve == [6, 12, 12]
            assert await federation.placement("Deployment", "web") == {"member1": 4, "member2": 4, "member3": 4}
            federation.members["member3"].fail()
            curve.clear()
            await pass_(120)
            # Eight pods are seen, each as busy as wanted: they are two thirds of twelve.
            assert set(curve) == {12}
            load.total = 720
            curve.clear()
            await pass_(30)
            assert curve == [15, 15]
            federation.members["member3"].recover()
            await pass_(30)
            assert curve[-1] == 15
            load.total = 100
            curve.clear()
            await pass_(120)
            # The highest recommendation of a minute holds; then all at once.
            assert curve[:4] == [15, 15, 15, 15]
            assert curve[-1] == 3
            assert curve == sorted(curve, reverse=True)

    in_virtual_time(scenario)


def test_a_member_that_hangs_costs_its_own_pods_only():
    async def scenario(federation, clock):
        async with under_load(federation, clock, 150) as load:
            await deployed(federation, clock)
            federation.members["member2"].hang()
            load.total = 250
            await clock.sleep(60)
            assert await replicas(federation) == 6

    in_virtual_time(scenario)


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


def test_autoscalers_of_a_namespace_share_what_is_read():
    """Ten autoscalers over three members: three lists of pods and three of metrics per period, not thirty each."""

    async def scenario(federation, clock):
        for index in range(10):
            name = f"web{index}"
            for text in (DEPLOYMENT, POLICY, AUTOSCALER):
                text = text.replace("name: web", f"name: {name}").replace("app: web", f"app: {name}")
                await federation.apply(text)
        await clock.sleep(40)
        asked.clear()
        await clock.sleep(60)
        for name in federation.members:
            for group in ("", "metrics.k8s.io"):
                assert 3 <= asked[name, group] <= 5, (name, group)

    asked = Counter()

    def count(name, request):
        if request.verb is Verb.LIST and request.resource.resource == "pods" and request.namespace:
            asked[name, request.resource.group] += 1

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
