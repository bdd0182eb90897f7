"""Clusters say which actions their conditions call for, in virtual time."""

from tests.controllers.observing import does
from tests.controllers.plane import CLUSTERS, on_a_plane

from karmada.controllers.remedy import RemedyController
from karmada.machinery.transport import GroupVersionResource

REMEDIES = GroupVersionResource("remedy.karmada.io", "v1alpha1", "remedies")
BLUE = {"metadata": {"labels": {"color": "blue"}}}


def remedy(*clusters, status="False"):
    wanted = {"conditionType": "ServiceDomainNameResolutionReady", "operator": "Equal", "conditionStatus": status}
    spec = {"decisionMatches": [{"clusterConditionMatch": wanted}], "actions": ["TrafficControl"]}
    chosen = {"clusterAffinity": {"clusterNames": list(clusters)}} if clusters else {}
    return {"metadata": {"name": "r"}, "spec": spec | chosen}


async def started(plane, *clusters):
    for name in clusters:
        await plane.cluster(name)
    controller = RemedyController(plane.context).controller
    plane.start(controller)
    await plane.clock.sleep(5)
    return controller


async def acting(plane):
    """The clusters for which something is to be done."""
    await plane.clock.sleep(5)
    found = (await plane.client.resource(CLUSTERS).list()).items
    return [one["metadata"]["name"] for one in found if one["status"].get("remedyActions")]


def test_actions_come_and_go_with_conditions_and_remedies():
    async def test(plane):
        await plane.client.resource(REMEDIES).create(remedy("a"))
        controller = await started(plane, "a", "b")
        assert await acting(plane) == []
        for name in ("a", "b"):
            await plane.condition(name, "ServiceDomainNameResolutionReady", "False")
        assert await acting(plane) == ["a"]
        found = await plane.client.resource(CLUSTERS).get("a")
        assert found["status"]["remedyActions"] == ["TrafficControl"]
        await plane.client.resource(REMEDIES).patch("r", {"spec": remedy("b")["spec"]})
        assert await acting(plane) == ["b"]
        await plane.condition("b", "ServiceDomainNameResolutionReady", "True")
        assert await acting(plane) == []
        await plane.condition("b", "ServiceDomainNameResolutionReady", "False")
        await plane.client.resource(REMEDIES).delete("r")
        assert await acting(plane) == []
        assert controller.errors == 0

    on_a_plane(test)


def test_a_cluster_that_leaves_is_left_alone():
    async def test(plane):
        await started(plane, "a")
        await plane.client.resource(CLUSTERS).delete("a")
        await plane.condition("a", "ServiceDomainNameResolutionReady", "False")
        await plane.client.resource(REMEDIES).create(remedy())
        assert await acting(plane) == []

    on_a_plane(test)


def test_what_changes_the_outcome_is_reconciled_and_nothing_else():
    async def test(plane):
        controller = await started(plane, "a", "b")
        clusters, remedies = plane.client.resource(CLUSTERS), plane.client.resource(REMEDIES)
        steps = {
            remedies.create(remedy("a", status="Unknown")): 1,
            remedies.patch("r", {"spec": {"clusterAffinity": None}}): 2,
            remedies.delete("r"): 2,
            clusters.patch("a", BLUE): 0,
            plane.condition("a", "Other", "True"): 1,
            clusters.patch("a", {"metadata": {"finalizers": []}}): 0,
            clusters.delete("a"): 0,
        }
        assert await does(plane, controller, *steps) == list(steps.values())

    on_a_plane(test)


def test_remedies_that_are_known_before_the_clusters_concern_them_all_the_same():
    async def test(plane):
        await plane.cluster("a")
        await plane.condition("a", "ServiceDomainNameResolutionReady", "False")
        await plane.client.resource(REMEDIES).create(remedy("a"))
        plane.transport.held = {CLUSTERS}
        controller = RemedyController(plane.context).controller
        plane.start(controller)
        await plane.clock.sleep(5)
        plane.transport.held = frozenset()
        assert await acting(plane) == ["a"]
        assert controller.errors == 0

    on_a_plane(test)
