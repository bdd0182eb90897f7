"""Workloads of affinity groups: where one may go depends on where the others are."""

import pytest
from tests.scheduler.plane import BINDINGS, Plane, on_a_plane

from karmada.api.feature_gates import FeatureGates
from karmada.machinery.transport import GroupVersionResource, Request
from karmada.scheduler.core.request import Settings
from karmada.scheduler.service import SchedulerOptions

NAMESPACES = GroupVersionResource("", "v1", "namespaces")
GROUPED = SchedulerOptions(settings=Settings(FeatureGates({"WorkloadAffinity": True})))


def test_workloads_of_an_anti_affinity_group_avoid_each_other_even_when_they_come_at_once() -> None:
    async def scenario(plane: Plane) -> None:
        for number in range(1, 4):
            await plane.join(f"member{number}")
        spread = [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]
        for name in ("a", "b", "c"):
            groups = {"antiAffinityGroup": "db"}
            await plane.bind(name, placement={"spreadConstraints": spread}, workloadAffinityGroups=groups)
        await plane.settle(2)
        placed = [next(iter(await plane.result(name))) for name in ("a", "b", "c")]
        assert sorted(placed) == ["member1", "member2", "member3"]

    on_a_plane(scenario, GROUPED)


@pytest.mark.parametrize("leaves", ["gone", "moved", "of another group"])
def test_a_workload_of_an_anti_affinity_group_is_placed_when_the_other_leaves_its_cluster(leaves: str) -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1")
        for name in ("a", "b"):
            await plane.bind(name, workloadAffinityGroups={"antiAffinityGroup": "db"})
            await plane.settle()
        assert (await plane.condition("b"))["reason"] == "NoClusterFit"
        bindings = plane.client.resource(BINDINGS)
        if leaves == "gone":
            await bindings.delete("a", "default")
        elif leaves == "moved":
            await bindings.patch("a", {"spec": {"clusters": [], "suspension": {"scheduling": True}}}, "default")
        else:
            await bindings.patch("a", {"spec": {"workloadAffinityGroups": {"antiAffinityGroup": "web"}}}, "default")
        await plane.settle(2)
        assert await plane.result("b") == {"member1": 2}

    on_a_plane(scenario, GROUPED)


def test_a_workload_is_placed_when_what_kept_it_out_leaves_while_that_is_reported() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1")
        await plane.bind("a", workloadAffinityGroups={"antiAffinityGroup": "db"})
        await plane.settle()

        async def leave(request: Request) -> None:
            if (request.resource, request.name, request.subresource) == (BINDINGS, "b", "status"):
                plane.before_request = None
                await plane.client.resource(BINDINGS).delete("a", "default")
                await plane.settle()

        plane.before_request = leave
        await plane.bind("b", workloadAffinityGroups={"antiAffinityGroup": "db"})
        await plane.settle(5)
        assert plane.before_request is None
        assert await plane.result("b") == {"member1": 2}

    on_a_plane(scenario, GROUPED)


def test_a_move_wakes_those_alone_that_wait_in_its_namespace() -> None:
    async def scenario(plane: Plane) -> None:
        group = {"antiAffinityGroup": "db"}
        await plane.join("member1")
        await plane.client.resource(NAMESPACES).create({"metadata": {"name": "other"}})
        await plane.bind("a", workloadAffinityGroups=group)
        await plane.settle()
        await plane.bind("b", workloadAffinityGroups=group)
        await plane.settle()
        resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "other", "name": "c"}
        nowhere = {"clusterAffinity": {"clusterNames": ["nowhere"]}}
        spec = {"resource": resource, "placement": nowhere, "workloadAffinityGroups": group}
        marks = {"propagationpolicy.karmada.io/permanent-id": "p"}
        metadata = {"name": "c", "namespace": "other", "labels": marks}
        await plane.client.resource(BINDINGS).create({"metadata": metadata, "spec": spec})
        await plane.settle()
        before = plane.scheduler.metrics.incoming["BindingUpdate"]
        await plane.client.resource(BINDINGS).delete("a", "default")
        await plane.settle(2)
        assert await plane.result("b") == {"member1": 2}
        # b is woken, and an event of its result follows.
        assert plane.scheduler.metrics.incoming["BindingUpdate"] == before + 2

    on_a_plane(scenario, GROUPED)
