"""Clusters of agents leave although others write Works for them: what was taken out is not written again."""

from tests.controllers.executing import Watched, begin
from tests.controllers.plane import CLUSTERS, CRDS, WORKS, on_a_plane, server
from tests.controllers.test_cluster import exists
from tests.controllers.test_quota_status import quota
from tests.controllers.test_slice_collection import collected, named, released

from karmada.api import finalizers
from karmada.api.work.v1alpha1 import Work
from karmada.controllers.cluster import ClusterController
from karmada.controllers.quota_sync import QuotaSyncController
from karmada.controllers.service_export import EXPORTS, ServiceExportController
from karmada.controllers.slice_collection import SLICES

SPACE = "karmada-es-m1"
EXPORT = {
    "apiVersion": "multicluster.x-k8s.io/v1alpha1",
    "kind": "ServiceExport",
    "metadata": {"name": "web", "namespace": "default"},
}
APPLIED = {
    "type": "Applied",
    "status": "True",
    "reason": "Test",
    "message": "",
    "lastTransitionTime": "2023-11-14T22:13:20Z",
}


def with_an_agent(test):
    """Run a test with the cluster of an agent."""

    async def scenario(plane):
        await plane.cluster("m1", "Pull")
        async with server(plane.clock) as hosting:
            member = Watched(hosting, plane.clock)
            begin(plane, member)
            plane.start(ClusterController(plane.context).controller)
            await test(plane, member)
            await member.connection.close()

    on_a_plane(scenario)


def test_a_cluster_that_a_federated_quota_names_leaves():
    async def test(plane, member):
        plane.start(QuotaSyncController(plane.context).controller)
        await quota(plane, m1="1")
        await plane.clock.sleep(5)
        assert len((await plane.client.resource(WORKS).list()).items) == 1
        await plane.client.resource(CLUSTERS).delete("m1")
        await plane.clock.sleep(60)
        assert not await exists(plane, CLUSTERS, "m1")

    with_an_agent(test)


def test_a_cluster_whose_slices_are_collected_leaves():
    async def test(plane, member):
        crd = await plane.client.resource(CRDS).get("serviceexports.multicluster.x-k8s.io")
        await member.client.resource(CRDS).create({"metadata": {"name": crd["metadata"]["name"]}, "spec": crd["spec"]})
        await member.client.resource(SLICES).create(named("web-1"))
        await plane.clock.sleep(1)
        await member.client.resource(EXPORTS).create(EXPORT)
        plane.start(ServiceExportController(plane.context, member, plane.context.informers.of(Work)).controller)
        await plane.client.resource(WORKS).create(
            {
                "metadata": {"name": "export", "namespace": SPACE},
                "spec": {"suspendDispatching": True, "workload": {"manifests": [EXPORT]}},
            }
        )
        status = {"status": {"conditions": [APPLIED]}}
        await plane.client.resource(WORKS).patch("export", status, SPACE, subresource="status")
        await plane.clock.sleep(5)
        assert await collected(plane) == {"web-1": "ServiceExport"}
        await plane.client.resource(CLUSTERS).delete("m1")
        for _ in range(30):
            await plane.clock.sleep(2)
            await released(plane, finalizers.ENDPOINT_SLICE)
        assert not await exists(plane, CLUSTERS, "m1")

    with_an_agent(test)
