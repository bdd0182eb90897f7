"""Evictions that end or are undone: what is said about them, who is asked for, and what is not looked at."""

from dataclasses import replace

import pytest
from tests.controllers.plane import CLUSTERS, on_a_plane
from tests.controllers.test_failover import (
    BINDINGS,
    EVENTS,
    HEALTHY_TWO,
    KEEPING,
    TASK,
    bind,
    clusters_of,
    keeping,
    paused,
    reports,
    set_ready,
    taint,
    tasks_of,
)

from karmada.controllers.eviction_storm import EvictionStorm, EvictionStormController, StormOptions
from karmada.controllers.evictions import LATER, requeue
from karmada.controllers.flags import options_of, parser
from karmada.controllers.graceful_eviction import GracefulEvictionController, GracefulEvictionOptions
from karmada.machinery.controller import DONE, RequeueAfter
from karmada.machinery.transport import GroupVersionResource

WIDE = GroupVersionResource("work.karmada.io", "v1alpha2", "clusterresourcebindings")
SOON = GracefulEvictionOptions(timeout=10)


async def said(plane, reason):
    """Events of a reason: what they are about, who says it, and what."""
    found = (await plane.client.resource(EVENTS).list()).items
    return {
        (event["involvedObject"]["kind"], event["source"]["component"], event["type"], event["message"])
        for event in found
        if event["reason"] == reason
    }


def test_an_eviction_that_ends_is_said_on_the_binding_and_its_template():
    async def scenario(plane):
        plane.start(GracefulEvictionController(plane.context, SOON).controller)
        await bind(plane, clusters=("m2",), gracefulEvictionTasks=[TASK])
        resource = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "reader"}
        spec = {"resource": resource, "clusters": [{"name": "m2"}], "gracefulEvictionTasks": [TASK]}
        await plane.client.resource(WIDE).create({"metadata": {"name": "reader"}, "spec": spec})
        await plane.clock.sleep(20)
        assert await tasks_of(plane) == []
        assert "gracefulEvictionTasks" not in (await plane.client.resource(WIDE).get("reader"))["spec"]
        text = "Evict from cluster m1 succeed."
        component = "resource-binding-graceful-eviction-controller"
        wide = f"cluster-{component}"
        assert await said(plane, "EvictWorkloadFromClusterSucceed") == {
            ("ResourceBinding", component, "Normal", text),
            ("Deployment", component, "Normal", text),
            ("ClusterResourceBinding", wide, "Normal", text),
            ("ClusterRole", wide, "Normal", text),
        }

    on_a_plane(scenario)


def test_an_eviction_that_is_undone_is_said_on_the_binding():
    async def scenario(plane):
        await keeping(plane, clusters=())
        await reports(plane, m1=HEALTHY_TWO)
        await plane.clock.sleep(2)
        assert await clusters_of(plane) == ["m1"]
        text = "Eviction from cluster m1 undone: its copy is healthy again and has no replacement."
        component = "resource-binding-graceful-eviction-controller"
        assert await said(plane, "EvictionUndone") == {("ResourceBinding", component, "Normal", text)}
        assert await said(plane, "EvictWorkloadFromClusterSucceed") == set()

    on_a_plane(scenario)


def test_a_binding_that_goes_keeps_its_tasks():
    async def scenario(plane):
        controller = GracefulEvictionController(plane.context, SOON).controller
        plane.start(controller)
        await bind(plane, clusters=("m2",))
        await plane.client.resource(BINDINGS).patch("web", {"metadata": {"finalizers": ["test/held"]}}, "default")
        await plane.client.resource(BINDINGS).delete("web", "default")
        await plane.client.resource(BINDINGS).patch("web", {"spec": {"gracefulEvictionTasks": [TASK]}}, "default")
        await plane.clock.sleep(60)
        assert await tasks_of(plane) == [TASK]
        await plane.client.resource(BINDINGS).patch("web", {"metadata": {"finalizers": None}}, "default")
        await plane.clock.sleep(5)
        assert controller.queue.adds == 1

    on_a_plane(scenario)


def test_of_two_copies_that_run_well_again_one_is_taken_back():
    async def scenario(plane):
        await plane.cluster("m3")
        await set_ready(plane, "m3")
        tasks = [TASK, {**TASK, "fromCluster": "m3"}]
        await keeping(plane, ready=("m1",), clusters=(), gracefulEvictionTasks=tasks, replicas=2)
        await reports(plane, m1=HEALTHY_TWO, m3=HEALTHY_TWO)
        await plane.clock.sleep(1)
        assert await clusters_of(plane) == ["m1"]

    on_a_plane(scenario)


def test_a_copy_in_a_cluster_that_leaves_is_not_taken_back():
    async def scenario(plane):
        await keeping(plane, ready=(), clusters=())
        await reports(plane, m1=HEALTHY_TWO)
        await plane.client.resource(CLUSTERS).delete("m1")
        await set_ready(plane, "m1")
        await plane.clock.sleep(60)
        assert await clusters_of(plane) == []
        await plane.client.resource(CLUSTERS).patch("m1", {"metadata": {"finalizers": None}})
        await plane.clock.sleep(60)
        assert (await clusters_of(plane), await tasks_of(plane)) == ([], []), "nobody is left to keep the copy for"

    on_a_plane(scenario)


