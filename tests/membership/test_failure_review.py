"""`clusters/<name>/failurereview` says what a failure would do, to those who may ask, and writes nothing."""

from contextlib import AsyncExitStack
from typing import Any

import pytest
from tests.planes import stored

from karmada.aggregated.api import ClusterApi
from karmada.api.crd.definition import definitions
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError, Forbidden, NotFound
from karmada.machinery.transport import GroupVersionResource
from karmada.membership import objects
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions

CRDS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")


@pytest.fixture
async def server() -> Any:
    async with AsyncExitStack() as stack:
        clusters = ClusterApi()
        server = await stack.enter_async_context(ApiServer(ApiServerOptions(apis=[clusters.local])))
        client = Client(server.direct(ADMIN))
        clusters.connect(client, server.store, server.authorizer)
        for crd in definitions():
            await client.resource(CRDS).create(crd)
        for name in ("m1", "m2"):
            await client.resource(objects.CLUSTERS).create({"metadata": {"name": name}, "spec": {"syncMode": "Push"}})
            kinds = [{"groupVersion": "apps/v1", "resources": [{"kind": "Deployment", "name": "deployments"}]}]
            condition = {"reason": "ClusterReady", "message": "", "lastTransitionTime": "2023-11-14T22:13:20Z"}
            status = {"apiEnablements": kinds, "conditions": [{"type": "Ready", "status": "True", **condition}]}
            await client.resource(objects.CLUSTERS).patch(name, {"status": status}, subresource="status")
        yield server


async def bind(server: ApiServer, name: str, affinity: list[str], where: str = "m1") -> None:
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": name}
    divided = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}
    placement = {"clusterAffinity": {"clusterNames": affinity}, "replicaScheduling": divided}
    spec = {"resource": resource, "replicas": 2, "clusters": [{"name": where, "replicas": 2}], "placement": placement}
    binding = {"metadata": {"name": name, "namespace": "default"}, "spec": spec}
    await Client(server.direct(ADMIN)).resource(BINDINGS).create(binding)


async def review(server: ApiServer, cluster: str = "m1", user: UserInfo = ADMIN) -> Any:
    return await Client(server.direct(user)).resource(objects.CLUSTERS).submit(cluster, "failurereview", {})


async def test_every_workload_of_the_cluster_is_named_with_where_it_would_go(server: ApiServer) -> None:
    await bind(server, "web", ["m1", "m2"])
    await bind(server, "tied", ["m1"])
    await bind(server, "other", ["m1", "m2"], where="m2")
    answer = await review(server)
    assert (answer["kind"], answer["metadata"]["name"]) == ("ClusterFailureReview", "m1")
    found = {one["resource"]: one for one in answer["status"]["workloads"]}
    assert sorted(found) == ["Deployment default/tied", "Deployment default/web"]
    moved = found["Deployment default/web"]
    assert (moved["before"], moved["after"], moved["lostReplicas"]) == ({"m1": 2}, {"m2": 2}, 0)
    assert found["Deployment default/tied"]["lostReplicas"] == 2
    assert "0/1 clusters are available" in found["Deployment default/tied"]["refused"]
    assert answer["status"]["summary"] == "2 resources, 2 would change, 1 could not be placed."


async def test_nothing_is_written(server: ApiServer) -> None:
    await bind(server, "web", ["m1", "m2"])
    client = Client(server.direct(ADMIN))
    before = await client.resource(BINDINGS).get("web", "default")
    await review(server)
    assert await client.resource(BINDINGS).get("web", "default") == before


async def test_a_cluster_that_does_not_exist_is_not_found(server: ApiServer) -> None:
    with pytest.raises(NotFound, match='"m9" not found'):
        await review(server, "m9")


async def test_who_was_not_given_the_right_learns_nothing(server: ApiServer) -> None:
    with pytest.raises(Forbidden, match="clusters/failurereview"):
        await review(server, user=UserInfo("jane", ("system:authenticated",)))


async def test_only_a_post_is_answered(server: ApiServer) -> None:
    with pytest.raises(ApiError):
        await Client(server.direct(ADMIN)).resource(objects.CLUSTERS).get("m1", subresource="failurereview")


async def test_it_reads_bindings_in_the_name_of_its_component() -> None:
    async with ControlPlane(ControlPlaneOptions(storage=stored())) as plane:
        clusters = plane.client.resource(objects.CLUSTERS)
        await clusters.create({"metadata": {"name": "m1"}, "spec": {"syncMode": "Push"}})
        answer = await clusters.submit("m1", "failurereview", {})
        assert answer["status"]["workloads"] == []
