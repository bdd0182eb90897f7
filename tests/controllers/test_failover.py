"""Eviction from tainted clusters and of unhealthy workloads, and the end of evictions, in virtual time."""

from dataclasses import replace

import orjson
import pytest
from tests.controllers.plane import CLUSTERS, on_a_plane

from karmada.api.feature_gates import FeatureGates
from karmada.controllers.application_failover import ApplicationFailoverController
from karmada.controllers.eviction_storm import EvictionStorm, EvictionStormController, StormOptions
from karmada.controllers.graceful_eviction import GracefulEvictionController, GracefulEvictionOptions
from karmada.controllers.taint_manager import TaintManager, TaintManagerOptions
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource

BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
EVENTS = GroupVersionResource("", "v1", "events")
TAINT = {"key": "maintenance", "effect": "NoExecute"}
RESOURCE = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web", "uid": "u"}


async def bind(plane, name="web", clusters=("m1", "m2"), tolerations=(), **spec):
    """A binding that was scheduled with tolerations."""
    placement = orjson.dumps({"clusterTolerations": list(tolerations)}).decode()
    metadata = {"name": name, "namespace": "default", "annotations": {"policy.karmada.io/applied-placement": placement}}
    targets = [{"name": cluster, "replicas": 2} for cluster in clusters]
    tree = {"metadata": metadata, "spec": {"resource": RESOURCE, "replicas": 4, "clusters": targets, **spec}}
    await plane.client.resource(BINDINGS).create(tree)


async def taint(plane, cluster, *taints):
    added = [{**one, "timeAdded": rfc(plane)} for one in taints]
    await plane.client.resource(CLUSTERS).patch(cluster, {"spec": {"taints": added}})


def rfc(plane):
    from karmada.machinery.clock import rfc3339

    return rfc3339(plane.clock.now())


async def clusters_of(plane, name="web"):
    spec = (await plane.client.resource(BINDINGS).get(name, "default"))["spec"]
    return [target["name"] for target in spec.get("clusters", ())]


async def tasks_of(plane, name="web"):
    return (await plane.client.resource(BINDINGS).get(name, "default"))["spec"].get("gracefulEvictionTasks", [])


async def healths(plane, name="web", **health):
    items = [{"clusterName": cluster, "health": state} for cluster, state in health.items()]
    await plane.client.resource(BINDINGS).patch(
        name, {"status": {"aggregatedStatus": items}}, "default", subresource="status"
    )


async def evicting(plane, rate=100.0, **options):
    manager = TaintManager(plane.context, TaintManagerOptions(enabled=True, rate=rate, **options))
    plane.start(manager.controller)
    for name in ("m1", "m2"):
        await plane.cluster(name)
    await plane.clock.sleep(1)
    return manager.controller


def test_a_taint_that_nobody_tolerates_evicts_at_once():
    async def scenario(plane):
        await evicting(plane)
        await bind(plane)
        await taint(plane, "m1", TAINT)
        await plane.clock.sleep(1)
        assert await clusters_of(plane) == ["m2"]
        (task,) = await tasks_of(plane)
        assert (task["fromCluster"], task["replicas"], task["purgeMode"]) == ("m1", 2, "Gracefully")
        assert (task["reason"], task["producer"]) == ("TaintUntolerated", "TaintManager")

    on_a_plane(scenario)


def test_evictions_that_wait_and_that_were_done_are_counted():
    async def scenario(plane):
        await evicting(plane, rate=0.1)
        for name in ("web", "api", "db"):
            await bind(plane, name)
        await taint(plane, "m1", TAINT)
        await plane.clock.sleep(1)
        found = {
            (sample.name, *sample.labels.values()): sample.value
            for family in plane.context.metrics.collect()
            for sample in family.samples
        }
        assert found["eviction_queue_depth", "binding-eviction"] == 2
        assert found["eviction_queue_depth", "cluster-binding-eviction"] == 0
        assert found["eviction_kind_total", "m1", "Deployment"] == 2
        assert found["eviction_processing_total", "binding-eviction", "success"] == 1
        assert found["eviction_processing_latency_seconds_count", "binding-eviction"] == 1

    on_a_plane(scenario)


