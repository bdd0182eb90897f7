"""Collected slices reach consumers, through the controllers of the control plane alone, in virtual time."""

import dataclasses

import pytest
from tests.controllers.plane import CLUSTERS, WORKS, on_a_plane

from karmada.api import names
from karmada.api.feature_gates import DEFAULTS
from karmada.api.work.v1alpha1 import Work
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.endpointslice_dispatch import EndpointSliceDispatcher
from karmada.controllers.endpointslice_import import EndpointOptions, EndpointSliceImporter
from karmada.machinery.client import type_of
from karmada.machinery.clock import rfc3339
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource, Verb
from karmada.works.slices import dispatched, dispatched_work

MCS = GroupVersionResource("networking.karmada.io", "v1alpha1", "multiclusterservices")
SLICES = GroupVersionResource("discovery.k8s.io", "v1", "endpointslices")
TOLERANCE = 30.0


def slice_of(name, address="10.0.0.1", **metadata):
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "namespace": "default", "generateName": "web-"} | metadata,
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address]}],
        "ports": [{"name": "http", "port": 80, "protocol": "TCP"}],
    }


def collected(cluster, manifest, use="MultiClusterService", name=""):
    which = manifest["metadata"]
    group = "multiclusterservice" if use == "MultiClusterService" else "endpointslice"
    marks = {
        "endpointslice.karmada.io/managed-by": use,
        f"{group}.karmada.io/namespace": "default",
        f"{group}.karmada.io/name": "web",
        "work.karmada.io/permanent-id": "1",
    }
    finalizer = "endpointslice-controller" if group == "endpointslice" else "mcs-endpointslice-dispatch-controller"
    return {
        "metadata": {
            "name": name or names.work_name(manifest["kind"], which["name"], which.get("namespace", "")),
            "namespace": f"karmada-es-{cluster}",
            "labels": marks,
            "finalizers": [f"karmada.io/{finalizer}"],
        },
        "spec": {"suspendDispatching": True, "workload": {"manifests": [manifest]}},
    }


async def exported(plane, *clusters):
    """The binding that brings the ServiceExport of `web` into clusters."""
    resource = {"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ServiceExport"}
    spec = {
        "resource": {**resource, "namespace": "default", "name": "web"},
        "clusters": [{"name": cluster} for cluster in clusters],
    }
    binding = {"metadata": {"name": "web-serviceexport", "namespace": "default"}, "spec": spec}
    await plane.client.resource(type_of(ResourceBinding)).create(binding)


def service_of(providers=(), consumers=()):
    return {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "types": ["CrossCluster"],
            "providerClusters": [{"name": name} for name in providers],
            "consumerClusters": [{"name": name} for name in consumers],
        },
    }


def gate(plane, on=True):
    """Have the gate of MultiClusterServices on or off."""
    plane.context = dataclasses.replace(plane.context, gates=DEFAULTS.with_overrides({"MultiClusterService": on}))


async def prepared(plane, *clusters, providers=(), consumers=()):
    for name in clusters:
        await plane.cluster(name)
    await plane.client.resource(MCS).create(service_of(providers, consumers))
    gate(plane)
    dispatcher = EndpointSliceDispatcher(plane.context, EndpointOptions(TOLERANCE))
    plane.start(dispatcher.controller)
    await plane.clock.sleep(1)
    return dispatcher


async def brought(plane, cluster):
    """Addresses by slice, as the Works of a consumer bring them."""
    found = (await plane.client.resource(WORKS).list(Scope(f"karmada-es-{cluster}"))).items
    works = [work["spec"] for work in found if not work["spec"].get("suspendDispatching")]
    manifests = [work["workload"]["manifests"][0] for work in works]
    return {one["metadata"]["name"]: one["endpoints"][0]["addresses"] for one in manifests}


async def ready(plane, name, status):
    """Set the Ready condition of a cluster as of now."""
    now = rfc3339(plane.clock.now())
    conditions = [{"type": "Ready", "status": status, "reason": "T", "message": "", "lastTransitionTime": now}]
    await plane.client.resource(CLUSTERS).patch(name, {"status": {"conditions": conditions}}, subresource="status")


def test_endpoints_of_a_cluster_that_stays_unready_are_withdrawn_and_come_back():
    async def test(plane):
        await prepared(plane, "a", "b")
        await plane.client.resource(WORKS).create(collected("a", slice_of("web-1")))
        await plane.clock.sleep(1)
        assert await brought(plane, "b") == {"a-web-1": ["10.0.0.1"]}
        await ready(plane, "a", "False")
        await plane.clock.sleep(TOLERANCE - 2)
        assert await brought(plane, "b") == {"a-web-1": ["10.0.0.1"]}
        await plane.clock.sleep(4)
        [work] = (await plane.client.of(Work).list(Scope("karmada-es-b"))).items
        assert work.metadata.deletion_timestamp, "the execution controller takes it out of the consumer"
        await plane.client.resource(WORKS).patch(
            work.metadata.name, {"metadata": {"finalizers": []}}, work.metadata.namespace
        )
        await ready(plane, "a", "True")
        await plane.clock.sleep(1)
        assert await brought(plane, "b") == {"a-web-1": ["10.0.0.1"]}

    on_a_plane(test)