@pytest.mark.parametrize(
    ("cluster", "patch", "subresource", "looks"),
    [
        ("m1", {"status": {"kubernetesVersion": "v1.30.0"}}, "status", False),
        ("m1", {"spec": {"taints": [{"key": "busy", "effect": "NoExecute"}]}}, "", True),
        ("m1", {"status": {"conditions": []}}, "status", True),
        ("m2", {"status": {"conditions": []}}, "status", True),
        ("m3", {"status": {"conditions": []}}, "status", False),
    ],
    ids=["status", "taints", "readiness", "readiness of a target", "readiness of another"],
)
def test_evictions_are_looked_at_when_a_cluster_that_they_concern_changes(cluster, patch, subresource, looks):
    async def scenario(plane):
        context = replace(plane.context, gates=KEEPING)
        controller = GracefulEvictionController(context, SOON).controller
        plane.start(controller)
        for name in ("m1", "m2", "m3"):
            await plane.cluster(name)
        await bind(plane, clusters=("m2",), gracefulEvictionTasks=[TASK])
        await bind(plane, "other", clusters=("m1", "m2"))
        await plane.clock.sleep(30)
        before = sum(controller.results.values())
        await plane.client.resource(CLUSTERS).patch(cluster, patch, subresource=subresource)
        await plane.clock.sleep(5)
        assert (sum(controller.results.values()) > before) == looks

    on_a_plane(scenario)


def test_a_copy_whose_cluster_is_tolerated_again_is_taken_back():
    async def scenario(plane):
        tolerations = [{"key": "maintenance", "operator": "Exists"}]
        await keeping(plane, ready=(), clusters=(), placement={"clusterTolerations": tolerations})
        await taint(plane, "m1", {"key": "maintenance", "effect": "NoExecute"})
        await reports(plane, m1=HEALTHY_TWO)
        await plane.clock.sleep(5)
        await set_ready(plane, "m1")
        await plane.clock.sleep(5)
        assert await clusters_of(plane) == ["m1"]

    on_a_plane(scenario)


@pytest.mark.parametrize(
    ("seconds", "result"), [(None, DONE), (5.0, RequeueAfter(5 + LATER)), (-1.0, RequeueAfter(LATER))]
)
def test_a_deadline_is_looked_at_just_after_it(seconds, result):
    assert requeue(seconds) == result


@pytest.mark.parametrize(("text", "share"), [("0", 0.0), ("0.55", 0.55), ("1", 1.0)])
def test_the_threshold_of_a_storm_is_a_share(text, share):
    given = parser().parse([f"--unhealthy-clusters-threshold={text}"])
    assert options_of(given).options.of(StormOptions).threshold == share


@pytest.mark.parametrize("text", ["-0.1", "1.1", "many"])
def test_what_is_no_share_is_refused(text, capsys):
    with pytest.raises(SystemExit):
        parser().parse([f"--unhealthy-clusters-threshold={text}"])
    if text != "many":
        assert f"{text} is no share: write a number from 0 to 1" in capsys.readouterr().err


def test_no_storm_is_said_of_clusters_where_none_is_looked_for():
    async def scenario(plane):
        storm = EvictionStorm(plane.context, StormOptions(threshold=1.0))
        plane.start(EvictionStormController(plane.context, storm).controller)
        await plane.cluster("m1", ready="False")
        await plane.clock.sleep(5)
        assert not storm.rages()
        assert await paused(plane, "m1") is None

    on_a_plane(scenario)


def test_clusters_are_looked_at_when_one_changes_its_readiness():
    async def scenario(plane):
        storm = EvictionStorm(plane.context, StormOptions(threshold=0.4))
        for name in ("m1", "m2"):
            await plane.cluster(name, ready=str(name == "m1"))
        controller = EvictionStormController(plane.context, storm).controller
        plane.start(controller)
        await plane.clock.sleep(5)
        assert await paused(plane, "m2") == ("True", "1 of 2 clusters are not ready: nothing is evicted")
        assert await paused(plane, "m1") is None
        before = sum(controller.results.values())
        status = {"status": {"kubernetesVersion": "v1.30.0"}}
        await plane.client.resource(CLUSTERS).patch("m2", status, subresource="status")
        await plane.clock.sleep(5)
        assert sum(controller.results.values()) == before
        for name in ("m3", "m4"):
            await plane.cluster(name)
        await plane.clock.sleep(5)
        assert await paused(plane, "m2") == ("False", "1 of 4 clusters are not ready: evictions go on")
        found = await said(plane, "TooManyClustersUnhealthy"), await said(plane, "EnoughClustersHealthy")
        assert [{kind for _, _, kind, _ in one} for one in found] == [{"Warning"}, {"Normal"}]
        await plane.client.resource(CLUSTERS).patch("m1", {"metadata": {"finalizers": None}})
        await plane.client.resource(CLUSTERS).delete("m1")
        await plane.clock.sleep(5)
        assert await paused(plane, "m2") == ("False", "1 of 4 clusters are not ready: evictions go on")

    on_a_plane(scenario)


def test_a_storm_is_said_of_all_clusters_that_are_not_ready():
    async def scenario(plane):
        storm = EvictionStorm(plane.context, StormOptions(threshold=0.4))
        plane.start(EvictionStormController(plane.context, storm).controller)
        for name in ("m1", "m2", "m3"):
            await plane.cluster(name)
        await plane.clock.sleep(5)
        await set_ready(plane, "m1", False)
        await plane.clock.sleep(5)
        assert await paused(plane, "m1") is None
        await set_ready(plane, "m2", False)
        await plane.clock.sleep(5)
        text = "2 of 3 clusters are not ready: nothing is evicted"
        assert (await paused(plane, "m1"), await paused(plane, "m2")) == (("True", text), ("True", text))
        assert await paused(plane, "m3") is None

    on_a_plane(scenario)
