"""The main road in one process: template and policy in, objects in members, status back."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.apiserver.server import ADMIN, ApiServer
from karmada.controllers.clusters import is_ready
from karmada.machinery.client import Client
from karmada.machinery.errors import NotFound
from karmada.machinery.transport import GroupVersionResource, Transport
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions

CLUSTERS = GroupVersionResource("cluster.karmada.io", "v1alpha1", "clusters")
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
POLICIES = GroupVersionResource("policy.karmada.io", "v1alpha1", "propagationpolicies")
BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")


async def eventually(check: Callable[[], Awaitable[Any]], attempts: int = 500) -> Any:
    last: Exception | None = None
    for _ in range(attempts):
        try:
            found = await check()
            if found:
                return found
        except (NotFound, KeyError, AssertionError) as error:
            last = error
        await asyncio.sleep(0.01)
    raise AssertionError(f"did not happen; last: {last!r}")


def deployment(replicas: int) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "nginx", "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "nginx"}},
            "template": {
                "metadata": {"labels": {"app": "nginx"}},
                "spec": {"containers": [{"name": "nginx", "image": "nginx:1.25"}]},
            },
        },
    }


POLICY = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "PropagationPolicy",
    "metadata": {"name": "nginx", "namespace": "default"},
    "spec": {
        "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "nginx"}],
        "placement": {"clusterAffinity": {"clusterNames": ["member1", "member2"]}},
    },
}


@pytest.fixture
async def road() -> AsyncIterator[tuple[Client, dict[str, Client]]]:
    async with ApiServer() as member1, ApiServer() as member2:
        members = {"member1": member1, "member2": member2}

        async def open_member(cluster: Cluster) -> Transport:
            return members[cluster.metadata.name].direct(ADMIN)

        async with ControlPlane(ControlPlaneOptions(), open_member) as plane:
            for name in members:
                cluster = {
                    "apiVersion": "cluster.karmada.io/v1alpha1",
                    "kind": "Cluster",
                    "metadata": {"name": name},
                    "spec": {"syncMode": "Push"},
                }
                await plane.client.resource(CLUSTERS).create(cluster)

            async def ready() -> bool:
                found = (await plane.client.of(Cluster).list()).items
                return all(is_ready(cluster) for cluster in found)

            await eventually(ready)
            yield plane.client, {name: Client(server.direct(ADMIN)) for name, server in members.items()}


async def test_a_deployment_reaches_its_members_and_its_status_comes_back(road: Any) -> None:
    hub, members = road
    await hub.resource(POLICIES).create(POLICY)
    await hub.resource(DEPLOYMENTS).create(deployment(2))
    binding = await eventually(lambda: hub.resource(BINDINGS).get("nginx-deployment", "default"))
    assert binding["spec"]["replicas"] == 2

    for name, member in members.items():
        copy = await eventually(lambda member=member: member.resource(DEPLOYMENTS).get("nginx", "default"))
        assert copy["metadata"]["labels"]["karmada.io/managed"] == "true", name
        status = {"replicas": 2, "readyReplicas": 2, "updatedReplicas": 2, "availableReplicas": 2}
        status["observedGeneration"] = copy["metadata"]["generation"]
        await member.resource(DEPLOYMENTS).patch("nginx", {"status": status}, "default", subresource="status")

    async def all_back() -> Any:
        template = await hub.resource(DEPLOYMENTS).get("nginx", "default")
        return template.get("status", {}).get("readyReplicas") == 4

    await eventually(all_back)
    binding = await hub.resource(BINDINGS).get("nginx-deployment", "default")
    assert [item["health"] for item in binding["status"]["aggregatedStatus"]] == ["Healthy", "Healthy"]


async def test_deleting_the_template_removes_it_from_the_members(road: Any) -> None:
    hub, members = road
    await hub.resource(POLICIES).create(POLICY)
    await hub.resource(DEPLOYMENTS).create(deployment(1))
    await eventually(lambda: hub.resource(BINDINGS).get("nginx-deployment", "default"))
    await eventually(lambda: members["member1"].resource(DEPLOYMENTS).get("nginx", "default"))

    await hub.resource(DEPLOYMENTS).delete("nginx", "default")

    async def gone() -> bool:
        try:
            await members["member1"].resource(DEPLOYMENTS).get("nginx", "default")
        except NotFound:
            return True
        return False

    await eventually(gone)