@pytest.mark.parametrize("shown", ["not at all", "as it was"])
def test_what_was_brought_for_a_service_that_the_cache_does_not_show_as_it_is_stays(shown):
    async def test(plane):
        for name in ("a", "b", "c"):
            await plane.cluster(name)
        wanted = plane.client.resource(MCS)
        if shown == "as it was":
            await wanted.create(service_of(consumers=("c",)))
        gate(plane)
        controller = EndpointSliceDispatcher(plane.context, EndpointOptions(TOLERANCE)).controller
        plane.start(controller)
        await plane.clock.sleep(1)
        plane.transport.held = frozenset({MCS})
        if shown == "as it was":
            await wanted.patch("web", {"spec": service_of()["spec"]}, "default")
        else:
            await wanted.create(service_of())
        source = slice_of("web-1")
        marks = {"multiclusterservice.karmada.io/namespace": "default", "multiclusterservice.karmada.io/name": "web"}
        metadata = {
            "name": dispatched_work(source, "a"),
            "namespace": "karmada-es-b",
            "labels": marks,
            "annotations": {"endpointslice.karmada.io/provision-cluster": "a"},
        }
        spec = {"workload": {"manifests": [dispatched(source, "a", "web")]}}
        made = await plane.client.resource(WORKS).create({"metadata": metadata, "spec": spec})
        await plane.client.resource(WORKS).create(collected("a", source))
        await plane.clock.sleep(5)
        assert "status" not in await wanted.get("web", "default")
        assert controller.results["requeue_after"], "a change back to the spec that the cache shows is no event"
        plane.transport.held = frozenset()
        await plane.clock.sleep(5)
        left = await plane.client.resource(WORKS).get(metadata["name"], "karmada-es-b")
        assert left["metadata"]["uid"] == made["metadata"]["uid"]
        assert "deletionTimestamp" not in left["metadata"]
        assert await brought(plane, "c") == {"a-web-1": ["10.0.0.1"]}

    on_a_plane(test)


def test_a_changed_slice_is_one_write_per_consumer():
    async def test(plane):
        await prepared(plane, "a", "b", "c", "d")
        tree = collected("a", slice_of("web-1"))
        await plane.client.resource(WORKS).create(tree)
        await plane.clock.sleep(5)
        writes = []

        async def before(request):
            if request.verb not in (Verb.GET, Verb.LIST, Verb.WATCH) and request.resource.resource != "events":
                writes.append((request.verb, request.namespace))

        plane.transport.before = before
        manifests = [slice_of("web-1", "10.0.0.2")]
        await plane.client.resource(WORKS).patch(
            tree["metadata"]["name"], {"spec": {"workload": {"manifests": manifests}}}, "karmada-es-a"
        )
        await plane.clock.sleep(5)
        assert sorted(writes) == [(Verb.PATCH, f"karmada-es-{name}") for name in "bcd"]
        assert await brought(plane, "d") == {"a-web-1": ["10.0.0.2"]}

    on_a_plane(test)


def test_a_cluster_that_is_no_provider_cannot_offer_endpoints():
    async def test(plane):
        await prepared(plane, "a", "evil", "b", providers=["a"])
        works = plane.client.resource(WORKS)
        await works.create(collected("evil", slice_of("web-1", "6.6.6.6")))
        await works.create(collected("evil", slice_of("web-2", "6.6.6.6", namespace="other")))
        await plane.clock.sleep(5)
        assert await brought(plane, "b") == {}
        assert await brought(plane, "a") == {}

    on_a_plane(test)


def test_a_provider_cannot_bring_anything_but_slices_of_the_service_into_others():
    async def test(plane):
        await prepared(plane, "evil", "b")
        works = plane.client.resource(WORKS)
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}}
        await works.create(collected("evil", secret))
        await works.create(collected("evil", slice_of("web-2", namespace="kube-system"), name="x"))
        await works.create(collected("evil", slice_of("web-3", namespace="kube-system")))
        await plane.clock.sleep(5)
        assert await brought(plane, "b") == {}

    on_a_plane(test)


def test_two_providers_never_write_one_slice_of_a_consumer():
    async def test(plane):
        await prepared(plane, "a", "a-b", "c", consumers=["c"])
        works = plane.client.resource(WORKS)
        await works.create(collected("a-b", slice_of("x", "10.2.0.1", generateName="")))
        await plane.clock.sleep(1)
        await works.create(collected("a", slice_of("b-x", "6.6.6.6", generateName="")))
        await plane.clock.sleep(5)
        assert await brought(plane, "c") == {"a-b-x": ["10.2.0.1"]}
        found = await plane.client.resource(MCS).get("web", "default")
        [condition] = found["status"]["conditions"]
        assert condition["status"] == "False"
        assert "is of a-b already: rename b-x in a" in condition["message"]

    on_a_plane(test)


