from typing import Any

import pytest
from tests.controllers.plane import on_a_plane
from tests.membership.world import eventually, is_gone

from karmada.machinery.errors import Forbidden
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource
from karmada.membership import objects
from karmada.membership.join import join
from karmada.membership.refusal import Refused, Unfinished
from karmada.membership.unjoin import remove_cluster, unjoin

WORKS = GroupVersionResource("work.karmada.io", "v1alpha1", "works")
CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")


def work(cluster: str) -> dict[str, Any]:
    metadata = {"name": "a", "namespace": "default", "labels": {"karmada.io/managed": "true"}}
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    return {
        "apiVersion": "work.karmada.io/v1alpha1",
        "kind": "Work",
        "metadata": {
            "name": "a",
            "namespace": f"karmada-es-{cluster}",
            "finalizers": ["karmada.io/execution-controller"],
        },
        "spec": {"workload": {"manifests": [manifest]}},
    }


async def joined(world: Any, name: str) -> Any:
    member = await world.member(name)
    await join(member.client, world.hub, member.describe())
    await world.ready(name)
    await world.hub.resource(WORKS).create(work(name))
    await eventually(lambda: member.client.resource(CONFIG_MAPS).get("a", "default"))
    return member


async def test_an_unjoined_cluster_leaves_nothing_on_either_side(world: Any) -> None:
    member = await joined(world, "member1")
    left = await unjoin(world.hub, "member1", member.client)
    assert left.behind == ()
    assert await is_gone(world.hub.resource(objects.CLUSTERS).get("member1"))
    assert await is_gone(member.client.resource(CONFIG_MAPS).get("a", "default"))
    role = "karmada-controller-manager:karmada-member1"
    assert await is_gone(member.client.resource(objects.CLUSTER_ROLES).get(role))
    assert await is_gone(member.client.resource(objects.CLUSTER_ROLE_BINDINGS).get(role))
    await eventually(lambda: is_gone(member.client.resource(objects.NAMESPACES).get("karmada-cluster")))
    await eventually(lambda: is_gone(world.hub.resource(objects.SECRETS).get("member1", "karmada-cluster")))


async def test_unjoining_a_dead_member_ends_once_it_is_seen_to_be_dead(world: Any) -> None:
    member = await joined(world, "member1")
    await member.server.__aexit__(None, None, None)
    await unjoin(world.hub, "member1", wait=20.0)
    assert await is_gone(world.hub.resource(objects.CLUSTERS).get("member1"))


async def test_what_stays_in_a_cluster_that_was_not_ready_when_it_left_is_listed(world: Any) -> None:
    member = await joined(world, "member1")
    await member.server.__aexit__(None, None, None)

    async def not_ready() -> bool:
        status = (await world.hub.resource(objects.CLUSTERS).get("member1"))["status"]
        [ready] = [condition for condition in status["conditions"] if condition["type"] == "Ready"]
        return bool(ready["status"] != "True")

    await eventually(not_ready)
    left = await unjoin(world.hub, "member1", wait=20.0)
    assert "ConfigMap default/a" in left.behind


def test_endpoints_that_were_collected_in_a_cluster_are_its_own_and_not_left_behind() -> None:
    async def scenario(plane: Any) -> None:
        await plane.cluster("m1", ready="False")
        collected = work("m1")
        collected["metadata"] |= {"name": "slice", "labels": {"endpointslice.karmada.io/managed-by": "karmada"}}
        collected["spec"] |= {"suspendDispatching": True}
        for one in (work("m1"), collected):
            await plane.client.resource(WORKS).create(one)
        left = await remove_cluster(plane.client, "m1", force=True, wait=0.0, clock=plane.clock)
        assert left == ["ConfigMap default/a"]

    on_a_plane(scenario)


def test_who_may_not_list_works_can_have_a_cluster_leave() -> None:
    async def refuse(request: Any) -> None:
        if request.resource == WORKS:
            raise Forbidden("may not list works")

    async def scenario(plane: Any) -> None:
        tree = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "m1"}}
        await plane.client.resource(objects.CLUSTERS).create({**tree, "spec": {"syncMode": "Push"}})
        await plane.condition("m1", "Ready", "False")
        plane.transport.before = refuse
        left = await remove_cluster(plane.context.client, "m1", force=False, wait=5.0, clock=plane.clock)
        assert left == ["what its Works brought there, which could not be listed: may not list works"]
        assert await is_gone(plane.client.resource(objects.CLUSTERS).get("m1"))

    on_a_plane(scenario)