def test_a_toleration_with_an_end_delays_the_eviction():
    async def scenario(plane):
        await evicting(plane)
        await bind(plane, tolerations=[{"key": "maintenance", "operator": "Exists", "tolerationSeconds": 60}])
        await taint(plane, "m1", TAINT)
        await plane.clock.sleep(58)
        assert await clusters_of(plane) == ["m1", "m2"]
        await plane.clock.sleep(4)
        assert await clusters_of(plane) == ["m2"]

    on_a_plane(scenario)


@pytest.mark.parametrize("tolerated", [{"key": "maintenance", "operator": "Exists"}, {"operator": "Exists"}])
def test_what_is_tolerated_forever_stays(tolerated):
    async def scenario(plane):
        await evicting(plane)
        await bind(plane, tolerations=[tolerated])
        await taint(plane, "m1", TAINT)
        await plane.clock.sleep(3600)
        assert await clusters_of(plane) == ["m1", "m2"]

    on_a_plane(scenario)


def test_a_taint_that_is_taken_back_in_time_evicts_nothing():
    async def scenario(plane):
        await evicting(plane)
        await bind(plane, tolerations=[{"key": "maintenance", "operator": "Exists", "tolerationSeconds": 60}])
        await taint(plane, "m1", TAINT)
        await plane.clock.sleep(30)
        await taint(plane, "m1")
        await plane.clock.sleep(3600)
        assert await clusters_of(plane) == ["m1", "m2"]

    on_a_plane(scenario)


def test_evictions_are_paced():
    async def scenario(plane):
        await evicting(plane, rate=0.5)
        for index in range(5):
            await bind(plane, f"web{index}")
        await taint(plane, "m1", TAINT)
        evicted = []
        await plane.clock.sleep(1)
        for _ in range(5):
            evicted.append(sum([await clusters_of(plane, f"web{index}") == ["m2"] for index in range(5)]))
            await plane.clock.sleep(2)
        assert evicted == [1, 2, 3, 4, 5]

    on_a_plane(scenario)


def test_a_binding_that_comes_to_a_tainted_cluster_leaves_it_again():
    async def scenario(plane):
        await evicting(plane)
        await taint(plane, "m1", TAINT)
        await bind(plane)
        await plane.clock.sleep(1)
        assert await clusters_of(plane) == ["m2"]

    on_a_plane(scenario)


def test_a_rate_of_zero_pauses_evictions():
    async def scenario(plane):
        await evicting(plane, rate=0.0)
        await bind(plane)
        await taint(plane, "m1", TAINT)
        await plane.clock.sleep(600)
        assert await clusters_of(plane) == ["m1", "m2"]

    on_a_plane(scenario)


APPLICATION = {"application": {"decisionConditions": {"tolerationSeconds": 60}, "purgeMode": "Directly"}}


async def failing_over(plane, **failover):
    for name in ("m1", "m2"):
        await plane.cluster(name)
    plane.start(ApplicationFailoverController(plane.context).controller)
    await bind(plane, propagateDeps=True, failover=failover or APPLICATION)
    await plane.clock.sleep(1)


def test_a_workload_that_stays_unhealthy_is_evicted_when_its_toleration_ends():
    async def scenario(plane):
        await failing_over(plane)
        await healths(plane, m1="Unhealthy", m2="Healthy")
        await plane.clock.sleep(58)
        assert await clusters_of(plane) == ["m1", "m2"]
        await plane.clock.sleep(4)
        assert await clusters_of(plane) == ["m2"]
        (task,) = await tasks_of(plane)
        assert (task["reason"], task["purgeMode"]) == ("ApplicationFailure", "Directly")

    on_a_plane(scenario)


