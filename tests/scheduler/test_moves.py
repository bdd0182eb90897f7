"""Going back to preferred affinity terms, and events that may not move what runs well."""

from typing import Any

import pytest
from tests.scheduler.facts import DUPLICATED
from tests.scheduler.plane import BINDINGS, CLUSTERS, DYNAMIC, Plane, on_a_plane

from karmada.api.feature_gates import FeatureGates
from karmada.machinery.clock import rfc3339
from karmada.scheduler.core.request import Settings
from karmada.scheduler.service import SchedulerOptions

TERMS = [{"affinityName": "main", "clusterNames": ["m1"]}, {"affinityName": "spare", "clusterNames": ["m2", "m3"]}]
DIVIDED = {"clusterAffinities": TERMS, "replicaScheduling": DYNAMIC}
EAST = {"clusterAffinity": {"labelSelector": {"matchLabels": {"zone": "east"}}}, "replicaScheduling": DUPLICATED}


async def go_back(plane: Plane) -> None:
    await plane.settle(2)
    request = {"spec": {"failbackTriggeredAt": rfc3339(plane.clock.now())}}
    await plane.client.resource(BINDINGS).patch("web", request, "default")
    await plane.settle(2)


async def edit(plane: Plane, **spec: Any) -> None:
    await plane.client.resource(BINDINGS).patch("web", {"spec": spec}, "default")
    await plane.settle(2)


async def in_use(plane: Plane) -> str:
    return str((await plane.binding("web"))["status"]["schedulerObservingAffinityName"])


async def failed_over(plane: Plane, main: int) -> None:
    """A workload in the second term, as the first had no room; now it has room for so many."""
    for name, pods in (("m1", 0), ("m2", 50), ("m3", 50)):
        await plane.join(name, pods)
    await plane.bind("web", 4, DIVIDED)
    await plane.settle(2)
    assert (await in_use(plane), sum((await plane.result("web")).values())) == ("spare", 4)
    await plane.report("m1", main)
    await plane.settle(2)


def test_replicas_go_back_to_an_earlier_term_when_asked_and_not_before() -> None:
    async def scenario(plane: Plane) -> None:
        await failed_over(plane, 50)
        await plane.settle(60)
        assert await in_use(plane) == "spare"
        await go_back(plane)
        assert await plane.result("web") == {"m1": 4}
        assert await in_use(plane) == "main"

    on_a_plane(scenario)


def test_what_fits_no_earlier_term_is_not_shuffled() -> None:
    async def scenario(plane: Plane) -> None:
        await failed_over(plane, 1)
        before = await plane.result("web")
        await plane.report("m2", 500)
        await go_back(plane)
        assert await plane.result("web") == before
        assert await in_use(plane) == "spare"

    on_a_plane(scenario)


@pytest.mark.parametrize("triggers", [None, ["PolicyChange"], ["ClusterLabels"], []])
def test_an_edited_placement_moves_replicas_only_if_it_may(triggers: list[str] | None) -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("m1")
        await plane.join("m2")
        first = {"clusterAffinity": {"clusterNames": ["m1"]}, "replicaScheduling": DYNAMIC}
        await plane.bind("web", 2, first, failover={"rescheduleTriggers": triggers} if triggers is not None else {})
        await plane.settle(2)
        await edit(plane, placement={**first, "clusterAffinity": {"clusterNames": ["m2"]}})
        may = triggers is None or "PolicyChange" in triggers
        assert await plane.result("web") == ({"m2": 2} if may else {"m1": 2})
        await edit(plane, replicas=3)
        assert await plane.result("web") == {"m2": 3}, "scaling places by what the policy says now"

    on_a_plane(scenario)


@pytest.mark.parametrize("triggers", [None, ["ClusterLabels"], ["PolicyChange"], []])
def test_a_cluster_that_no_longer_matches_loses_its_copy_only_if_it_may(triggers: list[str] | None) -> None:
    async def scenario(plane: Plane) -> None:
        for name in ("m1", "m2"):
            await plane.join(name, labels={"zone": "east"})
        await plane.bind("web", 2, EAST, failover={"rescheduleTriggers": triggers} if triggers is not None else {})
        await plane.settle(2)
        for name in ("m1", "m2"):
            await plane.client.resource(CLUSTERS).patch(name, {"metadata": {"labels": {"zone": "west"}}})
            await plane.settle(2)
        may = triggers is None or "ClusterLabels" in triggers
        assert await plane.result("web") == ({} if may else {"m1": 2, "m2": 2})
        await plane.join("m3", labels={"zone": "east"})
        await plane.client.resource(CLUSTERS).patch("m3", {"metadata": {"labels": {"new": "yes"}}})
        await plane.settle(2)
        assert await plane.result("web") == ({"m3": 2} if may else {"m1": 2, "m2": 2, "m3": 2})

    on_a_plane(scenario)


def test_an_edited_placement_is_not_sneaked_in_by_labels() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("m1", labels={"zone": "east"})
        await plane.bind("web", 2, EAST, failover={"rescheduleTriggers": ["ClusterLabels"]})
        await plane.settle(2)
        west = {"labelSelector": {"matchLabels": {"zone": "west"}}}
        await edit(plane, placement={**EAST, "clusterAffinity": west})
        await plane.client.resource(CLUSTERS).patch("m1", {"metadata": {"labels": {"new": "yes"}}})
        await plane.settle(2)
        assert await plane.result("web") == {"m1": 2}

    on_a_plane(scenario)


def test_without_the_gate_every_event_moves() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("m1", labels={"zone": "east"})
        await plane.bind("web", 2, EAST, failover={"rescheduleTriggers": []})
        await plane.settle(2)
        await plane.client.resource(CLUSTERS).patch("m1", {"metadata": {"labels": {"zone": "west"}}})
        await plane.settle(2)
        assert await plane.result("web") == {}

    on_a_plane(scenario, SchedulerOptions(settings=Settings(FeatureGates({"ControlledMoves": False}))))
