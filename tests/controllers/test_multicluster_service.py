"""A MultiClusterService marks its providers and brings its Service to its clusters, in virtual time."""

import pytest
from tests.controllers.observing import does, events, reconciles
from tests.controllers.plane import CLUSTERS, WORKS, on_a_plane
from tests.controllers.test_endpointslice_dispatch import MCS, collected, gate, ready, slice_of

from karmada.controllers.endpointslice_collect import marker_name
from karmada.controllers.multicluster_service import MultiClusterServiceController
from karmada.machinery.transport import GroupVersionResource

SERVICES = GroupVersionResource("", "v1", "services")
BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
ID = {"multiclusterservice.karmada.io/permanent-id": "id"}
FINALIZER = "karmada.io/multiclusterservice-controller"
STAMP = "2026-01-01T00:00:00Z"
MARKER = marker_name("default", "web")
APPLIED = ("ServiceApplied", "True", "ServiceAppliedSucceed", "Service is propagated to target clusters.")
SUCCEEDED = ("Normal", "SyncServiceSucceed", APPLIED[3])


def exposed(providers=(), consumers=(), types=("CrossCluster",), **metadata):
    chosen = {"providerClusters": providers, "consumerClusters": consumers}
    clusters = {field: [{"name": name} for name in names] for field, names in chosen.items()}
    return {
        "metadata": {"name": "web", "namespace": "default", "labels": ID} | metadata,
        "spec": {"types": list(types), **clusters},
    }


async def create_service(plane, **metadata):
    spec = {"ports": [{"port": 80}]}
    tree = {"metadata": {"name": "web", "namespace": "default"} | metadata, "spec": spec}
    return await plane.client.resource(SERVICES).create(tree)


async def started(plane, *clusters, service=True, **wanted):
    for name in clusters:
        await plane.cluster(name)
    if service:
        await create_service(plane)
    await plane.client.resource(MCS).create(exposed(**wanted))
    gate(plane)
    controller = MultiClusterServiceController(plane.context).controller
    plane.start(controller)
    await plane.clock.sleep(5)
    return controller


async def change(plane, patch, type_=MCS, name="web"):
    await plane.client.resource(type_).patch(name, patch, "default" if type_ != CLUSTERS else "")


async def works(plane):
    found = (await plane.client.resource(WORKS).list()).items
    return sorted((one["metadata"]["namespace"].removeprefix("karmada-es-"), one["metadata"]["name"]) for one in found)


async def said(plane):
    """The conditions of the MultiClusterService."""
    found = (await plane.client.resource(MCS).get("web", "default")).get("status") or {}
    return [(each["type"], each["status"], each["reason"], each["message"]) for each in found.get("conditions") or ()]


async def targets(plane):
    binding = await plane.client.resource(BINDINGS).get("web-service", "default")
    return binding["spec"]["placement"]["clusterAffinity"]["clusterNames"]


def test_a_marker_of_a_service_that_only_the_cache_lacks_stays():
    async def test(plane):
        await plane.cluster("a")
        await create_service(plane)
        gate(plane)
        plane.start(MultiClusterServiceController(plane.context).controller)
        await plane.clock.sleep(5)
        plane.transport.held = frozenset({MCS})
        tree = {"apiVersion": "networking.karmada.io/v1alpha1", "kind": "MultiClusterService"} | exposed()
        await plane.client.resource(MCS).create(exposed())
        where = {f"multiclusterservice.karmada.io/{key}": tree["metadata"][key] for key in ("name", "namespace")}
        metadata = {"name": MARKER, "namespace": "karmada-es-a", "labels": ID | where}
        spec = {"suspendDispatching": True, "workload": {"manifests": [tree]}}
        made = await plane.client.resource(WORKS).create({"metadata": metadata, "spec": spec})
        await plane.clock.sleep(5)
        plane.transport.held = frozenset()
        await plane.clock.sleep(5)
        left = await plane.client.resource(WORKS).get(MARKER, "karmada-es-a")
        assert left["metadata"]["uid"] == made["metadata"]["uid"]

    on_a_plane(test)


@pytest.mark.parametrize("added", ["providers", "consumers"])
def test_what_a_service_has_that_the_cache_shows_as_it_was_stays(added):
    async def test(plane):
        chosen = {"providers": ("a",), "consumers": ("c",)}
        controller = await started(plane, "a", "b", "c", **chosen)
        await plane.client.resource(MCS).patch("web", {"status": {"conditions": []}}, "default", subresource="status")
        await plane.clock.sleep(5)
        plane.transport.held = frozenset({MCS})
        chosen[added] += ("b",)
        await change(plane, {"spec": exposed(**chosen)["spec"]})
        if added == "providers":
            tree = await plane.client.resource(WORKS).get(MARKER, "karmada-es-a")
            metadata = {"name": MARKER, "namespace": "karmada-es-b", "labels": tree["metadata"]["labels"]}
            await plane.client.resource(WORKS).create({"metadata": metadata, "spec": tree["spec"]})
        affinity = {"clusterAffinity": {"clusterNames": ["a", "b", "c"]}}
        await change(plane, {"spec": {"placement": affinity}}, BINDINGS, "web-service")
        await change(plane, {"metadata": {"labels": {"color": "blue"}}}, SERVICES)
        await plane.clock.sleep(5)
        held = await works(plane)
        assert [cluster for cluster, _ in held] == (["a", "b"] if added == "providers" else ["a"])
        assert await targets(plane) == ["a", "b", "c"]
        assert await said(plane) == []
        assert controller.results["requeue_after"], "a change back to the spec that the cache shows is no event"
        plane.transport.held = frozenset()
        await plane.clock.sleep(5)
        assert (await works(plane), await targets(plane)) == (held, ["a", "b", "c"])
        assert await said(plane) == [APPLIED]

    on_a_plane(test)


