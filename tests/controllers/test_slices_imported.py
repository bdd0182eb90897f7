"""Slices of exported Services in the control plane: made from Works, kept right, and taken away with them."""

import sys

import pytest
from tests.controllers.plane import CLUSTERS, WORKS, on_a_plane
from tests.controllers.test_endpointslice_dispatch import SLICES, TOLERANCE, collected, exported, ready, slice_of

from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.endpointslice_import import EndpointOptions, EndpointSliceImporter
from karmada.machinery.client import type_of
from karmada.machinery.resource import Scope
from karmada.machinery.transport import Verb
from karmada.works.slices import Use

EXPORT = "ServiceExport"
NAME = "endpointslice.karmada.io/name"
FINALIZER = "karmada.io/endpointslice-controller"


def importing(test):
    """Run a test with cluster a, from which one slice was collected."""

    async def scenario(plane):
        await plane.cluster("a")
        importer = EndpointSliceImporter(plane.context, EndpointOptions(TOLERANCE))
        plane.start(importer.controller)
        await exported(plane, "a")
        work = collected("a", slice_of("x", "10.0.0.1"), use=EXPORT)
        await plane.client.resource(WORKS).create(work)
        await plane.clock.sleep(2)
        await test(plane, importer.controller, work["metadata"]["name"])

    on_a_plane(scenario)


async def imported(plane):
    found = (await plane.client.resource(SLICES).list(Scope("default"))).items
    return {one["metadata"]["name"]: one["endpoints"][0]["addresses"][0] for one in found}


async def edit(plane, name, patch):
    await plane.client.resource(WORKS).patch(name, patch, "karmada-es-a")
    await plane.clock.sleep(2)


def manifests(*trees):
    return {"spec": {"workload": {"manifests": list(trees)}}}


def test_what_others_change_in_an_imported_slice_is_put_right_and_what_they_add_stays():
    async def scenario(plane, controller, name):
        slices = plane.client.resource(SLICES)
        marks = {"labels": {"mine": "x"}, "annotations": {"mine": "y"}}
        await slices.patch("imported-a-x", {"endpoints": [{"addresses": ["6.6.6.6"]}], "metadata": marks}, "default")
        await plane.clock.sleep(2)
        found = await slices.get("imported-a-x", "default")
        assert found["endpoints"][0]["addresses"] == ["10.0.0.1"]
        assert (found["metadata"]["labels"]["mine"], found["metadata"]["annotations"]["mine"]) == ("x", "y")
        await slices.delete("imported-a-x", "default")
        await plane.clock.sleep(2)
        assert await imported(plane) == {"imported-a-x": "10.0.0.1"}
        other = slice_of("x", "10.0.0.2") | {"ports": None}
        await edit(plane, name, manifests({key: value for key, value in other.items() if value is not None}))
        found = await slices.get("imported-a-x", "default")
        assert (found["endpoints"][0]["addresses"], found.get("ports")) in ((["10.0.0.2"], None), (["10.0.0.2"], []))

    importing(scenario)


def test_a_slice_of_another_address_type_is_made_anew():
    async def scenario(plane, controller, name):
        before = await plane.client.resource(SLICES).get("imported-a-x", "default")
        await edit(plane, name, manifests(slice_of("x", "fd00::1") | {"addressType": "IPv6"}))
        after = await plane.client.resource(SLICES).get("imported-a-x", "default")
        assert (before["addressType"], after["addressType"]) == ("IPv4", "IPv6")
        assert before["metadata"]["uid"] != after["metadata"]["uid"]

    importing(scenario)


@pytest.mark.parametrize("how", ["deleted", "unmarked"])
def test_a_work_lets_go_of_its_slice_before_it_goes(how):
    async def scenario(plane, controller, name):
        if how == "deleted":
            await plane.client.resource(WORKS).delete(name, "karmada-es-a")
            await plane.clock.sleep(2)
            assert (await plane.client.resource(WORKS).list()).items == []
        else:
            await edit(plane, name, {"metadata": {"labels": {NAME: None}}})
            work = await plane.client.resource(WORKS).get(name, "karmada-es-a")
            assert FINALIZER not in work["metadata"].get("finalizers", ())
        assert await imported(plane) == {}
        assert controller.errors == 0

    importing(scenario)


@pytest.mark.parametrize("comes_back", [False, True], ids=["gone", "there again"])
def test_a_slice_whose_work_went_unnoticed_goes_if_the_server_has_none_either(comes_back):
    async def scenario(plane, controller, name):
        works = plane.client.resource(WORKS)

        async def before(request):
            asked = (request.verb, request.resource, request.name)
            if comes_back and asked == (Verb.GET, WORKS, name) and not done:
                done.append(True)
                await works.create(collected("a", slice_of("x", "10.0.0.1"), use=EXPORT))

        done = []
        uid = (await plane.client.resource(SLICES).get("imported-a-x", "default"))["metadata"]["uid"]
        plane.transport.before = before
        await works.patch(name, {"metadata": {"finalizers": None}}, "karmada-es-a")
        await works.delete(name, "karmada-es-a")
        await plane.clock.sleep(5)
        found = (await plane.client.resource(SLICES).list(Scope("default"))).items
        assert [one["metadata"]["uid"] for one in found] == ([uid] if comes_back else [])

    importing(scenario)


