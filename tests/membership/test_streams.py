"""exec, attach, logs and port-forward of the real kubectl through `clusters/<name>/proxy`: directly and by a tunnel.

Both with everything in one server, and with the aggregated API server as a program of its own behind another.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests import programs
from tests.membership.test_aggregated_server import Pair, servers
from tests.membership.world import QUICK, Member, World, eventually

from karmada.agent.agent import Agent
from karmada.agent.hub import HubTransport
from karmada.agent.options import AgentOptions
from karmada.api.crd.definition import definitions
from karmada.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from karmada.apiserver.requests.subresources.connect import Backends
from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.machinery.client import Client
from karmada.machinery.http.target import Identity, Material, Target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.httpserver.backends import ExecRequest, ExitStatus, LogRequest
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource
from karmada.membership import impersonation, objects
from karmada.membership.agent_roles import agent_objects
from karmada.membership.credentials import ensure
from karmada.membership.join import join
from karmada.membership.tunnel.tunnels import Tunnels

ONE, BEHIND = "one server", "behind another"
pytestmark = [
    pytest.mark.tools,
    pytest.mark.parametrize(
        ("hub", "kubectl"), [(ONE, "push"), (ONE, "tunnel"), (BEHIND, "push"), (BEHIND, "tunnel")], indirect=True
    ),
]
PODS = GroupVersionResource("", "v1", "pods")
CRDS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
RBAC = {"ClusterRole": objects.CLUSTER_ROLES, "ClusterRoleBinding": objects.CLUSTER_ROLE_BINDINGS}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "default"},
    "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "busybox", "stdin": True}]},
}


class Workloads:
    """Runs `cat` and `exit`, says to whoever attaches that it runs, has a log that goes on, and echoes on port 80."""

    async def execute(self, request: ExecRequest, streams: Any) -> ExitStatus:
        if not request.command and not request.stdin:
            for _ in range(20):
                await streams.write(f"{request.container} runs\n".encode())
                await asyncio.sleep(0.05)
            return ExitStatus()
        if request.command and request.command[0] == "exit":
            return ExitStatus(int(request.command[1]))
        while data := await streams.read():
            await streams.write(data.upper())
        return ExitStatus()

    async def forward(self, namespace: str, pod: str, port: int, stream: Any) -> None:
        while data := await stream.read():
            await stream.write(b"echo:" + data)

    async def logs(self, request: LogRequest) -> AsyncIterator[bytes]:
        yield b"line 0\n"
        if request.follow:
            await asyncio.sleep(0.05)
            yield b"line 1\n"


class Kubectl:
    """kubectl with the member's proxy as its server."""

    def __init__(self, folder: Path) -> None:
        self._environment = {"KUBECONFIG": str(folder / "kubeconfig"), "HOME": str(folder), "PATH": os.environ["PATH"]}

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            programs.kubectl(), *arguments, stdin=pipe, stdout=pipe, stderr=pipe, env=self._environment
        )

    async def __call__(self, *arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
        process = await self.start(*arguments)
        out, err = await asyncio.wait_for(process.communicate(stdin), 60)
        return process.returncode or 0, out.decode(), err.decode()


class Hub(NamedTuple):
    """Where clusters are served, as its administrator sees it."""

    client: Client
    server: ApiServer
    endpoint: str
    tunnels: Tunnels
    has_controllers: bool


made = pytest.fixture(servers, name="made")


@pytest.fixture
async def hub(request: pytest.FixtureRequest, world: World, made: Pair) -> Hub:
    if request.param == BEHIND:
        admin = made.user("system:admin", "system:masters")
        return Hub(admin, made.front, made.endpoint, made.behind.api.tunnels, False)
    plane = world.plane
    return Hub(world.hub, plane.server, await plane.listen(), plane.clusters.tunnels, True)


@pytest.fixture
async def kubectl(hub: Hub, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Kubectl]:
    await asyncio.to_thread(programs.kubectl)
    async with AsyncExitStack() as stack:
        work = Workloads()
        server = await stack.enter_async_context(ApiServer(ApiServerOptions(backends=Backends(work, work, work))))
        member = Member("member1", server, f"https://127.0.0.1:{await server.listen()}")
        await member.client.resource(PODS).create(POD)
        await member.client.resource(PODS).patch("p", {"status": {"phase": "Running"}}, "default", subresource="status")
        if request.param == "push":
            await join(member.client, hub.client, member.describe())
            if not hub.has_controllers:
                rule = {"apiGroups": [""], "resources": ["users", "groups"], "verbs": ["impersonate"]}
                for wanted in (impersonation.role([rule]), impersonation.binding("karmada-cluster")):
                    await ensure(member.client, RBAC[wanted["kind"]], wanted)
            roles = member.client.resource(objects.CLUSTER_ROLES)
            await eventually(lambda: roles.get("karmada-impersonator"))
        else:
            await _pull(stack, hub, member)
        authority = hub.server.identity.authority
        certificate, key = authority.issue_client("system:admin", ["system:masters"])
        proxy = f"{hub.endpoint}/apis/cluster.karmada.io/v1alpha1/clusters/member1/proxy"
        config = kubeconfig(proxy, authority.certificate_pem, certificate=certificate, key=key)
        write_kubeconfig(tmp_path / "kubeconfig", config)
        yield Kubectl(tmp_path)


async def _pull(stack: AsyncExitStack, hub: Hub, member: Member) -> None:
    """An agent that reports no credentials and opens a tunnel."""
    if not hub.has_controllers:
        for definition in definitions():
            await ensure(hub.client, CRDS, definition)
    await ensure(hub.client, objects.NAMESPACES, objects.namespace("karmada-cluster"))
    for wanted in agent_objects("member1", "first"):
        await ensure(hub.client, wanted.type, wanted.tree)
    authority = hub.server.identity.authority
    groups = ["system:karmada:agents", "system:karmada:registration:first"]
    agent_certificate = authority.issue_client("system:karmada:agent:member1", groups)
    own = member.server.identity.authority
    there = _target(member.endpoint, own.certificate_pem, own.issue_client("admin", ["system:masters"]))
    here = HubTransport(_target(hub.endpoint, authority.certificate_pem, agent_certificate))
    options = AgentOptions("member1", report_secrets=frozenset(), tunnel=True, status=QUICK)
    agent = Agent(here, HttpTransport(there), options)
    stack.push_async_callback(agent.close)
    await agent.start(await stack.enter_async_context(Supervisor()), there)

    async def open_() -> bool:
        return hub.tunnels.has("member1")

    await eventually(open_)


def _target(server: str, authority: bytes, credentials: tuple[bytes, bytes]) -> Target:
    certificate, key = credentials
    return Target(server, Material(authority), identity=Identity(Material(certificate), Material(key)))


async def test_commands_run_in_the_member_and_their_exit_code_comes_back(kubectl: Kubectl) -> None:
    code, out, err = await kubectl("exec", "-i", "p", "--", "cat", stdin=b"some input\n")
    assert (code, out, err) == (0, "SOME INPUT\n", "")
    assert (await kubectl("exec", "p", "--", "exit", "3"))[0] == 3


async def test_a_running_process_is_attached_to(kubectl: Kubectl) -> None:
    # kubectl drops what comes before it has made its streams, and says so.
    code, out, _ = await kubectl("attach", "p", "--quiet")
    assert (code, set(out.splitlines())) == (0, {"c runs"})
    code, out, _ = await kubectl("attach", "-i", "p", "-c", "c", "--quiet", stdin=b"some input\n")
    assert (code, out) == (0, "SOME INPUT\n")


async def test_logs_are_followed(kubectl: Kubectl) -> None:
    assert await kubectl("logs", "p") == (0, "line 0\n", "")
    assert await kubectl("logs", "-f", "p") == (0, "line 0\nline 1\n", "")


async def test_ports_are_forwarded(kubectl: Kubectl) -> None:
    process = await kubectl.start("port-forward", "pod/p", ":80", "--address=127.0.0.1")
    try:
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), 30)
        port = int(line.split(b":")[1].split()[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"hello")
        assert await asyncio.wait_for(reader.readexactly(10), 30) == b"echo:hello"
        writer.close()
    finally:
        process.kill()
        await process.communicate()


async def test_get_and_an_unknown_pod_read_as_from_the_member_itself(kubectl: Kubectl) -> None:
    code, out, _ = await kubectl("get", "pods", "-o", "name")
    assert (code, out) == (0, "pod/p\n")
    code, _, err = await kubectl("exec", "nosuch", "--", "cat")
    assert code == 1
    assert 'pods "nosuch" not found' in err