def test_able_providers_are_marked_and_the_service_is_claimed_and_bound():
    async def test(plane):
        for name in ("old", "leaving"):
            await plane.cluster(name)
        await plane.cluster("down", ready="False")
        await plane.condition("old", "CompleteAPIEnablements", "True")
        await plane.client.resource(CLUSTERS).delete("leaving")
        providers = ["a", "down", "leaving", "old", "x"]
        controller = await started(plane, "a", "d", "e", providers=providers, consumers=["a", "d"])
        assert await works(plane) == [("a", MARKER)]
        work = await plane.client.resource(WORKS).get(MARKER, "karmada-es-a")
        assert work["spec"]["suspendDispatching"] is True
        assert work["metadata"].get("finalizers") is None
        where = {
            f"multiclusterservice.karmada.io/{key}": of for key, of in {"name": "web", "namespace": "default"}.items()
        }
        assert (work["metadata"]["labels"].items()) >= (ID | where).items()
        service = await plane.client.resource(SERVICES).get("web", "default")
        claim = {"resourcetemplate.karmada.io/claimed-by": "MultiClusterService"}
        assert service["metadata"]["labels"] == ID | claim
        assert await targets(plane) == ["a", "d", "down", "leaving", "old", "x"]
        found = await plane.client.resource(MCS).get("web", "default")
        assert found["metadata"]["finalizers"] == [FINALIZER]
        assert await said(plane) == [APPLIED]
        text = "Provider cluster down is not ready, skip to propagate MultiClusterService"
        assert await events(plane) == {
            SUCCEEDED,
            ("Warning", "ClusterNotFound", "Provider cluster x is not found"),
            ("Warning", "SyncServiceFailed", text),
            ("Warning", "APIIncompatible", "Provider cluster old does not support EndpointSlice"),
        }
        assert controller.errors == 0

    on_a_plane(test)


def test_what_changes_the_outcome_is_reconciled_and_nothing_else():
    async def test(plane):
        controller = await started(plane, "a", "b", "c", providers=["a"], consumers=["b"])
        await plane.client.resource(MCS).create(
            exposed(["c"], ["c"], types=["LoadBalancer"]) | {"metadata": {"name": "other"}}, "default"
        )
        kind = {"type": "Known", "status": "True", "reason": "T", "message": "", "lastTransitionTime": STAMP}
        services, clusters = plane.client.resource(SERVICES), plane.client.resource(CLUSTERS)
        other = {"metadata": {"name": "another", "namespace": "default"}, "spec": {"ports": [{"port": 80}]}}
        network = {"metadata": {"annotations": {"network.karmada.io/networks": "n"}}}
        marker = {"metadata": {"labels": {"color": "blue"}}}
        steps = {
            services.patch("web", {"status": {"conditions": [kind]}}, "default", subresource="status"): 0,
            services.create(other): 0,
            services.patch("web", {"metadata": {"labels": {"color": "blue"}}}, "default"): 1,
            services.patch("web", {"metadata": {"annotations": {"color": "blue"}}}, "default"): 1,
            plane.client.resource(WORKS).patch(MARKER, marker, "karmada-es-a"): 0,
            plane.condition("a", "Other", "True"): 0,
            ready(plane, "a", "Unknown"): 1,
            ready(plane, "b", "Unknown"): 1,
            ready(plane, "c", "Unknown"): 1,
            clusters.patch("a", network): 1,
            clusters.patch("a", {"metadata": {"labels": {"color": "blue"}}}): 0,
        }
        assert await does(plane, controller, *steps) == list(steps.values())

    on_a_plane(test)


def test_one_that_names_no_providers_follows_all_clusters():
    async def test(plane):
        controller = await started(plane, "a")
        assert (await works(plane), await targets(plane)) == ([("a", MARKER)], ["a"])
        await plane.cluster("b")
        await plane.clock.sleep(5)
        assert (await works(plane), await targets(plane)) == ([("a", MARKER), ("b", MARKER)], ["a", "b"])
        before = reconciles(controller)
        await change(plane, {"spec": {"consumerClusters": [{"name": "a"}]}})
        assert await does(plane, controller, ready(plane, "b", "Unknown")) == [1]
        assert reconciles(controller) == before + 2
        assert await targets(plane) == ["a", "b"]

    on_a_plane(test)


