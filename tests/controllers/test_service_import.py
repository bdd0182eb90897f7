"""A ServiceImport has its derived Service and says who exports it, in virtual time."""

import orjson
import pytest
from tests.controllers.observing import EVENTS, does, events, refused
from tests.controllers.plane import on_a_plane
from tests.controllers.test_endpointslice_dispatch import SLICES, slice_of

from karmada.controllers.service_import import ServiceImportController
from karmada.machinery.errors import ServerError
from karmada.machinery.transport import GroupVersionResource, Verb

SERVICES = GroupVersionResource("", "v1", "services")
IMPORTS = GroupVersionResource("multicluster.x-k8s.io", "v1alpha1", "serviceimports")
PORTS = [
    {"name": "http", "port": 80, "protocol": "TCP", "appProtocol": "http"},
    {"name": "dns", "port": 53, "protocol": "UDP"},
]
DERIVED = [{**port, "targetPort": port["port"]} for port in PORTS]
SUCCEEDED = ("Normal", "SyncDerivedServiceSucceed", "Sync derived service for serviceImport(web) succeed.")


def imported(name="web", type_="ClusterSetIP", ports=PORTS, ips=(), **metadata):
    spec = {"type": type_, "ports": list(ports), "ips": list(ips)}
    return {"metadata": {"name": name, "namespace": "default"} | metadata, "spec": spec}


def slice_from(cluster, name, service="derived-web"):
    marks = {
        "kubernetes.io/service-name": service,
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.karmada.io",
    }
    return slice_of(name, labels=marks, annotations={"work.karmada.io/namespace": f"karmada-es-{cluster}"})


async def started(plane, *trees):
    for tree in trees:
        await plane.client.resource(IMPORTS).create(tree)
    controller = ServiceImportController(plane.context).controller
    plane.start(controller)
    await plane.clock.sleep(5)
    return controller


async def services(plane):
    """The ports of Services by name, without the API server's own."""
    found = (await plane.client.resource(SERVICES).list()).items
    return {one["metadata"]["name"]: one["spec"]["ports"] for one in found if one["metadata"]["name"] != "kubernetes"}


async def exporting(plane):
    status = (await plane.client.resource(IMPORTS).get("web", "default")).get("status") or {}
    return [one["cluster"] for one in status.get("clusters") or ()]


def test_an_import_derives_a_service_that_follows_it_and_goes_with_it():
    async def test(plane):
        controller = await started(plane, imported(), imported("headless", "Headless"))
        assert await services(plane) == {"derived-web": DERIVED}
        found = await plane.client.resource(SERVICES).get("derived-web", "default")
        assert (found["spec"]["type"], "selector" in found["spec"]) == ("ClusterIP", False)
        assert await events(plane) == {SUCCEEDED}
        await plane.client.resource(IMPORTS).patch("web", {"spec": {"ports": PORTS[:1]}}, "default")
        await plane.clock.sleep(5)
        assert await services(plane) == {"derived-web": DERIVED[:1]}
        [event] = (await plane.client.resource(EVENTS).list()).items
        assert event["count"] == 2
        await plane.client.resource(IMPORTS).delete("web", "default")
        await plane.client.resource(IMPORTS).delete("headless", "default")
        await plane.clock.sleep(5)
        assert await services(plane) == {}
        assert controller.errors == 0

    on_a_plane(test)


def test_a_port_without_a_name_or_protocol_gets_what_the_server_would_add():
    async def test(plane):
        await started(plane, imported(ports=[{"port": 80}]))
        assert await services(plane) == {"derived-web": [{"port": 80, "protocol": "TCP", "targetPort": 80}]}

    on_a_plane(test)


def test_the_service_goes_when_its_import_is_being_deleted():
    async def test(plane):
        await started(plane, imported(finalizers=["example.com/held"]))
        assert set(await services(plane)) == {"derived-web"}
        await plane.client.resource(IMPORTS).delete("web", "default")
        await plane.clock.sleep(5)
        assert await services(plane) == {}

    on_a_plane(test)


def test_a_derived_service_that_others_change_or_delete_is_restored():
    async def test(plane):
        controller = await started(plane, imported())
        await plane.client.resource(SERVICES).patch("derived-web", {"spec": {"ports": DERIVED[1:]}}, "default")
        await plane.clock.sleep(5)
        assert await services(plane) == {"derived-web": DERIVED}
        await plane.client.resource(SERVICES).delete("derived-web", "default")
        await plane.clock.sleep(5)
        assert await services(plane) == {"derived-web": DERIVED}
        assert controller.errors == 0

    on_a_plane(test)


@pytest.mark.parametrize("exists", [False, True], ids=["there is none", "only the cache lacks it"])
def test_a_slice_takes_no_service_away_whose_import_is_not_known(exists):
    async def test(plane):
        await started(plane)
        plane.transport.held = frozenset({IMPORTS} if exists else ())
        if exists:
            await plane.client.resource(IMPORTS).create(imported())
        own = {"metadata": {"name": "derived-web", "namespace": "default"}, "spec": {"ports": [{"port": 80}]}}
        await plane.client.resource(SERVICES).create(own)
        await plane.client.resource(SLICES).create(slice_from("a", "a-1"))
        await plane.clock.sleep(5)
        assert "derived-web" in await services(plane)

    on_a_plane(test)


