from collections.abc import AsyncIterator
from typing import Any

import pytest
import yaml
from tests.membership.world import eventually, is_gone

from karmada.apiserver.auth.kubeconfig import kubeconfig
from karmada.apiserver.server import ADMIN, ApiServer
from karmada.controllers.cluster_api import PROVISIONED, ClusterApiDetector
from karmada.machinery.client import Client
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource
from karmada.membership import objects
from karmada.membership.join import join

CRDS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "clusters.cluster.x-k8s.io"},
    "spec": {
        "group": "cluster.x-k8s.io",
        "names": {"kind": "Cluster", "plural": "clusters"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1beta1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
            }
        ],
    },
}
CLUSTER: dict[str, Any] = {
    "apiVersion": "cluster.x-k8s.io/v1beta1",
    "kind": "Cluster",
    "metadata": {"name": "fresh", "namespace": "default"},
}


@pytest.fixture
async def management(world: Any) -> AsyncIterator[Client]:
    async with ApiServer() as server, Supervisor() as supervisor:
        client = Client(server.direct(ADMIN))
        await client.resource(CRDS).create(CRD)
        detector = ClusterApiDetector(
            world.plane.component("karmada-controller-manager"), client, InformerFactory(client, supervisor)
        )
        supervisor.start("detector", detector.controller.run)
        yield client


async def provision(management: Client, member: Any) -> None:
    certificate, key = member.server.identity.authority.issue_client("admin", ["system:masters"])
    authority = member.server.identity.authority.certificate_pem
    config = kubeconfig(member.endpoint, authority, certificate=certificate, key=key)
    secret = objects.secret("fresh-kubeconfig", "default", {"value": yaml.safe_dump(config).encode()})
    await management.resource(objects.SECRETS).create(secret)
    made = await management.resource(PROVISIONED).create(dict(CLUSTER))
    assert made["metadata"]["uid"]
    await management.resource(PROVISIONED).patch(
        "fresh", {"status": {"phase": "Provisioned"}}, "default", subresource="status"
    )


async def test_a_provisioned_cluster_joins_and_leaves_with_its_deletion(world: Any, management: Client) -> None:
    member = await world.member("fresh")
    await provision(management, member)
    await eventually(lambda: world.hub.resource(objects.CLUSTERS).get("fresh"))
    await world.ready("fresh")

    async def marked() -> bool:
        return "annotations" in (await world.hub.resource(objects.CLUSTERS).get("fresh"))["metadata"]

    await eventually(marked)
    await management.resource(PROVISIONED).delete("fresh", "default")
    await eventually(lambda: is_gone(world.hub.resource(objects.CLUSTERS).get("fresh")))


async def test_a_member_that_somebody_else_joined_is_left_alone(world: Any, management: Client) -> None:
    member = await world.member("fresh")
    await join(member.client, world.hub, member.describe())
    await provision(management, member)
    await management.resource(PROVISIONED).delete("fresh", "default")
    await world.ready("fresh")
    assert (await world.hub.resource(objects.CLUSTERS).get("fresh"))["metadata"].get("deletionTimestamp") is None