@pytest.mark.parametrize(
    ("namespace", "marked"),
    [("other", "default"), ("kube-system", "kube-system"), ("karmada-system", "karmada-system")],
)
def test_a_slice_is_imported_only_into_the_namespace_of_its_service_and_into_none_that_is_reserved(namespace, marked):
    async def scenario(plane, controller, name):
        await edit(plane, name, {"metadata": {"labels": {"endpointslice.karmada.io/namespace": marked}}})
        await edit(plane, name, manifests(slice_of("x", "10.0.0.1", namespace=namespace)))
        assert (await plane.client.resource(SLICES).list(Scope("default"))).items == []
        assert [one for one in (await plane.client.resource(SLICES).list()).items if "10.0.0.1" in str(one)] == []
        await edit(plane, name, {"metadata": {"labels": {"endpointslice.karmada.io/namespace": "default"}}})
        await edit(plane, name, manifests(slice_of("x", "10.0.0.1")))
        assert await imported(plane) == {"imported-a-x": "10.0.0.1"}

    importing(scenario)


@pytest.mark.parametrize(
    ("status", "looks"),
    [({"status": {"kubernetesVersion": "v1.30.0"}}, 0), ({"status": {"conditions": []}}, 1)],
    ids=["status", "readiness"],
)
def test_works_are_looked_at_when_a_cluster_changes_in_what_it_offers(status, looks):
    async def scenario(plane, controller, name):
        other = collected("a", slice_of("y"))
        await plane.client.resource(WORKS).create(other)
        await plane.clock.sleep(2)
        before = controller.queue.adds
        await plane.client.resource(CLUSTERS).patch("a", status, subresource="status")
        await plane.clock.sleep(2)
        assert controller.queue.adds - before == looks

    importing(scenario)


def test_works_are_not_looked_at_for_their_status():
    async def scenario(plane, controller, name):
        before = controller.queue.adds
        status = {"status": {"manifestStatuses": []}}
        await plane.client.resource(WORKS).patch(name, status, "karmada-es-a", subresource="status")
        await plane.client.resource(WORKS).patch(name, {"metadata": {"annotations": {"x": "y"}}}, "karmada-es-a")
        await plane.client.resource(WORKS).create(
            {"metadata": {"name": "plain", "namespace": "karmada-es-a"}, "spec": {"workload": {"manifests": []}}}
        )
        await plane.clock.sleep(2)
        assert controller.queue.adds == before

    importing(scenario)


def test_slices_of_a_cluster_that_stays_away_are_withdrawn_after_its_tolerance():
    async def scenario(plane, controller, name):
        await ready(plane, "a", "False")
        await plane.clock.sleep(TOLERANCE - 2)
        assert await imported(plane) == {"imported-a-x": "10.0.0.1"}
        await plane.clock.sleep(4)
        assert await imported(plane) == {}
        work = await plane.client.resource(WORKS).get(name, "karmada-es-a")
        assert work["metadata"]["finalizers"] == [FINALIZER]

    importing(scenario)


def test_a_cluster_into_which_nobody_brought_the_export_offers_nothing():
    async def scenario(plane, controller, name):
        await plane.cluster("b")
        forged = collected("b", slice_of("x", "6.6.6.6"), use=EXPORT)
        await plane.client.resource(WORKS).create(forged)
        await plane.clock.sleep(2)
        assert await imported(plane) == {"imported-a-x": "10.0.0.1"}

        bindings = plane.client.resource(type_of(ResourceBinding))
        for clusters, offering in ((["b"], {"imported-b-x": "6.6.6.6"}), (["a"], {"imported-a-x": "10.0.0.1"})):
            spec = {"clusters": [{"name": cluster} for cluster in clusters]}
            await bindings.patch("web-serviceexport", {"spec": spec}, "default")
            await plane.clock.sleep(2)
            assert await imported(plane) == offering

    importing(scenario)


def test_works_without_a_slice_are_not_looked_at_when_their_cluster_changes():
    looked = 0

    def profile(frame, event, argument):
        nonlocal looked
        looked += event == "call" and frame.f_code is Use.service.__code__

    async def scenario(plane, controller, name):
        for number in range(100):
            metadata = {"name": f"w{number}", "namespace": "karmada-es-a"}
            await plane.client.resource(WORKS).create({"metadata": metadata, "spec": {"workload": {"manifests": []}}})
        await plane.clock.sleep(2)
        sys.setprofile(profile)
        try:
            await ready(plane, "a", "False")
            await plane.clock.sleep(2)
        finally:
            sys.setprofile(None)
        assert 0 < looked < 10, looked

    importing(scenario)


@pytest.mark.parametrize("shown", ["not at all", "as it was"])
def test_a_slice_whose_export_the_cache_does_not_show_as_it_is_stays(shown):
    async def scenario(plane, controller, name):
        bindings, slices = (plane.client.resource(type_) for type_ in (type_of(ResourceBinding), SLICES))
        was = await slices.get("imported-a-x", "default")
        if shown == "as it was":
            await bindings.patch("web-serviceexport", {"spec": {"clusters": [{"name": "b"}]}}, "default")
        else:
            await bindings.delete("web-serviceexport", "default")
        await plane.clock.sleep(2)
        assert await imported(plane) == {}
        plane.transport.held = frozenset({type_of(ResourceBinding)})
        if shown == "as it was":
            both = [{"name": "b"}, {"name": "a"}]
            await bindings.patch("web-serviceexport", {"spec": {"clusters": both}}, "default")
        else:
            await exported(plane, "a")
        kept = {key: was["metadata"][key] for key in ("name", "namespace", "labels", "annotations")}
        made = await slices.create(was | {"metadata": kept})
        await plane.clock.sleep(5)
        plane.transport.held = frozenset()
        await plane.clock.sleep(5)
        assert (await slices.get("imported-a-x", "default"))["metadata"]["uid"] == made["metadata"]["uid"]
        assert controller.errors == 0

    importing(scenario)
