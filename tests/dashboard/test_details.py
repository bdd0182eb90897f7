"""What is behind the lists: one cluster, what was found, and copies that differ."""

from typing import Any

from tests.dashboard.world import Dashboards, deployment, policy
from tests.membership.world import eventually

from karmada.dashboard.kinds import BINDINGS, CLUSTERS
from karmada.machinery.transport import GroupVersionResource, JSONObject

DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
REGISTRY: JSONObject = {
    "apiVersion": "search.karmada.io/v1alpha1",
    "kind": "ResourceRegistry",
    "metadata": {"name": "all"},
    "spec": {"targetCluster": {}, "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}]},
}


async def test_a_cluster_is_shown_with_models_taints_labels_and_events(federation: Dashboards) -> None:
    browser = await federation.admin()
    taint = {"key": "maintenance", "value": "tonight", "effect": "NoSchedule"}
    changes = {"metadata": {"labels": {"tier": "gold"}}, "spec": {"taints": [taint]}}
    await federation.hub.resource(CLUSTERS).patch("member1", changes)

    async def reported() -> Any:
        found = await browser.api("clusters/member1")
        counted = sum(one["count"] for one in found["models"])
        return found if found["taints"] and found["events"] and counted else None

    found = await eventually(reported)
    assert found["taints"] == ["maintenance=tonight:NoSchedule"]
    assert found["labels"]["tier"] == "gold"
    assert all(one["ranges"] for one in found["models"])
    nodes = (await browser.api("clusters/member1/nodes"))["items"]
    assert sum(one["count"] for one in found["models"]) == len(nodes) == found["nodes"]["total"]
    assert {one["object"]["name"] for one in found["events"]} == {"member1"}
    assert all(one["reason"] and one["message"] and one["time"] for one in found["events"])
    assert {one["type"] for one in found["conditions"]} >= {"Ready"}


async def test_what_a_member_refuses_or_changed_is_drift(federation: Dashboards) -> None:
    browser = await federation.admin()
    await federation.members["member1"].inside.resource(DEPLOYMENTS).create(deployment("legacy"))
    await federation.apply(policy("legacy", "member1"), deployment("legacy"))

    async def reported() -> Any:
        return await browser.api("drift")

    (row,) = await eventually(reported)
    assert (row["ref"]["name"], row["cluster"]) == ("legacy", "member1")
    assert "already exists" in row["sentence"]


async def test_search_finds_objects_of_all_members(federation: Dashboards) -> None:
    browser = await federation.admin()
    await federation.apply(REGISTRY, policy("nginx", "member1", "member2"), deployment())

    async def found() -> Any:
        rows = await browser.api("search?q=nginx")
        return rows if len(rows) == 2 else None

    rows = await eventually(found)
    assert {(row["cluster"], row["kind"], row["name"]) for row in rows} == {
        ("member1", "Deployment", "nginx"),
        ("member2", "Deployment", "nginx"),
    }


async def test_a_copy_whose_ready_replicas_are_no_number_takes_no_other_row_along(dashboards: Dashboards) -> None:
    """What a member says in the status of a kind that nobody interprets is anything."""
    browser = await dashboards.admin()
    bindings = dashboards.hub.resource(BINDINGS)
    for name, ready in (("odd", "many"), ("fine", 1)):
        resource = {"apiVersion": "example.io/v1", "kind": "Widget", "namespace": "default", "name": name}
        spec = {"resource": resource, "replicas": 1, "clusters": [{"name": "member1", "replicas": 1}]}
        await bindings.create({"metadata": {"name": f"{name}-widget", "namespace": "default"}, "spec": spec})
        said = {"clusterName": "member1", "applied": True, "status": {"readyReplicas": ready}}
        patch = {"status": {"aggregatedStatus": [said]}}
        await bindings.patch(f"{name}-widget", patch, "default", subresource="status")

    async def shown() -> bool:
        rows = {row["ref"]["name"] for row in (await browser.api("workloads"))["items"]}
        return rows >= {"odd", "fine"}

    await eventually(shown)
