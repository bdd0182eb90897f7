"""The real kubectl with the view of templates as its server: the buttons of a tree act on the pod of a shown name."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests import programs
from tests.membership.test_streams import Kubectl, Workloads
from tests.membership.world import QUICK, Member, World
from tests.planes import stored
from tests.search.world import PODS, VIEW, Searched, configure, pod, registry

from karmada.apiserver.requests.subresources.connect import Backends
from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.machinery.httpserver.backends import LogRequest
from karmada.machinery.options import Options
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions

pytestmark = pytest.mark.tools


class Logging(Workloads):
    """A cluster whose logs say which pod of which cluster was asked."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster

    async def logs(self, request: LogRequest) -> AsyncIterator[bytes]:
        yield f"{request.pod} in {self._cluster}\n".encode()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[tuple[Searched, Kubectl]]:
    """Two clusters that have a running pod of the same name."""
    await asyncio.to_thread(programs.kubectl)
    async with AsyncExitStack() as stack:
        plane = await stack.enter_async_context(
            ControlPlane(ControlPlaneOptions(storage=stored(), options=Options(QUICK)))
        )
        searched = Searched(World(plane, stack))
        await searched.start()
        for name in ("member1", "member2"):
            work = Logging(name)
            server = await stack.enter_async_context(ApiServer(ApiServerOptions(backends=Backends(work, work, work))))
            member = Member(name, server, f"https://127.0.0.1:{await server.listen()}")
            made = pod("web")
            made["spec"]["nodeName"] = "n"
            await member.client.resource(PODS).create(made)
            running = {"status": {"phase": "Running"}}
            await member.client.resource(PODS).patch("web", running, "default", subresource="status")
            await searched.adopt(member)
        await searched.register(registry(("v1", "Pod")))
        configure(searched, tmp_path, VIEW)
        yield searched, Kubectl(tmp_path)


async def test_pods_of_one_name_are_distinguished(world: tuple[Searched, Kubectl]) -> None:
    _, kubectl = world
    code, out, err = await kubectl("get", "pods", "-o", "name")
    assert (code, out, err) == (0, "pod/web.member1\npod/web.member2\n", "")
    code, out, _ = await kubectl("get", "pod", "web.member2", "-o", "jsonpath={.metadata.name} {.status.phase}")
    assert (code, out) == (0, "web.member2 Running")


async def test_logs_commands_and_ports_are_those_of_the_shown_pod(world: tuple[Searched, Kubectl]) -> None:
    _, kubectl = world
    assert await kubectl("logs", "web.member1") == (0, "web in member1\n", "")
    assert await kubectl("logs", "-f", "web.member2") == (0, "web in member2\n", "")
    assert await kubectl("exec", "-i", "web.member2", "--", "cat", stdin=b"some input\n") == (0, "SOME INPUT\n", "")
    assert (await kubectl("exec", "web.member1", "--", "exit", "3"))[0] == 3
    process = await kubectl.start("port-forward", "pod/web.member2", ":80", "--address=127.0.0.1")
    try:
        assert process.stdout is not None
        text = await asyncio.wait_for(process.stdout.readline(), 60)
        port = int(text.split(b":")[1].split()[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"hello")
        assert await asyncio.wait_for(reader.readexactly(10), 60) == b"echo:hello"
        writer.close()
    finally:
        process.kill()
        await process.communicate()


async def test_labels_and_deletion_reach_the_shown_pod_only(world: tuple[Searched, Kubectl]) -> None:
    searched, kubectl = world
    one, two = (searched.members[name].client.resource(PODS) for name in ("member1", "member2"))
    code, _, err = await kubectl("label", "pod/web.member2", "seen=yes")
    assert (code, err) == (0, "")
    assert (await two.get("web", "default"))["metadata"]["labels"] == {"seen": "yes"}
    assert (await kubectl("delete", "pod/web.member2", "--wait=false"))[0] == 0
    assert (await two.get("web", "default"))["metadata"]["deletionTimestamp"]
    kept = (await one.get("web", "default"))["metadata"]
    assert "deletionTimestamp" not in kept
    assert not kept.get("labels")
    code, _, err = await kubectl("logs", "web")
    assert code == 1
    assert 'pods "web" not found' in err