def test_a_restart_neither_forgets_a_toleration_nor_starts_it_anew():
    async def scenario(plane):
        async with Supervisor(plane.clock) as first:
            plane.begin(first)
            await failing_over(plane)
            await healths(plane, m1="Unhealthy", m2="Healthy")
            await plane.clock.sleep(40)
        async with Supervisor(plane.clock) as second:
            plane.begin(second)
            plane.start(ApplicationFailoverController(plane.context).controller)
            await plane.clock.sleep(15)
            assert await clusters_of(plane) == ["m1", "m2"]
            await plane.clock.sleep(10)
            assert await clusters_of(plane) == ["m2"]

    on_a_plane(scenario)


def test_a_workload_that_recovers_has_its_whole_toleration_again():
    async def scenario(plane):
        await failing_over(plane)
        await healths(plane, m1="Unhealthy", m2="Healthy")
        await plane.clock.sleep(50)
        await healths(plane, m1="Healthy", m2="Healthy")
        await plane.clock.sleep(1)
        binding = await plane.client.resource(BINDINGS).get("web", "default")
        assert "unhealthySince" not in binding["status"]
        await healths(plane, m1="Unhealthy", m2="Healthy")
        await plane.clock.sleep(50)
        assert await clusters_of(plane) == ["m1", "m2"]

    on_a_plane(scenario)


def test_under_a_migration_policy_a_cluster_that_stays_unavailable_counts_too():
    async def scenario(plane):
        await failing_over(plane, **APPLICATION, applicationMigrationPolicy={"decisionConditions": {}})
        await healths(plane, m1="Healthy", m2="Healthy")
        await plane.condition("m1", "Ready", "False")
        await plane.clock.sleep(50)
        assert await clusters_of(plane) == ["m1", "m2"]
        await plane.clock.sleep(15)
        assert await clusters_of(plane) == ["m2"]

    on_a_plane(scenario)


def test_an_evicted_copy_stays_until_its_replacement_is_healthy():
    async def scenario(plane):
        plane.start(GracefulEvictionController(plane.context, GracefulEvictionOptions()).controller)
        task = {"fromCluster": "m1", "reason": "TaintUntolerated", "producer": "TaintManager"}
        await bind(plane, clusters=("m2",), gracefulEvictionTasks=[task])
        await healths(plane, m2="Unhealthy")
        await plane.clock.sleep(300)
        assert [one["fromCluster"] for one in await tasks_of(plane)] == ["m1"]
        binding = await plane.client.resource(BINDINGS).get("web", "default")
        seen = {"status": {"schedulerObservedGeneration": binding["metadata"]["generation"]}}
        await plane.client.resource(BINDINGS).patch("web", seen, "default", subresource="status")
        await healths(plane, m2="Healthy")
        await plane.clock.sleep(1)
        assert await tasks_of(plane) == []

    on_a_plane(scenario)


def test_an_eviction_ends_with_its_grace_period_whatever_the_replacement_does():
    async def scenario(plane):
        plane.start(GracefulEvictionController(plane.context, GracefulEvictionOptions(timeout=120)).controller)
        task = {"reason": "TaintUntolerated", "producer": "TaintManager"}
        tasks = [{**task, "fromCluster": "m1"}, {**task, "fromCluster": "m3", "gracePeriodSeconds": 30}]
        await bind(plane, clusters=("m2",), gracefulEvictionTasks=tasks)
        await plane.clock.sleep(40)
        assert [one["fromCluster"] for one in await tasks_of(plane)] == ["m1"]
        await plane.clock.sleep(90)
        assert await tasks_of(plane) == []

    on_a_plane(scenario)


KEEPING = FeatureGates({"KeepLastCopy": True})
HEALTHY_TWO = {"applied": True, "health": "Healthy", "status": {"replicas": 2, "readyReplicas": 2}}


