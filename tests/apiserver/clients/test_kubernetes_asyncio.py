"""The Python client `kubernetes-asyncio`, generated from the API's own description, against our server over TLS."""

import asyncio
from pathlib import Path

import pytest
from kubernetes_asyncio import client, config, watch
from kubernetes_asyncio.client.exceptions import ApiException

from karmada.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from karmada.apiserver.server import ApiServer, ApiServerOptions

CONTAINERS = [client.V1Container(name="c", image="nginx:1", ports=[client.V1ContainerPort(container_port=80)])]


@pytest.fixture
async def api(tmp_path: Path):
    async with ApiServer(ApiServerOptions(folder=tmp_path)) as server:
        port = await server.listen()
        authority = server.identity.authority
        certificate, key = authority.issue_client("admin", ["system:masters"])
        path = tmp_path / "kubeconfig"
        address = f"https://127.0.0.1:{port}"
        write_kubeconfig(path, kubeconfig(address, authority.certificate_pem, certificate=certificate, key=key))
        await config.load_kube_config(str(path))
        async with client.ApiClient() as made:
            yield made


def deployment(replicas: int) -> client.V1Deployment:
    labels = {"app": "web"}
    pod = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels=labels), spec=client.V1PodSpec(containers=CONTAINERS)
    )
    selector = client.V1LabelSelector(match_labels=labels)
    spec = client.V1DeploymentSpec(replicas=replicas, selector=selector, template=pod)
    return client.V1Deployment(metadata=client.V1ObjectMeta(name="web"), spec=spec)


async def test_typed_objects_live_through_create_read_patch_scale_and_delete(api):
    apps = client.AppsV1Api(api)
    made = await apps.create_namespaced_deployment("default", deployment(2))
    assert made.spec.template.spec.containers[0].ports[0].protocol == "TCP"
    assert made.metadata.creation_timestamp.tzinfo is not None
    await apps.patch_namespaced_deployment("web", "default", {"spec": {"replicas": 3}})
    scale = await apps.read_namespaced_deployment_scale("web", "default")
    assert (scale.spec.replicas, scale.status.selector) == (3, "app=web")
    found = await apps.list_namespaced_deployment("default", label_selector="app=web", limit=1)
    assert found.items == []
    await apps.delete_namespaced_deployment("web", "default")
    with pytest.raises(ApiException) as refused:
        await apps.read_namespaced_deployment("web", "default")
    assert (refused.value.status, refused.value.reason) == (404, "Not Found")


async def test_a_watch_delivers_what_happens(api):
    core = client.CoreV1Api(api)
    seen = []

    async def follow(version: str) -> None:
        async with watch.Watch() as stream:
            async for event in stream.stream(core.list_namespaced_config_map, "default", resource_version=version):
                seen.append((event["type"], event["object"].metadata.name))
                if event["type"] == "DELETED":
                    return

    version = (await core.list_namespaced_config_map("default")).metadata.resource_version
    following = asyncio.create_task(follow(version))
    await core.create_namespaced_config_map("default", client.V1ConfigMap(metadata=client.V1ObjectMeta(name="a")))
    await core.delete_namespaced_config_map("a", "default")
    await asyncio.wait_for(following, 30)
    assert seen == [("ADDED", "a"), ("DELETED", "a")]


async def test_refusals_carry_the_status(api):
    with pytest.raises(ApiException) as refused:
        await client.CoreV1Api(api).create_namespaced_config_map(
            "default", client.V1ConfigMap(metadata=client.V1ObjectMeta(name="Not_a_name"))
        )
    assert refused.value.status == 422
    assert "metadata.name: Invalid value" in refused.value.body