def test_a_withdrawn_slice_leaves_the_consumers_before_its_work_goes():
    async def test(plane):
        await prepared(plane, "a", "b")
        tree = collected("a", slice_of("web-1"))
        works = plane.client.resource(WORKS)
        await works.create(tree)
        await plane.clock.sleep(1)
        await works.delete(tree["metadata"]["name"], "karmada-es-a")
        await plane.clock.sleep(1)
        assert (await works.list(Scope("karmada-es-a"))).items == []
        [left] = (await works.list(Scope("karmada-es-b"))).items
        assert left["metadata"]["deletionTimestamp"]

    on_a_plane(test)


def test_an_imported_slice_is_changed_by_its_own_cluster_only():
    async def test(plane):
        await plane.cluster("a")
        await plane.cluster("a-b")
        importer = EndpointSliceImporter(plane.context, EndpointOptions(TOLERANCE))
        plane.start(importer.controller)
        works = plane.client.resource(WORKS)
        await exported(plane, "a", "a-b")
        await works.create(collected("a-b", slice_of("x", "10.2.0.1"), use="ServiceExport"))
        await plane.clock.sleep(1)
        await works.create(collected("a", slice_of("b-x", "6.6.6.6"), use="ServiceExport"))
        await plane.clock.sleep(5)
        [found] = (await plane.client.resource(SLICES).list(Scope("default"))).items
        assert found["metadata"]["name"] == "imported-a-b-x"
        assert found["endpoints"][0]["addresses"] == ["10.2.0.1"]
        await works.delete(collected("a", slice_of("b-x"), use="ServiceExport")["metadata"]["name"], "karmada-es-a")
        await plane.clock.sleep(5)
        assert len((await plane.client.resource(SLICES).list(Scope("default"))).items) == 1
        await ready(plane, "a-b", "Unknown")
        await plane.clock.sleep(TOLERANCE + 2)
        assert (await plane.client.resource(SLICES).list(Scope("default"))).items == []
        await ready(plane, "a-b", "True")
        await plane.clock.sleep(1)
        assert len((await plane.client.resource(SLICES).list(Scope("default"))).items) == 1

    on_a_plane(test)


def test_a_slice_that_comes_back_while_its_work_goes_reaches_the_consumers_when_it_is_gone():
    async def test(plane):
        dispatcher = await prepared(plane, "a", "b")
        tree = collected("a", slice_of("web-1"))
        works = plane.client.resource(WORKS)
        await works.create(tree)
        await plane.clock.sleep(1)
        await works.delete(tree["metadata"]["name"], "karmada-es-a")
        await plane.clock.sleep(1)
        await works.create(tree)
        await plane.clock.sleep(5)
        [leaving] = (await works.list(Scope("karmada-es-b"))).items
        assert leaving["metadata"]["deletionTimestamp"]
        await works.patch(leaving["metadata"]["name"], {"metadata": {"finalizers": []}}, "karmada-es-b")
        await plane.clock.sleep(1)
        [brought_again] = (await works.list(Scope("karmada-es-b"))).items
        assert "deletionTimestamp" not in brought_again["metadata"]
        assert dispatcher.controller.errors == 0

    on_a_plane(test)


def test_a_consumer_gets_what_was_collected_while_it_was_not_ready():
    async def test(plane):
        await prepared(plane, "a", "b", "c")
        await ready(plane, "c", "False")
        await plane.client.resource(WORKS).create(collected("a", slice_of("web-1")))
        await plane.clock.sleep(2)
        assert await brought(plane, "b") == {"a-web-1": ["10.0.0.1"]}
        assert await brought(plane, "c") == {}
        await ready(plane, "c", "True")
        await plane.clock.sleep(1)
        assert await brought(plane, "c") == {"a-web-1": ["10.0.0.1"]}

    on_a_plane(test)


def test_what_others_change_in_a_dispatched_slice_is_put_right():
    async def test(plane):
        await prepared(plane, "a", "b")
        await plane.client.resource(WORKS).create(collected("a", slice_of("web-1")))
        await plane.clock.sleep(2)
        works = plane.client.resource(WORKS)
        [work] = (await works.list(Scope("karmada-es-b"))).items
        manifest = work["spec"]["workload"]["manifests"][0] | {"endpoints": [{"addresses": ["6.6.6.6"]}]}
        await works.patch(work["metadata"]["name"], {"spec": {"workload": {"manifests": [manifest]}}}, "karmada-es-b")
        await plane.clock.sleep(1)
        assert await brought(plane, "b") == {"a-web-1": ["10.0.0.1"]}

    on_a_plane(test)