def test_a_cluster_that_is_no_provider_any_more_loses_its_marker_and_what_was_collected_there():
    async def test(plane):
        await started(plane, "a", "b", providers=["a", "b"], consumers=["a"])
        mine, shared = collected("a", slice_of("web-1")), collected("a", slice_of("web-2"))
        shared["metadata"]["labels"] |= {
            "endpointslice.karmada.io/managed-by": "MultiClusterService.ServiceExport",
            "endpointslice.karmada.io/namespace": "default",
            "endpointslice.karmada.io/name": "web",
        }
        kept, stray = collected("b", slice_of("web-3")), collected("a", slice_of("web-4"))
        stray["metadata"] |= {"namespace": "default", "finalizers": []}
        for tree in (mine, shared, kept):
            tree["metadata"]["finalizers"] = []
        for tree in (mine, shared, kept, stray):
            await plane.client.resource(WORKS).create(tree)
        named = {
            "metadata": {
                "name": "user",
                "labels": mine["metadata"]["labels"] | {"endpointslice.karmada.io/managed-by": ""},
            }
        }
        await plane.client.resource(WORKS).create(named | {"spec": {}}, "karmada-es-a")
        await change(plane, {"spec": {"providerClusters": [{"name": "b"}]}})
        await plane.clock.sleep(5)
        left = [("a", "user"), ("a", shared["metadata"]["name"]), ("b", MARKER), ("b", kept["metadata"]["name"])]
        assert await works(plane) == sorted([*left, ("default", stray["metadata"]["name"])])
        found = await plane.client.resource(WORKS).get(shared["metadata"]["name"], "karmada-es-a")
        assert found["metadata"]["labels"]["endpointslice.karmada.io/managed-by"] == "ServiceExport"
        assert await targets(plane) == ["a", "b"]

    on_a_plane(test)


@pytest.mark.parametrize("how", ["deleted", "another type"])
def test_what_was_made_for_one_that_goes_is_taken_back_and_the_service_stays_where_it_is(how):
    async def test(plane):
        controller = await started(plane, "a", "b", providers=["a"], consumers=["b"])
        if how == "deleted":
            await plane.client.resource(MCS).delete("web", "default")
        else:
            await change(plane, {"spec": {"types": ["LoadBalancer"]}})
        await plane.clock.sleep(5)
        assert await works(plane) == []
        service = await plane.client.resource(SERVICES).get("web", "default")
        assert not service["metadata"].get("labels")
        binding = await plane.client.resource(BINDINGS).get("web-service", "default")
        assert "binding.karmada.io/managed-by" not in (binding["metadata"].get("labels") or {})
        assert await targets(plane) == ["a", "b"]
        left = (await plane.client.resource(MCS).list()).items
        assert [one["metadata"].get("finalizers") for one in left] == ([] if how == "deleted" else [None])
        assert controller.errors == 0

    on_a_plane(test)


def test_one_that_goes_without_its_service_and_binding_goes():
    async def test(plane):
        controller = await started(plane, "a", service=False)
        await plane.client.resource(MCS).delete("web", "default")
        await plane.clock.sleep(5)
        assert (await plane.client.resource(MCS).list()).items == []
        assert (await works(plane), controller.errors) == ([], 0)

    on_a_plane(test)


def test_markers_of_one_that_went_unseen_and_that_somebody_deletes_are_put_right():
    async def test(plane):
        await plane.cluster("b")
        marks = {"multiclusterservice.karmada.io/namespace": "default", "multiclusterservice.karmada.io/name": "gone"}
        name = marker_name("default", "gone")
        await plane.client.resource(WORKS).create(
            {"metadata": {"name": name, "namespace": "karmada-es-b", "labels": marks}, "spec": {}}
        )
        controller = await started(plane, "a", providers=["a"], consumers=["b"])
        assert await works(plane) == [("a", MARKER)]
        await plane.client.resource(WORKS).delete(MARKER, "karmada-es-a")
        await plane.clock.sleep(5)
        assert await works(plane) == [("a", MARKER)]
        assert controller.errors == 0

    on_a_plane(test)


@pytest.mark.parametrize("again", [True, False], ids=["created again", "the same"])
def test_a_service_whose_binding_goes_gets_another(again):
    async def test(plane):
        await started(plane, "a")
        services, bindings = (plane.client.resource(type_) for type_ in (SERVICES, BINDINGS))
        await bindings.delete("web-service", "default")
        if again:
            await services.delete("web", "default")
            await create_service(plane)
        await plane.clock.sleep(5)
        assert (await bindings.get("web-service", "default"))["metadata"]["deletionTimestamp"]
        await bindings.patch("web-service", {"metadata": {"finalizers": None}}, "default")
        await plane.clock.sleep(5)
        found = await bindings.get("web-service", "default")
        uid = (await services.get("web", "default"))["metadata"]["uid"]
        assert (found["spec"]["resource"]["uid"], found["metadata"]["ownerReferences"][0]["uid"]) == (uid, uid)
        assert await targets(plane) == ["a"]

    on_a_plane(test)
