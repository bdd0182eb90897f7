"""An export of a Service that no cluster has says so, in virtual time."""

from tests.controllers.observing import does
from tests.controllers.plane import WORKS, on_a_plane
from tests.controllers.test_endpointslice_dispatch import collected, slice_of

from karmada.api.work.v1alpha1 import Work
from karmada.controllers.service_export_status import WAIT, ServiceExportStatusController
from karmada.machinery.transport import GroupVersionResource
from karmada.works.slices import EXPORT

EXPORTS = GroupVersionResource("multicluster.x-k8s.io", "v1alpha1", "serviceexports")
BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
INDEX = "collected"


async def exported(plane, applied=True):
    """An export that was applied in a cluster."""
    await plane.cluster("a")
    await plane.client.resource(EXPORTS).create({"metadata": {"name": "web", "namespace": "default"}})
    resource = {"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ServiceExport"}
    spec = {"resource": resource | {"namespace": "default", "name": "web"}}
    await plane.client.resource(BINDINGS).create(
        {"metadata": {"name": "web-serviceexport", "namespace": "default"}, "spec": spec}
    )
    status = {"aggregatedStatus": [{"clusterName": "a", "applied": applied}]}
    await plane.client.resource(BINDINGS).patch(
        "web-serviceexport", {"status": status}, "default", subresource="status"
    )
    works = plane.context.informers.of(Work)
    works.add_index(INDEX, lambda item: [str(key)] if (key := EXPORT.service(item.value)) else [])
    controller = ServiceExportStatusController(plane.context, works, INDEX).controller
    plane.start(controller)
    return controller


async def condition(plane):
    found = (await plane.client.resource(EXPORTS).get("web", "default")).get("status") or {}
    return [(each["type"], each["status"], each["reason"], each["message"]) for each in found.get("conditions") or ()]


def test_an_export_without_a_service_says_so_until_there_is_one():
    async def test(plane):
        await exported(plane)
        await plane.clock.sleep(WAIT - 5)
        assert await condition(plane) == [], "endpoints may still be on their way"
        await plane.clock.sleep(10)
        text = "no Service default/web with endpoints is in a: create it, and propagate it there"
        assert await condition(plane) == [("Valid", "False", "NoService", text)]

        await plane.client.resource(WORKS).create(collected("a", slice_of("web-1"), use="ServiceExport"))
        await plane.clock.sleep(1)
        assert await condition(plane) == [("Valid", "True", "Exported", "")]

    on_a_plane(test)


def test_nothing_is_said_of_an_export_that_works_or_was_not_applied():
    async def working(plane):
        await exported(plane)
        await plane.client.resource(WORKS).create(collected("a", slice_of("web-1"), use="ServiceExport"))
        await plane.clock.sleep(3 * WAIT)
        assert await condition(plane) == []

    async def waiting(plane):
        await exported(plane, applied=False)
        await plane.clock.sleep(3 * WAIT)
        assert await condition(plane) == []

    on_a_plane(working)
    on_a_plane(waiting)


def test_time_for_endpoints_begins_when_the_export_is_applied_and_anew_when_all_are_gone():
    async def test(plane):
        await exported(plane, applied=False)
        await plane.clock.sleep(3 * WAIT)
        status = {"aggregatedStatus": [{"clusterName": "a", "applied": True}]}
        await plane.client.resource(BINDINGS).patch(
            "web-serviceexport", {"status": status}, "default", subresource="status"
        )
        await plane.clock.sleep(WAIT - 0.5)
        assert await condition(plane) == [], "it was applied just now"
        await plane.clock.sleep(1)
        assert [status for _, status, _, _ in await condition(plane)] == ["False"]
        tree = collected("a", slice_of("web-1"), use="ServiceExport")
        tree["metadata"]["finalizers"] = []
        await plane.client.resource(WORKS).create(tree)
        await plane.clock.sleep(3 * WAIT)
        assert [status for _, status, _, _ in await condition(plane)] == ["True"]
        await plane.client.resource(WORKS).delete(tree["metadata"]["name"], "karmada-es-a")
        await plane.clock.sleep(WAIT - 1)
        assert [status for _, status, _, _ in await condition(plane)] == ["True"], "others may be on their way"
        await plane.clock.sleep(2)
        assert [status for _, status, _, _ in await condition(plane)] == ["False"]

    on_a_plane(test)


def test_an_export_that_is_applied_nowhere_for_a_while_has_its_whole_time_again():
    async def test(plane):
        await exported(plane)

        async def applied(where):
            items = [{"clusterName": "a", "applied": where}]
            await plane.client.resource(BINDINGS).patch(
                "web-serviceexport", {"status": {"aggregatedStatus": items}}, "default", subresource="status"
            )

        await plane.clock.sleep(WAIT - 5)
        await applied(False)
        await plane.clock.sleep(WAIT)
        await applied(True)
        await plane.clock.sleep(WAIT - 5)
        assert await condition(plane) == []
        await plane.clock.sleep(10)
        assert [reason for _, _, reason, _ in await condition(plane)] == ["NoService"]

    on_a_plane(test)


def test_what_has_exports_looked_at_again():
    async def test(plane):
        controller = await exported(plane)
        await plane.clock.sleep(3 * WAIT)
        works, bindings = plane.client.resource(WORKS), plane.client.resource(BINDINGS)
        tree, other = collected("a", slice_of("web-1"), use="ServiceExport"), collected("a", slice_of("web-2"))
        for each in (tree, other):
            each["metadata"]["finalizers"] = []
        blue = {"metadata": {"labels": {"color": "blue"}}}
        resource = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "web"}
        binding = {"metadata": {"name": "web-configmap", "namespace": "default"}, "spec": {"resource": resource}}
        steps = {
            works.create(other): 0,
            works.create(tree): 2,
            works.patch(tree["metadata"]["name"], blue, "karmada-es-a"): 0,
            bindings.create(binding): 0,
            bindings.patch("web-serviceexport", blue, "default"): 1,
            plane.client.resource(EXPORTS).patch(
                "web", {"metadata": {"finalizers": ["example.com/held"]}}, "default"
            ): 1,
            plane.client.resource(EXPORTS).delete("web", "default"): 1,
            works.delete(tree["metadata"]["name"], "karmada-es-a"): 1,
        }
        assert await does(plane, controller, *steps) == list(steps.values())
        await plane.clock.sleep(3 * WAIT)
        assert [status for _, status, _, _ in await condition(plane)] == ["True"], "nothing is said of one that goes"

    on_a_plane(test)