async def keeping(plane, ready=("m1", "m2"), **spec):
    """Graceful eviction under KeepLastCopy of a binding whose task for m1 has timed out; clusters are ready or not."""
    context = replace(plane.context, gates=KEEPING)
    plane.start(GracefulEvictionController(context, GracefulEvictionOptions(timeout=10)).controller)
    for name in ("m1", "m2"):
        await plane.cluster(name)
        await set_ready(plane, name, name in ready)
    await bind(plane, **{"clusters": ("m2",), "replicas": 2, "gracefulEvictionTasks": [TASK], **spec})


async def set_ready(plane, cluster, ready=True):
    condition = {"type": "Ready", "status": "True" if ready else "False", "reason": "x", "message": "", **NOW}
    await plane.client.resource(CLUSTERS).patch(cluster, {"status": {"conditions": [condition]}}, subresource="status")


async def reports(plane, **items):
    """What each cluster reports of its copy."""
    listed = [{"clusterName": cluster, **item} for cluster, item in items.items()]
    status = {"status": {"aggregatedStatus": listed}}
    await plane.client.resource(BINDINGS).patch("web", status, "default", subresource="status")


TASK = {"fromCluster": "m1", "replicas": 2, "reason": "TaintUntolerated", "producer": "TaintManager"}
NOW = {"lastTransitionTime": "2026-01-01T00:00:00Z"}
UNCONFIRMED = {
    "nothing is reported": {},
    "the replacement is unhealthy": {"m2": {"applied": True, "health": "Unhealthy"}},
    "too few replicas are ready": {"m2": {**HEALTHY_TWO, "status": {"replicas": 2, "readyReplicas": 1}}},
    "the report is older than its share": {"m2": {**HEALTHY_TWO, "status": {"replicas": 1, "readyReplicas": 1}}},
}


@pytest.mark.parametrize("items", UNCONFIRMED.values(), ids=UNCONFIRMED)
def test_no_timer_ends_an_eviction_without_a_confirmed_replacement(items):
    async def scenario(plane):
        await keeping(plane)
        await reports(plane, **items)
        await plane.clock.sleep(3600)
        (task,) = await tasks_of(plane)
        assert task["message"].startswith("KeepLastCopy: the copy stays until its replacement is confirmed")
        await reports(plane, m2=HEALTHY_TWO)
        await plane.clock.sleep(1)
        assert await tasks_of(plane) == []

    on_a_plane(scenario)


def test_without_any_target_the_evicted_copy_stays():
    async def scenario(plane):
        await keeping(plane, clusters=())
        await plane.clock.sleep(3600)
        assert await tasks_of(plane)

    on_a_plane(scenario)


def test_a_replacement_in_a_cluster_that_is_not_ready_is_not_believed():
    async def scenario(plane):
        await keeping(plane, ready=("m1",))
        await reports(plane, m2=HEALTHY_TWO)
        await plane.clock.sleep(3600)
        assert await tasks_of(plane)
        await set_ready(plane, "m2")
        await plane.clock.sleep(1)
        assert await tasks_of(plane) == []

    on_a_plane(scenario)


def test_an_eviction_ends_only_when_its_cluster_is_back_and_the_replacement_is_healthy_then():
    async def scenario(plane):
        await keeping(plane, ready=("m2",))
        await reports(plane, m2=HEALTHY_TWO)
        await plane.clock.sleep(3600)
        (task,) = await tasks_of(plane)
        assert "until its cluster is ready again" in task["message"]
        await set_ready(plane, "m2", False)
        await set_ready(plane, "m1")
        await plane.clock.sleep(60)
        assert await tasks_of(plane), "the replacement was healthy once, which is no reason to delete the copy now"
        await set_ready(plane, "m2")
        await plane.clock.sleep(1)
        assert await tasks_of(plane) == []

    on_a_plane(scenario)


@pytest.mark.parametrize("requested", [{"purgeMode": "Directly"}, {"suppressDeletion": False}], ids=str)
def test_an_explicit_purge_needs_no_replacement(requested):
    async def scenario(plane):
        await keeping(plane, clusters=(), gracefulEvictionTasks=[{**TASK, **requested}])
        await plane.clock.sleep(3600)
        assert await tasks_of(plane) == []

    on_a_plane(scenario)


