"""Agents that fall silent, and clusters that are deleted and join again under their name."""

import pytest
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


@pytest.mark.parametrize("alive", [True, False])
def test_an_agent_whose_lease_only_the_cache_does_not_see_renewed_is_alive(alive):
    async def scenario(plane):
        await begin(plane)
        await lease(plane)
        await plane.condition(NAME, "Ready", "True")
        await plane.clock.sleep(5)
        plane.transport.held = frozenset({LEASES})
        for second in range(60, 180, 10):
            if alive or second <= 90:
                renewed = {"spec": {"renewTime": f"2023-11-14T22:{13 + second // 60}:{second % 60:02}.000000Z"}}
                await plane.client.resource(LEASES).patch(NAME, renewed, "karmada-cluster")
            await plane.clock.sleep(10)
        assert await ready(plane) == ("True" if alive else "Unknown")

    on_a_plane(scenario)


async def reason(plane) -> str:
    conditions = (await plane.client.resource(CLUSTERS).get(NAME)).get("status", {}).get("conditions") or ()
    return next((c["reason"] for c in conditions if c["type"] == "Ready"), "")


async def begin(plane, mode="Pull"):
    await plane.client.resource(NAMESPACES).create({"metadata": {"name": "karmada-cluster"}})
    plane.start(ClusterMonitor(plane.context, OPTIONS).controller)
    await plane.client.resource(CLUSTERS).create({"metadata": {"name": NAME}, "spec": {"syncMode": mode}})


def test_an_agent_that_never_spoke_has_the_longer_grace_period_of_a_new_one():
    async def scenario(plane):
        await begin(plane)
        await plane.clock.sleep(OPTIONS.startup_grace - 1)
        assert await ready(plane) == ""
        await plane.clock.sleep(2 + OPTIONS.period)
        assert (await ready(plane), await reason(plane)) == ("Unknown", "ClusterStatusNeverUpdated")

    on_a_plane(scenario)


def test_an_old_cluster_has_the_longer_grace_period_after_a_restart():
    async def scenario(plane):
        await plane.client.resource(CLUSTERS).create({"metadata": {"name": NAME}, "spec": {"syncMode": "Pull"}})
        await plane.clock.sleep(600)
        plane.start(ClusterMonitor(plane.context, OPTIONS).controller)
        await plane.clock.sleep(OPTIONS.startup_grace + 1)
        assert await ready(plane) == ""
        await plane.clock.sleep(OPTIONS.period)
        assert await ready(plane) == "Unknown"

    on_a_plane(scenario)


def test_a_lease_that_is_renewed_keeps_a_silent_agent_alive_and_brings_it_back():
    async def scenario(plane):
        await begin(plane)
        await plane.condition(NAME, "Ready", "True")
        await lease(plane)
        leases = plane.client.resource(LEASES)
        for minute in range(5):
            renewed = {"spec": {"renewTime": f"2023-11-14T23:{minute:02}:00.000000Z"}}
            await leases.patch(NAME, renewed, "karmada-cluster")
            await plane.clock.sleep(OPTIONS.grace - OPTIONS.period)
            assert await ready(plane) == "True"
        await plane.clock.sleep(4 * OPTIONS.period)
        assert (await ready(plane), await reason(plane)) == ("Unknown", "ClusterStatusUnknown")
        written = await plane.client.resource(CLUSTERS).get(NAME)
        await plane.clock.sleep(10 * OPTIONS.grace)
        assert await plane.client.resource(CLUSTERS).get(NAME) == written

    on_a_plane(scenario)


def test_an_agent_that_fell_silent_again_after_it_was_given_up_has_its_grace_period():
    async def scenario(plane):
        await begin(plane)
        await plane.condition(NAME, "Ready", "True")
        await plane.clock.sleep(OPTIONS.grace + 2 * OPTIONS.period)
        assert await ready(plane) == "Unknown"
        await plane.condition(NAME, "Ready", "True")
        await plane.clock.sleep(OPTIONS.grace - OPTIONS.period)
        assert await ready(plane) == "True"
        await plane.clock.sleep(4 * OPTIONS.period)
        assert await ready(plane) == "Unknown"

    on_a_plane(scenario)


def test_only_clusters_with_an_agent_are_watched_from_when_they_have_one():
    async def scenario(plane):
        await begin(plane, "Push")
        await plane.condition(NAME, "Ready", "True")
        await plane.clock.sleep(10 * OPTIONS.grace)
        assert await ready(plane) == "True"
        await plane.client.resource(CLUSTERS).patch(NAME, {"spec": {"syncMode": "Pull"}})
        await plane.clock.sleep(OPTIONS.grace - OPTIONS.period)
        assert await ready(plane) == "True"
        await plane.clock.sleep(4 * OPTIONS.period)
        assert await ready(plane) == "Unknown"

    on_a_plane(scenario)


@pytest.mark.parametrize("sign", ["condition", "lease"])
def test_an_agent_may_be_silent_for_the_whole_grace_period(sign):
    async def scenario(plane):
        await plane.client.resource(CLUSTERS).create({"metadata": {"name": NAME}, "spec": {"syncMode": "Pull"}})
        await plane.client.resource(NAMESPACES).create({"metadata": {"name": "karmada-cluster"}})
        await (plane.condition(NAME, "Ready", "True") if sign == "condition" else lease(plane))
        plane.start(ClusterMonitor(plane.context, OPTIONS).controller)
        await plane.clock.sleep(OPTIONS.grace + 1)
        assert await ready(plane) == ("True" if sign == "condition" else "")
        await plane.clock.sleep(OPTIONS.period)
        assert await ready(plane) == "Unknown"

    on_a_plane(scenario)


def test_a_cluster_that_replaces_another_unseen_is_as_new_as_it_is():
    async def scenario(plane):
        await begin(plane)
        await plane.clock.sleep(OPTIONS.startup_grace - 2)
        plane.transport.held = frozenset({CLUSTERS})
        clusters = plane.client.resource(CLUSTERS)
        await clusters.delete(NAME)
        await clusters.create({"metadata": {"name": NAME}, "spec": {"syncMode": "Pull"}})
        plane.transport.held = frozenset()
        await plane.clock.sleep(OPTIONS.startup_grace - 2)
        assert await ready(plane) == ""

    on_a_plane(scenario)
