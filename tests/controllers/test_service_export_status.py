"""An export of a Service that no cluster has says so, in virtual time."""

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
    plane.start(ServiceExportStatusController(plane.context, works, INDEX).controller)


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
