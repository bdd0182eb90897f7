"""The real kubectl with the global API server as its server: get, get -w, logs, exec, port-forward, scale."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests import programs
from tests.membership.test_streams import Kubectl, Workloads
from tests.membership.world import QUICK, Member, World
from tests.planes import stored
from tests.search.world import PODS, PROXY, Searched, pod, registry

from karmada.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from karmada.apiserver.requests.subresources.connect import Backends
from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.machinery.options import Options
from karmada.machinery.transport import GroupVersionResource
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions

pytestmark = pytest.mark.tools
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    },
}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[tuple[Searched, Kubectl]]:
    await asyncio.to_thread(programs.kubectl)
    async with AsyncExitStack() as stack:
        plane = await stack.enter_async_context(
            ControlPlane(ControlPlaneOptions(storage=stored(), options=Options(QUICK)))
        )
        searched = Searched(World(plane, stack))
        await searched.start()
        work = Workloads()
        for name in ("member1", "member2"):
            options = ApiServerOptions(backends=Backends(work, work, work))
            server = await stack.enter_async_context(ApiServer(options))
            member = Member(name, server, f"https://127.0.0.1:{await server.listen()}")
            made = pod(f"p-{name}")
            made["spec"]["nodeName"] = "n"
            await member.client.resource(PODS).create(made)
            running = {"status": {"phase": "Running"}}
            await member.client.resource(PODS).patch(f"p-{name}", running, "default", subresource="status")
            await searched.adopt(member)
        await searched.members["member2"].client.resource(DEPLOYMENTS).create(DEPLOYMENT)
        await searched.register(registry(("v1", "Pod"), ("apps/v1", "Deployment")))
        authority = plane.server.identity.authority
        certificate, key = authority.issue_client("system:admin", ["system:masters"])
        address = searched.world.endpoint + PROXY
        config = kubeconfig(address, authority.certificate_pem, certificate=certificate, key=key)
        write_kubeconfig(tmp_path / "kubeconfig", config)
        yield searched, Kubectl(tmp_path)


async def test_pods_of_all_clusters_are_listed_with_their_cluster(world: tuple[Searched, Kubectl]) -> None:
    _, kubectl = world
    code, out, err = await kubectl("get", "pods", "-A")
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert lines[0][:5] == ["NAMESPACE", "NAME", "CLUSTER", "READY", "STATUS"]
    assert [line[:3] for line in lines[1:]] == [
        ["default", "p-member1", "member1"],
        ["default", "p-member2", "member2"],
    ]
    code, out, _ = await kubectl("get", "pods", "-A", "-o", "name", "--chunk-size=1")
    assert (code, out) == (0, "pod/p-member1\npod/p-member2\n")


async def test_changes_in_every_cluster_are_watched(world: tuple[Searched, Kubectl]) -> None:
    searched, kubectl = world
    process = await kubectl.start("get", "pods", "-A", "-w")
    assert process.stdout is not None

    async def line() -> list[str]:
        assert process.stdout is not None
        text = await asyncio.wait_for(process.stdout.readline(), 30)
        return text.decode().split()

    try:
        assert [(await line())[1] for _ in range(3)] == ["NAME", "p-member1", "p-member2"]
        await searched.members["member1"].client.resource(PODS).create(pod("new"))
        assert (await line())[1:3] == ["new", "member1"]
        await searched.members["member2"].client.resource(PODS).create(pod("newer"))
        assert (await line())[1:3] == ["newer", "member2"]
    finally:
        process.kill()
        await process.communicate()


async def test_logs_commands_and_ports_are_those_of_the_owning_cluster(world: tuple[Searched, Kubectl]) -> None:
    _, kubectl = world
    assert await kubectl("logs", "p-member2") == (0, "line 0\n", "")
    assert await kubectl("logs", "-f", "p-member1") == (0, "line 0\nline 1\n", "")
    assert await kubectl("exec", "-i", "p-member2", "--", "cat", stdin=b"some input\n") == (0, "SOME INPUT\n", "")
    assert (await kubectl("exec", "p-member1", "--", "exit", "3"))[0] == 3
    process = await kubectl.start("port-forward", "pod/p-member2", ":80", "--address=127.0.0.1")
    try:
        assert process.stdout is not None
        text = await asyncio.wait_for(process.stdout.readline(), 30)
        port = int(text.split(b":")[1].split()[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"hello")
        assert await asyncio.wait_for(reader.readexactly(10), 30) == b"echo:hello"
        writer.close()
    finally:
        process.kill()
        await process.communicate()


async def test_writes_reach_the_owning_cluster(world: tuple[Searched, Kubectl]) -> None:
    searched, kubectl = world
    code, out, err = await kubectl("scale", "deployment/web", "--replicas=3")
    assert (code, err) == (0, ""), out
    member = searched.members["member2"].client
    assert (await member.resource(DEPLOYMENTS).get("web", "default"))["spec"]["replicas"] == 3
    assert (await kubectl("label", "deployment/web", "seen=yes"))[0] == 0
    assert (await member.resource(DEPLOYMENTS).get("web", "default"))["metadata"]["labels"] == {"seen": "yes"}
    assert (await kubectl("delete", "deployment/web", "--wait=false"))[0] == 0
    code, _, err = await kubectl("logs", "nosuch")
    assert code == 1
    assert 'pods "nosuch" not found' in err
