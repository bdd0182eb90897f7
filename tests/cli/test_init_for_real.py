"""`karmadactl init` brings up a control plane that works: on a simulated host whose pods of Karmada are processes."""

import asyncio
import base64
import io
import json
import os
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.x509.oid import NameOID

from karmada.cli.main import execute
from karmada.cli.session import Session
from karmada.membership.component_roles import COMPONENTS, EMBEDDED, user_of
from karmada.simulator.fleet import Fleet
from karmada.simulator.spec import parse

RUN = {"namespaces": ["karmada-system"]}
FLEET = {
    "members": [{"name": "host", "processes": RUN}, {"name": "member1"}, {"name": "member2", "processes": RUN}],
}
PATIENCE = 100.0
PROGRAMS = [
    "karmada-aggregated-apiserver",
    "karmada-apiserver",
    "karmada-controller-manager",
    "karmada-scheduler",
    "karmada-webhook",
]
WORKLOAD = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web, namespace: default}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
  placement:
    replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted}
"""


class Site:
    """A host cluster and two others, and the program that installs."""

    def __init__(self, folder: Path, fleet: Fleet) -> None:
        self.folder = folder
        self._fleet = fleet
        self.seen: set[int] = set()
        """Processes that stand for containers, all that were ever seen."""

    def config(self, name: str) -> str:
        if name == "karmada":
            return str(self.folder / "karmada" / "karmada-apiserver.config")
        return str(self._fleet.kubeconfig_path(self._fleet[name]))

    async def run(self, where: str, *words: str, stdin: str = "") -> str:
        """What a command prints, against one of the clusters."""
        out, err = io.StringIO(), io.StringIO()
        environment = {"HOME": str(self.folder)}
        session = Session(out=out, err=err, stdin=io.StringIO(stdin), environment=environment, patience=PATIENCE)
        code = await execute([*words, "--kubeconfig", self.config(where)], session)
        assert code == 0, (words, out.getvalue(), err.getvalue())
        return out.getvalue()

    async def items(self, kind: str) -> dict[str, dict[str, Any]]:
        """Objects of the host's namespace by their names."""
        listed = json.loads(await self.run("host", "get", kind, "-n", "karmada-system", "-o", "json"))["items"]
        return {item["metadata"]["name"]: item for item in listed}

    def programs(self, name: str) -> list[str]:
        """The containers of a cluster that are processes now."""
        kubelet = self._fleet[name].processes
        assert kubelet is not None
        every = [container for pod in kubelet.running.values() for container in pod.containers.values()]
        self.seen |= {container.pid for container in every if container.pid is not None}
        return sorted(container.name for container in every if container.pid is not None)

    def left(self) -> list[int]:
        """Those that run still."""
        return [pid for pid in self.seen if Path(f"/proc/{pid}").exists()]


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with Fleet(parse(FLEET), folder=tmp_path / "clusters") as fleet:
        await fleet.listen()
        made = Site(tmp_path, fleet)
        yield made
    assert not made.left()


async def eventually(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            if await holds():
                return
            await asyncio.sleep(0.1)


async def check_identities(site: Site) -> None:
    """Every component is a user of its own, and none holds the key of the authority."""
    secrets = {
        name: {key: base64.b64decode(value) for key, value in secret["data"].items()}
        for name, secret in (await site.items("secrets")).items()
    }
    key = await asyncio.to_thread((site.folder / "karmada" / "pki" / "ca.key").read_bytes)
    assert not [name for name, content in secrets.items() if key in content.values()]
    workloads = {**await site.items("statefulsets"), **await site.items("deployments")}
    mounted = {
        name: [volume["secret"]["secretName"] for volume in volumes if "secret" in volume]
        for name, volumes in ((name, one["spec"]["template"]["spec"]["volumes"]) for name, one in workloads.items())
    }
    assert mounted.pop("karmada-apiserver") == ["karmada-apiserver-cert", "karmada-ca"]
    assert mounted.pop("karmada-scheduler-estimator-member1") == ["member1-kubeconfig"]
    assert mounted.keys() == set(COMPONENTS) - EMBEDDED - {"karmada-gateway", "karmada-metrics-adapter"}
    for component, names in mounted.items():
        assert set(names) <= {f"{component}-config", f"{component}-cert"}, component
        user = yaml.safe_load(secrets[f"{component}-config"]["karmada.config"])["users"][0]["user"]
        certificate = x509.load_pem_x509_certificate(base64.b64decode(user["client-certificate-data"]))
        (name,) = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        assert name.value == user_of(component)
        assert not certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)


async def test_init_makes_a_control_plane_that_members_join_and_deinit_leaves_nothing(site: Site) -> None:
    data = ["--karmada-data", str(site.folder / "karmada"), "--karmada-pki", str(site.folder / "karmada/pki")]
    assert "Karmada is installed" in await site.run("host", "init", *data)
    assert stat.S_IMODE(os.stat(site.config("karmada")).st_mode) == 0o600
    assert site.programs("host") == PROGRAMS
    await site.run("karmada", "join", "member1", "--cluster-kubeconfig", site.config("member1"))
    line = (await site.run("karmada", "token", "create", "--print-register-command")).split()
    await site.run("member2", *line[1:], "--cluster-name", "member2")
    assert site.programs("member2") == ["karmada-agent"]

    async def ready() -> bool:
        clusters = json.loads(await site.run("karmada", "get", "clusters", "-o", "json"))["items"]
        conditions = {
            (cluster["metadata"]["name"], cluster["spec"]["syncMode"], condition["type"], condition["status"])
            for cluster in clusters
            for condition in cluster.get("status", {}).get("conditions") or ()
        }
        return conditions >= {("member1", "Push", "Ready", "True"), ("member2", "Pull", "Ready", "True")}

    await eventually(ready)
    await site.run("karmada", "apply", "-f", "-", stdin=WORKLOAD)

    async def spread() -> bool:
        path = "jsonpath={.items[*].status.readyReplicas}"
        words = ("get", "deployments", "-n", "default", "-o", path)
        return [await site.run(name, *words) for name in ("member1", "member2", "karmada")] == ["2", "2", "4"]

    await eventually(spread)
    member = ("-C", "member1", "--member-kubeconfig", site.config("member1"))
    await site.run("host", "addons", "enable", "karmada-descheduler", "karmada-scheduler-estimator", *member)
    assert site.programs("host") == sorted([*PROGRAMS, "karmada-descheduler", "karmada-scheduler-estimator-member1"])
    assert "karmada-descheduler           enabled" in await site.run("host", "addons", "list")
    await check_identities(site)
    await site.run("host", "addons", "disable", "karmada-descheduler", "-f")
    await site.run("host", "addons", "disable", "karmada-scheduler-estimator", "-f", *member[:2])
    await site.run("host", "deinit", "-f")

    async def gone() -> bool:
        return site.programs("host") == []

    await eventually(gone)
    for kind in ("pods", "services"):
        assert await site.items(kind) == {}
