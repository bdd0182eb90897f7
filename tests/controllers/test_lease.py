"""The agent's sign of life, when it does not get through."""

import logging

from tests.controllers.plane import CLUSTERS, NAMESPACES, on_a_plane

from karmada.agent.lease import LeaseKeeper
from karmada.agent.options import LeaseOptions
from karmada.api.version import VERSION
from karmada.machinery.clock import parse_rfc3339
from karmada.machinery.errors import Timeout, Unavailable
from karmada.machinery.leader import LEASES
from karmada.standalone.version_check import components


def test_a_lease_that_cannot_be_renewed_is_reported_and_renewed_later(caplog):
    async def refuse(request):
        if request.resource == LEASES:
            raise Unavailable("no way there")

    async def scenario(plane):
        await plane.client.resource(NAMESPACES).create({"metadata": {"name": "karmada-cluster"}})
        await plane.cluster("m1", mode="Pull")
        cluster = await plane.client.resource(CLUSTERS).get("m1")
        plane.transport.before = refuse
        keeper = LeaseKeeper(plane.context.client, cluster, "karmada-cluster", LeaseOptions(), plane.clock)
        plane.supervisor.start("lease", keeper.run)
        await plane.clock.sleep(15)
        assert (await plane.client.resource(LEASES).list()).items == []
        plane.transport.before = None
        await plane.clock.sleep(15)
        lease = await plane.client.resource(LEASES).get("m1", "karmada-cluster")
        found = components(VERSION, [lease])
        assert (found[-1].name, found[-1].version, found[-1].problem) == ("agent of m1", VERSION, "")

    with caplog.at_level(logging.WARNING):
        on_a_plane(scenario)
    assert "the lease of cluster m1 could not be renewed, 2 in a row: no way there" in caplog.text


def test_a_renewal_that_hangs_is_followed_by_another_before_the_agent_counts_as_silent():
    async def scenario(plane):
        await plane.client.resource(NAMESPACES).create({"metadata": {"name": "karmada-cluster"}})
        await plane.cluster("m1", mode="Pull")
        cluster = await plane.client.resource(CLUSTERS).get("m1")
        hangs = []

        async def hang(request):
            if request.resource == LEASES and not hangs:
                hangs.append(request)
                await plane.clock.sleep(request.timeout)
                raise Timeout("no answer")

        options = LeaseOptions()
        keeper = LeaseKeeper(plane.context.client, cluster, "karmada-cluster", options, plane.clock)
        plane.supervisor.start("lease", keeper.run)
        await plane.clock.sleep(1)
        plane.transport.before = hang
        silences = []
        for _ in range(60):
            await plane.clock.sleep(1)
            lease = await plane.client.resource(LEASES).get("m1", "karmada-cluster")
            silences.append(plane.clock.now() - parse_rfc3339(lease["spec"]["renewTime"]))
        assert len(hangs) == 1
        assert max(silences) < options.duration

    on_a_plane(scenario)