def test_nothing_stays_in_a_cluster_that_leaves_before_it_was_ever_reached() -> None:
    async def scenario(plane: Any) -> None:
        tree = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "m1"}}
        await plane.client.resource(objects.CLUSTERS).create({**tree, "spec": {"syncMode": "Push"}})
        await plane.client.resource(objects.NAMESPACES).create({"metadata": {"name": "karmada-es-m1"}})
        await plane.client.resource(WORKS).create(work("m1"))
        assert await remove_cluster(plane.client, "m1", force=False, wait=5.0, clock=plane.clock) == []

    on_a_plane(scenario)


async def test_unjoining_ends_without_the_secret(world: Any) -> None:
    await joined(world, "member1")
    await world.hub.resource(objects.SECRETS).delete("member1", "karmada-cluster")
    await world.plane.members.forget("member1")
    await unjoin(world.hub, "member1", wait=20.0)
    assert await is_gone(world.hub.resource(objects.CLUSTERS).get("member1"))


async def test_unjoining_ends_without_the_execution_space(world: Any) -> None:
    await joined(world, "member1")
    await world.hub.resource(objects.NAMESPACES).delete("karmada-es-member1")
    await unjoin(world.hub, "member1", wait=20.0)
    assert await is_gone(world.hub.resource(objects.CLUSTERS).get("member1"))


async def test_force_says_what_stays_behind(world: Any) -> None:
    member = await joined(world, "member1")
    await member.server.__aexit__(None, None, None)
    left = await unjoin(world.hub, "member1", force=True, wait=0.0)
    assert "ConfigMap default/a" in left.behind
    await eventually(lambda: is_gone(world.hub.resource(objects.CLUSTERS).get("member1")))
    await eventually(lambda: is_gone(world.hub.resource(objects.NAMESPACES).get("karmada-es-member1")))


def test_force_releases_collected_endpoints_also_while_no_controller_runs() -> None:
    async def scenario(plane: Any) -> None:
        await plane.cluster("m1")
        collected = work("m1")
        collected["metadata"]["finalizers"] += [
            "karmada.io/endpointslice-controller",
            "karmada.io/mcs-endpointslice-dispatch-controller",
        ]
        await plane.client.resource(WORKS).create(collected)
        await remove_cluster(plane.client, "m1", force=True, wait=0.0, clock=plane.clock)
        await plane.clock.sleep(5)
        assert await is_gone(plane.client.resource(objects.NAMESPACES).get("karmada-es-m1"))
        assert await is_gone(plane.client.resource(objects.CLUSTERS).get("m1"))

    on_a_plane(scenario)


async def test_without_force_it_says_what_it_waits_for_and_deletes_nothing_in_the_member(world: Any) -> None:
    await joined(world, "member1")
    with pytest.raises(Unfinished, match="cluster member1 has not left within 0 s"):
        await unjoin(world.hub, "member1", wait=0.0)


async def test_another_clusters_kubeconfig_is_refused_before_anything_is_deleted(world: Any) -> None:
    await joined(world, "member1")
    other = await world.member("other")
    with pytest.raises(Refused, match="leads to another cluster"):
        await unjoin(world.hub, "member1", other.client)
    await world.ready("member1")


async def test_a_dry_run_and_an_unknown_cluster_change_nothing(world: Any) -> None:
    await joined(world, "member1")
    await unjoin(world.hub, "member1", dry_run=True)
    await world.ready("member1")
    with pytest.raises(Refused, match="no cluster object nosuch found in karmada control Plane"):
        await unjoin(world.hub, "nosuch")


async def test_the_accounts_of_another_federation_in_the_same_member_stay(world: Any) -> None:
    member = await joined(world, "member1")
    await member.client.resource(objects.SERVICE_ACCOUNTS).create(
        objects.service_account("karmada-elsewhere", "karmada-cluster")
    )
    await unjoin(world.hub, "member1", member.client)
    accounts = await member.client.resource(objects.SERVICE_ACCOUNTS).list(Scope("karmada-cluster"))
    assert {a["metadata"]["name"] for a in accounts.items} == {"default", "karmada-elsewhere", "karmada-impersonator"}
