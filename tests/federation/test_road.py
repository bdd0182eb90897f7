"""The main road in one process: template and policy in, objects in members, status back."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from karmada.aggregated.cluster_type import cluster_type
from karmada.api.crd.definition import definitions
from karmada.api.feature_gates import DEFAULTS
from karmada.apiserver.aggregation.model import LocalApi
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.controllers.context import Context
from karmada.controllers.manager import ControllerManager
from karmada.interpreter.facade import native_interpreter
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL
from karmada.machinery.errors import NotFound
from karmada.machinery.events import EventRecorder
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource
from karmada.membership.connections import PushMembers
from karmada.standalone.admission import KarmadaAdmission

CRDS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
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


class NoLookup:
    async def list(self, api_version: str, kind: str, namespace: str = "") -> list[dict[str, Any]]:
        return []

    async def replace_status(self, api_version: str, kind: str, tree: dict[str, Any], dry_run: bool) -> None:
        raise AssertionError


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
async def road() -> Any:
    options = ApiServerOptions(admission=[KarmadaAdmission(NoLookup(), DEFAULTS)], apis=[LocalApi([cluster_type()])])
    async with ApiServer(options) as hub, ApiServer() as member1, ApiServer() as member2, Supervisor() as supervisor:
        members = {"member1": member1, "member2": member2}
        client = Client(hub.direct(ADMIN))
        for crd in definitions():
            await client.resource(CRDS).create(crd)

        async def open_transport(cluster: Any) -> Any:
            return members[cluster.metadata.name].direct(ADMIN)

        def recorder(component: str) -> EventRecorder:
            made = EventRecorder(client, component)
            supervisor.start(f"events of {component} {id(made)}", made.run)
            return made

        informers = InformerFactory(client, supervisor)
        context = Context(client, informers, recorder, DEFAULTS, native_interpreter(), REAL)
        push = PushMembers(open_transport, REAL)
        ControllerManager(context, push).start(supervisor)
        for name in members:
            cluster = {
                "apiVersion": "cluster.karmada.io/v1alpha1",
                "kind": "Cluster",
                "metadata": {"name": name},
                "spec": {"syncMode": "Push"},
            }
            await client.resource(CLUSTERS).create(cluster)

        async def ready() -> bool:
            listed = await client.resource(CLUSTERS).list()
            return all(
                any(
                    c["type"] == "Ready" and c["status"] == "True"
                    for c in cluster.get("status", {}).get("conditions", ())
                )
                for cluster in listed.items
            )

        await eventually(ready)
        yield client, {name: Client(server.direct(ADMIN)) for name, server in members.items()}
        await push.close()


async def test_a_deployment_reaches_its_members_and_its_status_comes_back(road: Any) -> None:
    hub, members = road
    await hub.resource(POLICIES).create(POLICY)
    await hub.resource(DEPLOYMENTS).create(deployment(2))
    binding = await eventually(lambda: hub.resource(BINDINGS).get("nginx-deployment", "default"))
    assert binding["spec"]["replicas"] == 2

    clusters = [{"name": "member1", "replicas": 2}, {"name": "member2", "replicas": 2}]
    await hub.resource(BINDINGS).patch("nginx-deployment", {"spec": {"clusters": clusters}}, "default")
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
    clusters = [{"name": "member1", "replicas": 1}]
    await hub.resource(BINDINGS).patch("nginx-deployment", {"spec": {"clusters": clusters}}, "default")
    await eventually(lambda: members["member1"].resource(DEPLOYMENTS).get("nginx", "default"))

    await hub.resource(DEPLOYMENTS).delete("nginx", "default")

    async def gone() -> bool:
        try:
            await members["member1"].resource(DEPLOYMENTS).get("nginx", "default")
        except NotFound:
            return True
        return False

    await eventually(gone)
