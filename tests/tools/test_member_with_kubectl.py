"""A simulated member in the hands of a user with kubectl."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests import programs

from karmada.apiserver.auth.kubeconfig import write_kubeconfig
from karmada.simulator.member import Member
from karmada.simulator.spec import MemberSpec, NodePool

pytestmark = pytest.mark.tools

MANIFEST = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: c, image: "nginx:1", resources: {requests: {cpu: 100m}}, env: [{name: GREETING, value: hello}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: hello}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox, command: [echo, hello world]}]}}}
"""


class Kubectl:
    """kubectl with the member's kubeconfig."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def run(self, *arguments: str, stdin: str = "") -> tuple[int, str]:
        """Exit code and everything it said."""
        process = await asyncio.create_subprocess_exec(
            programs.kubectl(),
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={"PATH": os.environ["PATH"], "HOME": str(self._folder), "KUBECONFIG": str(self._folder / "kubeconfig")},
        )
        output, _ = await asyncio.wait_for(process.communicate(stdin.encode()), 120)
        return process.returncode or 0, output.decode()

    async def __call__(self, *arguments: str, stdin: str = "") -> str:
        """What it said; fails with it."""
        code, output = await self.run(*arguments, stdin=stdin)
        assert code == 0, f"kubectl {' '.join(arguments)}: {output}"
        return output

    async def applied(self) -> None:
        """The manifest, rolled out."""
        await self("apply", "-f", "-", stdin=MANIFEST)
        await self("rollout", "status", "deployment/web", "--timeout=60s")


@pytest.fixture
async def kubectl(tmp_path: Path) -> AsyncIterator[Kubectl]:
    spec = MemberSpec("member1", node_pools=(NodePool(count=2, cpu="4"),))
    async with Member(spec) as member:
        await member.listen()
        write_kubeconfig(tmp_path / "kubeconfig", member.kubeconfig)
        yield Kubectl(tmp_path)


async def test_apply_rollout_and_look(kubectl):
    await kubectl.applied()
    assert "3/3" in await kubectl("get", "deployment", "web")
    await kubectl("wait", "--for=condition=complete", "job/hello", "--timeout=60s")
    assert "Ready" in await kubectl("get", "nodes")
    slices = await kubectl(
        "get", "endpointslices", "-l", "kubernetes.io/service-name=web", "-o", "jsonpath={..addresses}"
    )
    assert slices.count("10.") == 3
    described = await kubectl("describe", "deployment", "web")
    assert "Scaled up replica set" in described
    assert "MinimumReplicasAvailable" in described


async def test_scale_break_the_image_and_roll_back(kubectl):
    await kubectl.applied()
    await kubectl("scale", "deployment/web", "--replicas=4")
    await kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    await kubectl("set", "image", "deployment/web", "c=nginx:broken")
    code, output = await kubectl.run("rollout", "status", "deployment/web", "--timeout=2s")
    assert code == 1, output
    assert await kubectl("get", "deployment", "web", "-o", "jsonpath={.status.availableReplicas}") == "3"
    await kubectl("rollout", "undo", "deployment/web")
    await kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    assert await kubectl("get", "deployment", "web", "-o", "jsonpath={..image}") == "nginx:1"
    history = await kubectl("rollout", "history", "deployment/web")
    assert [line.split()[0] for line in history.splitlines()[2:] if line] == ["2", "3"]


async def test_pods_obey_capacity(kubectl):
    await kubectl("cordon", "member1-node-2")
    manifest = MANIFEST.split("---")[0].replace("100m", "1").replace("replicas: 3", "replicas: 5")
    await kubectl("apply", "-f", "-", stdin=manifest)
    await kubectl("wait", "deployment/web", "--for=jsonpath={.status.availableReplicas}=4", "--timeout=60s")
    reason = 'jsonpath={.items[0].status.conditions[?(@.type=="PodScheduled")].message}'
    output = await kubectl("get", "pods", "--field-selector=status.phase=Pending", "-o", reason)
    assert output == "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable."
    await kubectl("uncordon", "member1-node-2")
    await kubectl("rollout", "status", "deployment/web", "--timeout=60s")


async def test_drain_moves_pods_to_other_nodes(kubectl):
    await kubectl.applied()
    await kubectl("drain", "member1-node-1", "--ignore-daemonsets", "--timeout=60s")
    await kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    where = await kubectl("get", "pods", "-l", "app=web", "-o", "jsonpath={..nodeName}")
    assert set(where.split()) == {"member1-node-2"}
    assert "SchedulingDisabled" in await kubectl("get", "nodes")


async def test_logs_and_exec(kubectl):
    await kubectl.applied()
    await kubectl("wait", "--for=condition=complete", "job/hello", "--timeout=60s")
    assert await kubectl("logs", "job/hello") == "hello world\n"
    assert "nginx:1 started" in await kubectl("logs", "deployment/web", "--tail=5")
    assert await kubectl("exec", "deployment/web", "--", "sh", "-c", "echo $GREETING") == "hello\n"
    name = (await kubectl("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[0].metadata.name}")).strip()
    assert await kubectl("exec", name, "--", "hostname") == f"{name}\n"
    assert await kubectl("exec", "-i", name, "--", "cat", stdin="from outside") == "from outside"
    code, output = await kubectl.run("exec", name, "--", "sh", "-c", "exit 4")
    assert code == 4, output
    assert "m" in await kubectl("top", "pods")


async def test_deleting_a_namespace_deletes_everything_in_it(kubectl):
    await kubectl("create", "namespace", "shop")
    await kubectl("-n", "shop", "apply", "-f", "-", stdin=MANIFEST)
    await kubectl("-n", "shop", "rollout", "status", "deployment/web", "--timeout=60s")
    await kubectl("delete", "namespace", "shop", "--timeout=60s")
    assert "No resources found" in await kubectl("get", "pods", "-A")