def test_an_eviction_is_undone_when_the_copy_is_healthy_again_and_nothing_replaces_it():
    async def scenario(plane):
        await keeping(plane, ready=(), clusters=())
        await reports(plane, m1=HEALTHY_TWO)
        await taint(plane, "m1", TAINT)
        await plane.clock.sleep(60)
        await set_ready(plane, "m1")
        await plane.clock.sleep(60)
        assert await clusters_of(plane) == [], "while the taint lasts, the copy would be evicted again"
        await taint(plane, "m1")
        await plane.clock.sleep(2)
        assert (await clusters_of(plane), await tasks_of(plane)) == (["m1"], [])
        reasons = [event["reason"] for event in (await plane.client.resource(EVENTS).list()).items]
        assert "EvictionUndone" in reasons

    on_a_plane(scenario)


def test_a_copy_in_a_cluster_that_the_placement_means_no_more_is_not_taken_back():
    async def scenario(plane):
        await keeping(plane, clusters=(), placement={"clusterAffinity": {"clusterNames": ["m2"]}})
        await reports(plane, m1=HEALTHY_TWO)
        await plane.clock.sleep(3600)
        assert await clusters_of(plane) == [], "the scheduler could not use what is there, and would evict it again"
        assert await tasks_of(plane), "and yet it is the last copy"

    on_a_plane(scenario)


def test_while_most_clusters_are_unhealthy_nothing_is_evicted_and_they_say_so():
    async def scenario(plane):
        storm = EvictionStorm(plane.context, StormOptions(threshold=0.55))
        plane.start(TaintManager(plane.context, TaintManagerOptions(enabled=True, rate=100.0), storm).controller)
        plane.start(EvictionStormController(plane.context, storm).controller)
        for name in ("m1", "m2", "m3"):
            await plane.cluster(name)
            await set_ready(plane, name, name == "m3")
        await bind(plane)
        await plane.clock.sleep(1)
        await taint(plane, "m1", TAINT)
        await plane.clock.sleep(600)
        assert await clusters_of(plane) == ["m1", "m2"]
        assert await paused(plane, "m1") == ("True", "2 of 3 clusters are not ready: nothing is evicted")
        assert await paused(plane, "m3") is None
        await set_ready(plane, "m2")
        await plane.clock.sleep(11)
        assert await clusters_of(plane) == ["m2"]
        assert await paused(plane, "m1") == ("False", "1 of 3 clusters are not ready: evictions go on")
        reasons = [event["reason"] for event in (await plane.client.resource(EVENTS).list()).items]
        assert reasons.count("TooManyClustersUnhealthy") == 2

    on_a_plane(scenario)


def test_application_failover_waits_for_the_end_of_a_storm_and_forgets_no_toleration():
    async def scenario(plane):
        storm = EvictionStorm(plane.context, StormOptions(threshold=0.55))
        plane.start(ApplicationFailoverController(plane.context, storm).controller)
        for name in ("m1", "m2"):
            await plane.cluster(name)
            await set_ready(plane, name, False)
        await bind(
            plane, propagateDeps=True, failover={"application": {"decisionConditions": {"tolerationSeconds": 30}}}
        )
        await healths(plane, m1="Unhealthy", m2="Healthy")
        await plane.clock.sleep(600)
        assert await clusters_of(plane) == ["m1", "m2"]
        await set_ready(plane, "m2")
        await plane.clock.sleep(11)
        assert await clusters_of(plane) == ["m2"]

    on_a_plane(scenario)


async def paused(plane, cluster):
    """What a cluster says of evictions."""
    found = (await plane.client.resource(CLUSTERS).get(cluster))["status"]["conditions"]
    return next(((one["status"], one["message"]) for one in found if one["type"] == "EvictionsPaused"), None)
