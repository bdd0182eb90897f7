"""EndpointSlices of a member are collected into Works: in virtual time, with one member."""

from tests.controllers.plane import WORKS, OneMember, on_a_plane, server
from tests.controllers.test_endpointslice_dispatch import ready, slice_of

from karmada.api.work.v1alpha1 import Work
from karmada.controllers.endpointslice_collect import EndpointSliceCollector, marker_name
from karmada.controllers.service_export import EXPORTS, ServiceExportController
from karmada.controllers.slice_collection import SLICES
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource

CRDS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
LABEL = "endpointslice.karmada.io/managed-by"


def named(name, **more):
    marks = {"kubernetes.io/service-name": "web"} | more
    return slice_of(name, labels=marks)


def marker(cluster="m1"):
    marks = {
        "multiclusterservice.karmada.io/namespace": "default",
        "multiclusterservice.karmada.io/name": "web",
    }
    manifest = {
        "apiVersion": "networking.karmada.io/v1alpha1",
        "kind": "MultiClusterService",
        "metadata": {"name": "web", "namespace": "default"},
    }
    return {
        "metadata": {"name": marker_name("default", "web"), "namespace": f"karmada-es-{cluster}", "labels": marks},
        "spec": {"suspendDispatching": True, "workload": {"manifests": [manifest]}},
    }


async def collected(plane):
    """The users of collected slices, by slice."""
    found = (await plane.client.of(Work).list(Scope("karmada-es-m1"))).items
    works = [work for work in found if LABEL in work.metadata.labels and work.metadata.deletion_timestamp is None]
    return {work.metadata.name.rpartition("-")[0]: work.metadata.labels[LABEL] for work in works}


async def released(plane, finalizer):
    """Do what the dispatch or import controller does: release Works that are being deleted."""
    for work in (await plane.client.resource(WORKS).list(Scope("karmada-es-m1"))).items:
        held = work["metadata"].get("finalizers") or []
        if work["metadata"].get("deletionTimestamp") and finalizer in held:
            left = [one for one in held if one != finalizer]
            patch = {"metadata": {"finalizers": left}}
            await plane.client.resource(WORKS).patch(work["metadata"]["name"], patch, "karmada-es-m1")


def with_a_member(test):
    async def scenario(plane):
        await plane.cluster("m1")
        async with server(plane.clock) as member:
            members = OneMember(member, plane.clock)
            try:
                await test(plane, members)
            finally:
                await members.connection.close()

    on_a_plane(scenario)


def test_slices_are_collected_while_their_provider_is_marked():
    async def test(plane, members):
        works = plane.context.informers.of(Work)
        collector = EndpointSliceCollector(plane.context, members, works)
        plane.start(collector.controller)
        slices = members.client.resource(SLICES)
        await slices.create(named("web-1"))
        await slices.create(slice_of("other-1", labels={"kubernetes.io/service-name": "other"}))
        brought = {"endpointslice.kubernetes.io/managed-by": "endpointslice-dispatch-controller.karmada.io"}
        await slices.create(named("m2-web-1", **brought))
        await plane.clock.sleep(1)
        assert await collected(plane) == {}
        await plane.client.resource(WORKS).create(marker())
        await plane.clock.sleep(1)
        assert await collected(plane) == {"web-1": "MultiClusterService"}
        await slices.create(named("web-2"))
        await plane.clock.sleep(1)
        assert set(await collected(plane)) == {"web-1", "web-2"}
        await slices.delete("web-1", "default")
        await plane.clock.sleep(1)
        assert set(await collected(plane)) == {"web-2"}
        await plane.client.resource(WORKS).delete(marker_name("default", "web"), "karmada-es-m1")
        await plane.clock.sleep(1)
        assert await collected(plane) == {}
        assert collector.controller.errors == 0

    with_a_member(test)


def test_nothing_is_given_up_while_the_member_is_not_ready_or_cannot_be_read():
    async def test(plane, members):
        works = plane.context.informers.of(Work)
        plane.start(EndpointSliceCollector(plane.context, members, works).controller)
        slices = members.client.resource(SLICES)
        await slices.create(named("web-1"))
        await plane.client.resource(WORKS).create(marker())
        await plane.clock.sleep(1)
        await ready(plane, "m1", "Unknown")
        await plane.clock.sleep(1)
        await slices.delete("web-1", "default")
        await plane.clock.sleep(1)
        assert set(await collected(plane)) == {"web-1"}
        await ready(plane, "m1", "True")
        await plane.clock.sleep(1)
        assert await collected(plane) == {}

    with_a_member(test)


def test_a_slice_that_both_ask_for_goes_with_the_last_of_them():
    async def test(plane, members):
        crd = await plane.client.resource(CRDS).get("serviceexports.multicluster.x-k8s.io")
        crd = {**crd, "metadata": {"name": crd["metadata"]["name"]}, "status": {}}
        await members.client.resource(CRDS).create(crd)
        works = plane.context.informers.of(Work)
        exports, collector = (
            ServiceExportController(plane.context, members, works),
            EndpointSliceCollector(plane.context, members, works),
        )
        for one in (exports, collector):
            plane.start(one.controller)
        await members.client.resource(SLICES).create(named("web-1"))
        await members.client.resource(EXPORTS).create({"metadata": {"name": "web", "namespace": "default"}})
        export = {
            "apiVersion": "multicluster.x-k8s.io/v1alpha1",
            "kind": "ServiceExport",
            "metadata": {"name": "web", "namespace": "default"},
        }
        hub = plane.client.resource(WORKS)
        tree = {"metadata": {"name": "w"}, "spec": {"workload": {"manifests": [export]}}}
        await hub.create(tree, "karmada-es-m1")
        await plane.clock.sleep(1)
        assert await collected(plane) == {}, "it is not known to be applied yet"
        applied = {"type": "Applied", "status": "True", "reason": "T", "message": ""}
        applied["lastTransitionTime"] = "2026-01-01T00:00:00Z"
        await hub.patch("w", {"status": {"conditions": [applied]}}, "karmada-es-m1", subresource="status")
        await plane.clock.sleep(1)
        assert await collected(plane) == {"web-1": "ServiceExport"}
        await hub.create(marker())
        await plane.clock.sleep(1)
        assert await collected(plane) == {"web-1": "MultiClusterService.ServiceExport"}
        await members.client.resource(EXPORTS).delete("web", "default")
        await plane.clock.sleep(1)
        assert await collected(plane) == {"web-1": "MultiClusterService"}
        await hub.delete(marker_name("default", "web"), "karmada-es-m1")
        await plane.clock.sleep(1)
        assert await collected(plane) == {}
        assert exports.controller.errors == collector.controller.errors == 0

    with_a_member(test)


def test_a_slice_comes_back_under_a_work_that_was_still_going():
    async def test(plane, members):
        works = plane.context.informers.of(Work)
        collector = EndpointSliceCollector(plane.context, members, works)
        plane.start(collector.controller)
        slices = members.client.resource(SLICES)
        await slices.create(named("web-1"))
        await plane.client.resource(WORKS).create(marker())
        await plane.clock.sleep(1)
        await slices.delete("web-1", "default")
        await plane.clock.sleep(1)
        await slices.create(named("web-1"))
        await plane.clock.sleep(1)
        assert await collected(plane) == {}
        await released(plane, "karmada.io/mcs-endpointslice-dispatch-controller")
        await plane.clock.sleep(1)
        assert await collected(plane) == {"web-1": "MultiClusterService"}
        assert collector.controller.errors == 0

    with_a_member(test)
