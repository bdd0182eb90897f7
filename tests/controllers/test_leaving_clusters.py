"""Clusters of agents leave although others write Works for them: what was taken out is not written again."""

from tests.controllers.executing import Watched, begin
from tests.controllers.plane import CLUSTERS, WORKS, on_a_plane, server
from tests.controllers.test_cluster import exists
from tests.controllers.test_quota_status import quota

from karmada.controllers.cluster import ClusterController
from karmada.controllers.quota_sync import QuotaSyncController


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
