"""Agents that fall silent, and clusters that are deleted and join again under their name."""

from tests.controllers.plane import CLUSTERS, NAMESPACES, on_a_plane

from karmada.controllers.cluster_monitor import ClusterMonitor, MonitorOptions
from karmada.machinery.leader import LEASES

OPTIONS = MonitorOptions()
NAME = "pulled"


async def lease(plane) -> None:
    """The lease of an agent that renewed it just now, and never again."""
    spec = {"holderIdentity": NAME, "renewTime": "2023-11-14T22:13:20.000000Z"}
    await plane.client.resource(LEASES).create(
        {"metadata": {"name": NAME, "namespace": "karmada-cluster"}, "spec": spec}
    )


async def ready(plane) -> str:
    conditions = (await plane.client.resource(CLUSTERS).get(NAME)).get("status", {}).get("conditions") or ()
    return next((c["status"] for c in conditions if c["type"] == "Ready"), "")


def test_a_cluster_that_joins_again_has_its_full_grace_period():
    """What was known of the one before it must not count against it."""

    async def scenario(plane):
        await plane.client.resource(NAMESPACES).create({"metadata": {"name": "karmada-cluster"}})
        await lease(plane)
        plane.start(ClusterMonitor(plane.context, OPTIONS).controller)
        joined = {"metadata": {"name": NAME}, "spec": {"syncMode": "Pull"}}
        await plane.client.resource(CLUSTERS).create(joined)
        await plane.clock.sleep(OPTIONS.grace - 2)
        assert await ready(plane) == ""
        await plane.client.resource(CLUSTERS).delete(NAME)
        await plane.clock.sleep(1)
        await plane.client.resource(CLUSTERS).create(joined)
        await plane.clock.sleep(OPTIONS.grace - 2)
        assert await ready(plane) == ""
        await plane.clock.sleep(2 + 2 * OPTIONS.period)
        assert await ready(plane) == "Unknown"

    on_a_plane(scenario)