def test_an_import_that_was_made_anew_keeps_its_service_while_the_cache_shows_only_the_end_of_the_first():
    async def test(plane):
        await started(plane, imported())
        before = await plane.client.resource(SERVICES).get("derived-web", "default")

        async def remake(request):
            if request.resource == IMPORTS and request.verb is Verb.GET:
                plane.transport.before = None
                await plane.client.resource(IMPORTS).create(imported())

        plane.transport.before = remake
        await plane.client.resource(IMPORTS).delete("web", "default")
        await plane.clock.sleep(5)
        after = await plane.client.resource(SERVICES).get("derived-web", "default")
        assert after["metadata"]["uid"] == before["metadata"]["uid"]

    on_a_plane(test)


def test_a_service_that_selects_pods_is_somebodys_own():
    async def test(plane):
        spec = {"selector": {"app": "web"}, "ports": [{"port": 1, "protocol": "TCP", "targetPort": 1}]}
        own = {"metadata": {"name": "derived-web", "namespace": "default"}, "spec": spec}
        await plane.client.resource(SERVICES).create(own)
        controller = await started(plane, imported())
        text = "Service default/derived-web has a selector and is not derived: rename it or the ServiceImport"
        assert await events(plane) == {("Warning", "SyncDerivedServiceFailed", text)}
        assert controller.errors > 0
        await plane.client.resource(IMPORTS).delete("web", "default")
        await plane.clock.sleep(60)
        assert await services(plane) == {"derived-web": spec["ports"]}

    on_a_plane(test)


def test_a_service_that_cannot_be_written_is_named_and_tried_again():
    async def test(plane):
        refused(plane, ServerError("no room"), SERVICES)
        controller = await started(plane, imported())
        assert ("Warning", "SyncDerivedServiceFailed", "no room") in await events(plane)
        plane.transport.before = None
        await plane.clock.sleep(60)
        assert set(await services(plane)) == {"derived-web"}
        assert controller.errors > 0

    on_a_plane(test)


@pytest.mark.parametrize("exists", [False, True], ids=["new", "existing"])
def test_the_address_of_an_import_becomes_the_ingress_of_its_service(exists):
    async def test(plane):
        asked = []

        async def before(request):
            if request.resource == SERVICES and request.verb is Verb.PATCH:
                body = request.body if isinstance(request.body, dict) else orjson.loads(request.body)
                asked.append((request.subresource, body.get("status")))

        if exists:
            await started(plane, imported())
            plane.transport.before = before
            await plane.client.resource(IMPORTS).patch("web", {"spec": {"ips": ["10.1.0.1"]}}, "default")
        else:
            plane.transport.before = before
            await started(plane, imported(ips=["10.1.0.1"]))
        await plane.clock.sleep(5)
        assert asked[0] == ("status", {"loadBalancer": {"ingress": [{"ip": "10.1.0.1"}]}})

    on_a_plane(test)


def test_an_import_names_the_clusters_whose_slices_are_imported():
    async def test(plane):
        controller = await started(plane, imported())
        slices = plane.client.resource(SLICES)
        assert await exporting(plane) == []
        for tree in (slice_from("b", "b-1"), slice_from("a", "a-1"), slice_from("c", "c-1", "web")):
            await slices.create(tree)
        await plane.clock.sleep(5)
        assert await exporting(plane) == ["a", "b"]
        await slices.delete("a-1", "default")
        await plane.clock.sleep(5)
        assert await exporting(plane) == ["b"]
        assert controller.errors == 0

    on_a_plane(test)


def test_what_changes_the_outcome_is_reconciled_and_nothing_else():
    async def test(plane):
        controller = await started(plane, imported())
        blue = {"metadata": {"labels": {"color": "blue"}}}
        imports, hub, slices = (plane.client.resource(type_) for type_ in (IMPORTS, SERVICES, SLICES))
        other = {"metadata": {"name": "derived-other", "namespace": "default"}, "spec": {"ports": [{"port": 80}]}}
        steps = {
            imports.patch("web", blue, "default"): 0,
            hub.create(other): 0,
            hub.patch("derived-other", blue, "default"): 0,
            hub.create(other | {"metadata": {"name": "web", "namespace": "default"}}): 0,
            hub.patch("web", blue, "default"): 0,
            hub.patch("derived-web", blue, "default"): 1,
            slices.create(slice_from("a", "a-1")): 1,
            slices.create(slice_from("a", "a-2", "web")): 0,
            slices.patch("a-1", {"endpoints": [{"addresses": ["10.0.0.9"]}]}, "default"): 0,
        }
        assert await does(plane, controller, *steps) == list(steps.values())

    on_a_plane(test)
