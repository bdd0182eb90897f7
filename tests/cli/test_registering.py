"""A cluster that registers itself, with a live agent, and what commands do with it."""

import asyncio
import contextlib
import re
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.cli.samples import SHOP, apply
from tests.cli.world import QUICK, World

from karmada.agent.agent import Agent
from karmada.agent.hub import HubTransport
from karmada.agent.options import AgentOptions, LeaseOptions
from karmada.apiserver.auth.kubeconfig import write_kubeconfig
from karmada.machinery.errors import NotFound
from karmada.machinery.http.kubeconfig import from_bytes, load
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import JSONObject
from karmada.membership import objects
from karmada.membership.register import DEPLOYMENTS
from karmada.simulator.member import Member
from karmada.simulator.spec import MemberSpec

NAME = "puller"
POLICY = """
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: shop}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: shop}]
  placement: {clusterAffinity: {clusterNames: [puller]}}
"""


class Newcomer:
    """A cluster in which the agent starts to run when its Deployment appears, as a kubelet would start it."""

    def __init__(self, world: World, config: Path) -> None:
        self.world = world
        self.config = config
        self._stack = AsyncExitStack()
        self._waiting: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self.member = await self._stack.enter_async_context(Member(MemberSpec(NAME)))
        await self.member.listen()
        write_kubeconfig(self.config, self.member.kubeconfig)
        self._waiting = asyncio.get_running_loop().create_task(self._run_agent())

    async def stop(self) -> None:
        assert self._waiting is not None
        self._waiting.cancel()
        await asyncio.gather(self._waiting, return_exceptions=True)
        await self._stack.aclose()

    async def _run_agent(self) -> None:
        secret: JSONObject | None = None
        while secret is None:
            with contextlib.suppress(NotFound):
                await self.member.inside.resource(DEPLOYMENTS).get("karmada-agent", "karmada-system")
                secret = await self.member.inside.resource(objects.SECRETS).get("karmada-kubeconfig", "karmada-system")
            await asyncio.sleep(0.02)
        hub = from_bytes(objects.decoded(secret)["karmada-kubeconfig"]).target()
        here = load([self.config]).target()
        options = AgentOptions(NAME, here.server, status=QUICK, lease=LeaseOptions(duration=4.0))
        agent = Agent(HubTransport(hub), HttpTransport(here), options)
        supervisor = await self._stack.enter_async_context(Supervisor())
        self._stack.push_async_callback(agent.close)
        await agent.start(supervisor, here)


@pytest.fixture
def newcomer(federation: World, tmp_path: Path) -> Iterator[Newcomer]:
    made = Newcomer(federation, tmp_path / "puller.config")
    federation.call(made.start())
    yield made
    federation.call(made.stop())


def test_a_cluster_registers_works_and_leaves(federation: World, newcomer: Newcomer) -> None:
    line = federation.run("token", "create", "--print-register-command", "--allow", "apiEndpoint").out
    found = re.fullmatch(r"karmadactl register (\S+) --token (\S+) --discovery-token-ca-cert-hash (\S+)\n", line)
    assert found, line
    endpoint, token, pin = found.groups()
    words = [endpoint, "--token", token, "--discovery-token-ca-cert-hash", pin, "--cluster-name", NAME]
    dry = federation.run("register", *words, "--kubeconfig", str(newcomer.config), "--dry-run")
    assert dry.code == 0, dry.err
    assert federation.run("get", "cluster", NAME).code == 1
    image = "mirror.example/karmada:9"
    result = federation.run("register", *words, "--kubeconfig", str(newcomer.config), KARMADA_IMAGE=image)
    assert result.code == 0, result.err
    assert result.err.startswith(
        "Warning: the nodes of this cluster are simulated: containers in karmada-system run noth"
    )
    agent = ("get", "deployment", "karmada-agent", "-n", "karmada-system", "--kubeconfig", str(newcomer.config))
    path = "jsonpath={.spec.template.spec.containers[*].image}"
    assert federation.run(*agent, "-o", path).out == image
    assert result.out.endswith(f"cluster({NAME}) is joined successfully\n")
    federation.eventually(lambda: _row(federation)[3:5] == ["Pull", "True"])

    namespace = federation.namespace()
    shop = SHOP.partition("---")[0]
    apply(federation, f"{shop}\n---{POLICY}", namespace)
    rolled = federation.run("rollout", "status", "deployment/shop", "-n", namespace, "--timeout=30s")
    assert "in 1 cluster\n" in rolled.out
    pods = federation.run("get", "pods", "-n", namespace, "-s", "members", "-C", NAME, "-o", "name").out.split()
    assert len(pods) == 3
    done = federation.run("exec", pods[0], "-n", namespace, f"--cluster={NAME}", "--", "echo", "hello")
    assert done == (0, "hello\n", "")
    assert federation.run("logs", pods[0], "-n", namespace, "-C", NAME).out

    ways = ["--cluster-kubeconfig", str(newcomer.config), "--karmada-config", str(federation.kubeconfig)]
    refused = federation.run("unjoin", NAME, "--cluster-kubeconfig", str(newcomer.config))
    assert refused.code == 1
    beside = ("-n", "karmada-system", "--kubeconfig", str(newcomer.config))
    assert federation.run("create", "deployment", "own-agent", "--image=karmada", *beside).code == 0
    assert federation.run("delete", "deployment", "karmada-agent", *beside).code == 0
    left = federation.run("unregister", NAME, *ways, "--agent-name", "own-agent")
    assert left.code == 0, left.err
    assert federation.run("get", "cluster", NAME).code == 1
    there = federation.run("get", "deployments", "-A", "-o", "name", "--kubeconfig", str(newcomer.config))
    assert there.out == ""


def _row(federation: World) -> list[str]:
    return federation.run("get", "cluster", NAME, "--no-headers").out.split()
