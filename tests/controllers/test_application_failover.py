"""Which bindings application failover watches, and what it remembers, reports and writes."""

from dataclasses import replace

import pytest
from tests.controllers.plane import CLUSTERS, on_a_plane
from tests.controllers.recorded import recorded

from karmada.api.feature_gates import FeatureGates
from karmada.api.work.v1alpha2 import ClusterResourceBinding, ResourceBinding
from karmada.controllers.application_failover import ApplicationFailoverController
from karmada.machinery.client import type_of
from karmada.machinery.errors import Forbidden
from karmada.machinery.transport import Verb

NAMESPACED, WIDE = type_of(ResourceBinding), type_of(ClusterResourceBinding)
DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web", "uid": "u"}
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "web"}
APPLICATION = {"application": {"decisionConditions": {"tolerationSeconds": 60}, "purgeMode": "Directly"}}
MIGRATION = {**APPLICATION, "applicationMigrationPolicy": {"decisionConditions": {}}}


class Bound:
    """A binding to two clusters, one of which may report ill health."""

    def __init__(self, plane, type_=NAMESPACED):
        self._plane = plane
        self._collection = plane.client.resource(type_)
        self._namespace = "default" if type_ == NAMESPACED else ""

    async def create(self, failover=None, resource=DEPLOYMENT, deps=True, finalizers=(), named=("m1", "m2")):
        metadata = {"name": "web", "finalizers": list(finalizers)}
        if self._namespace:
            metadata["namespace"] = self._namespace
        spec = {"resource": resource, "replicas": 4, "clusters": [{"name": c, "replicas": 2} for c in named]}
        spec |= {"failover": failover or APPLICATION, "propagateDeps": deps}
        await self._collection.create({"metadata": metadata, "spec": spec})

    async def report(self, **healths):
        items = [{"clusterName": cluster, "health": health} for cluster, health in healths.items()]
        await self.patch({"status": {"aggregatedStatus": items}}, "status")

    async def patch(self, change, subresource=""):
        await self._collection.patch("web", change, self._namespace, subresource=subresource)

    async def delete(self):
        await self._collection.delete("web", self._namespace)

    async def clusters(self):
        return [target["name"] for target in (await self.tree())["spec"].get("clusters", ())]

    async def since(self):
        return list((await self.tree())["status"].get("unhealthySince", ()))

    async def tree(self):
        return await self._collection.get("web", self._namespace)


async def begin(plane, type_=NAMESPACED, context=None, **binding):
    for name in ("m1", "m2"):
        await plane.cluster(name)
    controller = ApplicationFailoverController(context or plane.context).controller
    plane.start(controller)
    bound = Bound(plane, type_)
    await bound.create(**binding)
    await plane.clock.sleep(1)
    return bound


@pytest.mark.parametrize(
    ("type_", "binding", "expected"),
    [
        pytest.param(NAMESPACED, {}, ["m2"], id="a workload with its dependencies"),
        pytest.param(NAMESPACED, {"deps": False}, ["m1", "m2"], id="without dependencies"),
        pytest.param(WIDE, {"deps": False}, ["m2"], id="cluster-scoped"),
        pytest.param(NAMESPACED, {"resource": CONFIG_MAP}, ["m1", "m2"], id="a kind without health"),
        pytest.param(NAMESPACED, {"failover": {"cluster": {}}}, ["m1", "m2"], id="no application failover"),
    ],
)
def test_a_binding_is_watched_if_its_health_decides_where_it_runs(type_, binding, expected):
    async def scenario(plane):
        bound = await begin(plane, type_, **binding)
        await bound.report(m1="Unhealthy", m2="Healthy")
        await plane.clock.sleep(120)
        assert await bound.clusters() == expected
        tasks = (await bound.tree())["spec"].get("gracefulEvictionTasks", ())
        prefix = "" if type_ == NAMESPACED else "cluster-"
        producer = f"{prefix}resource-binding-application-failover-controller"
        assert [task["producer"] for task in tasks] == [producer] * (len(expected) == 1)

    on_a_plane(scenario)


@pytest.mark.parametrize(
    "end",
    [
        {"spec": {"failover": None}},
        {"spec": {"failover": {"application": None, "cluster": {}}}},
        {"spec": {"propagateDeps": False}},
        {"status": {"aggregatedStatus": None}},
    ],
    ids=["no failover", "another failover", "no dependencies", "no reports"],
)
def test_what_was_remembered_is_forgotten_when_a_binding_is_watched_no_longer(end):
    async def scenario(plane):
        bound = await begin(plane)
        await bound.report(m1="Unhealthy", m2="Healthy")
        await plane.clock.sleep(50)
        assert await bound.since() == ["m1"]
        await bound.patch(end, "status" if "status" in end else "")
        await plane.clock.sleep(1)
        assert await bound.since() == []
        await bound.patch({"spec": {"propagateDeps": True, "failover": APPLICATION}})
        await bound.report(m1="Unhealthy", m2="Healthy")
        await plane.clock.sleep(50)
        assert await bound.clusters() == ["m1", "m2"], "the toleration begins anew"
        await plane.clock.sleep(15)
        assert await bound.clusters() == ["m2"]

    on_a_plane(scenario)


@pytest.mark.parametrize("held", [True, False], ids=["being deleted", "gone"])
def test_a_binding_that_goes_is_not_touched_and_its_successor_has_its_whole_toleration(held):
    async def scenario(plane):
        bound = await begin(plane, finalizers=["test/hold"] if held else [])
        await bound.report(m1="Unhealthy", m2="Healthy")
        await plane.clock.sleep(50)
        await bound.delete()
        if held:
            await plane.clock.sleep(60)
            assert await bound.clusters() == ["m1", "m2"]
            await bound.patch({"metadata": {"finalizers": None}})
        await plane.clock.sleep(1)
        await bound.create()
        await bound.report(m1="Unhealthy", m2="Healthy")
        await plane.clock.sleep(50)
        assert await bound.clusters() == ["m1", "m2"]

    on_a_plane(scenario)


@pytest.mark.parametrize("what", ["answer", "gate"])
def test_an_eviction_that_is_refused_is_an_event_and_retried(what):
    async def scenario(plane):
        async def before(request):
            if request.verb is Verb.PATCH and request.resource == NAMESPACED and not request.subresource:
                plane.transport.before = None
                raise Forbidden("not now")

        context, failover = plane.context, APPLICATION
        if what == "answer":
            plane.transport.before = before
        else:
            context = replace(plane.context, gates=FeatureGates({"GracefulEviction": False}))
            failover = {"application": {**APPLICATION["application"], "purgeMode": "Gracefully"}}
        bound = await begin(plane, context=context, failover=failover)
        await bound.report(m1="Unhealthy", m2="Healthy")
        await plane.clock.sleep(65)
        assert await bound.clusters() == (["m2"] if what == "answer" else ["m1", "m2"])
        assert await recorded(plane, "EvictWorkloadFromClusterFailed") == [
            ("Warning", "EvictWorkloadFromClusterFailed", kind, "Evict from cluster m1 failed.")
            for kind in ("Deployment", "ResourceBinding")
        ]

    on_a_plane(scenario)


@pytest.mark.parametrize(
    ("failover", "ready", "named", "expected"),
    [
        pytest.param(MIGRATION, "False", ("m1", "m2"), ["m2"], id="not ready"),
        pytest.param(MIGRATION, "Unknown", ("m1", "m2"), ["m2"], id="unreachable"),
        pytest.param(MIGRATION, "True", ("m1", "m2"), ["m1", "m2"], id="ready"),
        pytest.param(MIGRATION, None, ("m1", "m2"), ["m1", "m2"], id="never reported"),
        pytest.param(MIGRATION, "False", ("m2", "gone"), ["m2", "gone"], id="not among its clusters"),
        pytest.param(APPLICATION, "False", ("m1", "m2"), ["m1", "m2"], id="no migration policy"),
    ],
)
def test_only_a_migration_policy_counts_clusters_that_are_not_ready(failover, ready, named, expected):
    async def scenario(plane):
        bound = await begin(plane, failover=failover, named=named)
        await bound.report(m2="Healthy")
        if ready is None:
            await plane.client.resource(CLUSTERS).patch("m1", {"status": {"conditions": None}}, subresource="status")
        else:
            await plane.condition("m1", "Ready", ready)
        await plane.clock.sleep(120)
        assert await bound.clusters() == expected

    on_a_plane(scenario)


def test_a_cluster_that_is_ready_again_in_time_is_kept():
    async def scenario(plane):
        bound = await begin(plane, failover=MIGRATION)
        await bound.report(m1="Healthy", m2="Healthy")
        await plane.condition("m1", "Ready", "False")
        await plane.clock.sleep(50)
        assert await bound.since() == ["m1"]
        await plane.condition("m1", "Ready", "True")
        await plane.clock.sleep(1)
        assert await bound.since() == []
        await plane.clock.sleep(60)
        assert await bound.clusters() == ["m1", "m2"]

    on_a_plane(scenario)


def test_a_binding_whose_failover_is_taken_away_in_the_last_moment_stays_where_it_is():
    async def scenario(plane):
        bound = await begin(plane)

        async def before(request):
            if request.verb is Verb.PATCH and request.resource == NAMESPACED and not request.subresource:
                plane.transport.before = None
                await bound.patch({"spec": {"failover": None}})

        plane.transport.before = before
        await bound.report(m1="Unhealthy", m2="Healthy")
        await plane.clock.sleep(120)
        assert plane.transport.before is None
        assert await bound.clusters() == ["m1", "m2"]

    on_a_plane(scenario)


def test_only_a_change_of_readiness_has_bindings_of_a_cluster_looked_at():
    async def scenario(plane):
        for name in ("m1", "m2"):
            await plane.cluster(name)
        controller = ApplicationFailoverController(plane.context).controller
        plane.start(controller)
        await Bound(plane).create(MIGRATION)
        resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "other"}
        for name, failover in (("none", None), ("application", APPLICATION)):
            spec = {"resource": resource, "clusters": [{"name": "m2"}], "failover": failover}
            metadata = {"name": name, "namespace": "default"}
            await plane.client.resource(NAMESPACED).create({"metadata": metadata, "spec": spec})
        await plane.clock.sleep(1)
        before = dict(controller.results)
        clusters = plane.client.resource(CLUSTERS)
        await clusters.patch("m1", {"metadata": {"labels": {"a": "b"}, "finalizers": None}})
        await plane.condition("m1", "NetworkReady", "False")
        await clusters.delete("m1")
        await plane.clock.sleep(1)
        await plane.cluster("m3")
        await plane.clock.sleep(1)
        assert controller.results == before
        await plane.condition("m2", "Ready", "False")
        await plane.clock.sleep(1)
        assert controller.results["success"] == before["success"] + 1

    on_a_plane(scenario)
