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

from karmada.api.annotations import CACHED_FROM_CLUSTER, QUERY_FROM_CLUSTER
from karmada.cli.main import execute
from karmada.cli.session import Session
from karmada.membership.component_roles import COMPONENTS, user_of
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
ADDONS = [
    *("karmada-dashboard", "karmada-descheduler", "karmada-metrics-adapter"),
    *("karmada-scheduler-estimator-member1", "karmada-search"),
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

REGISTRY = """
apiVersion: search.karmada.io/v1alpha1
kind: ResourceRegistry
metadata: {name: pods}
spec:
  targetCluster: {clusterNames: [member1]}
  resourceSelectors: [{apiVersion: v1, kind: Pod}]
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
        assert "simulated" not in err.getvalue()
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
    assert mounted.pop("karmada-dashboard") == ["karmada-dashboard-config", "karmada-dashboard-cert"]
    config = yaml.safe_load(secrets["karmada-dashboard-config"]["karmada.config"])
    assert [user["user"] for user in config["users"]] == [{}], "the dashboard acts as its users only"
    assert mounted.keys() == set(COMPONENTS) - {"karmada-gateway"}
    for component, names in mounted.items():
        assert set(names) <= {f"{component}-config", f"{component}-cert"}, component
        user = yaml.safe_load(secrets[f"{component}-config"]["karmada.config"])["users"][0]["user"]
        certificate = x509.load_pem_x509_certificate(base64.b64decode(user["client-certificate-data"]))
        (name,) = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        assert name.value == user_of(component)
        assert not certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)


async def check_metrics(site: Site) -> None:
    """The adapter serves what it reaches: member2, in Pull mode and without a tunnel, costs its own rows only."""

    async def measured() -> bool:
        nodes = json.loads(await site.run("karmada", "get", "--raw", "/apis/metrics.k8s.io/v1beta1/nodes"))["items"]
        return {one["metadata"]["annotations"][QUERY_FROM_CLUSTER] for one in nodes} == {"member1"}

    await eventually(measured)
    lines = (await site.run("karmada", "top", "pods", "-n", "default", "--history")).splitlines()
    assert {line.split()[1] for line in lines[1:]} == {"member1"}


async def check_policies(site: Site) -> None:
    """Everything but the API server is reached by its callers only, however those were installed."""
    found = await site.items("networkpolicies")
    callers: dict[str, set[str] | None] = {}
    for name, policy in found.items():
        assert policy["spec"]["podSelector"] == {"matchLabels": {"app": name}}
        served = [rule for rule in policy["spec"]["ingress"] if rule["ports"][0]["port"] != 8080]
        peers = [peer["podSelector"]["matchLabels"] for rule in served for peer in rule.get("from") or ()]
        everybody = any("from" not in rule for rule in served)
        callers[name] = None if everybody else {f"{key}={value}" for labels in peers for key, value in labels.items()}
    assert callers.keys() == set(site.programs("host")) - {"karmada-apiserver"}
    server = {"app=karmada-apiserver", "app.kubernetes.io/name=karmada-apiserver"}
    assert callers["karmada-search"] == callers["karmada-metrics-adapter"] == server
    assert callers["karmada-dashboard"] is None
    assert callers["karmada-descheduler"] == set()
    askers = {
        f"{key}=karmada-{who}" for key in ("app", "app.kubernetes.io/name") for who in ("scheduler", "descheduler")
    }
    assert callers["karmada-scheduler-estimator-member1"] == askers


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
    path = "/apis/work.karmada.io/v1alpha1/namespaces/default/resourcebindings/web-deployment"
    assert json.loads(await site.run("karmada", "get", "--raw", path))["spec"]["resource"]["replicas"] == 4
    member = ("-C", "member1", "--member-kubeconfig", site.config("member1"))
    several = ("karmada-dashboard", "karmada-descheduler", "karmada-metrics-adapter", "karmada-search")
    hub = ("--karmada-kubeconfig", site.config("karmada"))
    enabled = await site.run("host", "addons", "enable", *several, *hub)
    await site.run("host", "addons", "enable", "karmada-scheduler-estimator", *member)
    assert "the control plane serves metrics.k8s.io, custom.metrics.k8s.io, external.metrics.k8s.io" in enabled
    assert "the control plane serves search.karmada.io" in enabled
    assert "leads to the dashboard: https://localhost:8443/dashboard" in enabled
    assert site.programs("host") == sorted([*PROGRAMS, *ADDONS])
    await check_metrics(site)
    await check_policies(site)
    listed = await site.run("host", "addons", "list")
    assert "karmada-descheduler           enabled" in listed
    assert "karmada-search                enabled" in listed
    await check_identities(site)
    await site.run("karmada", "apply", "-f", "-", stdin=REGISTRY)

    async def searched() -> bool:
        path = "/apis/search.karmada.io/v1alpha1/search/cache/api/v1/namespaces/default/pods"
        found = json.loads(await site.run("karmada", "get", "--raw", path))["items"]
        return [item["metadata"]["annotations"][CACHED_FROM_CLUSTER] for item in found] == ["member1", "member1"]

    await eventually(searched)
    await site.run("host", "addons", "disable", *several, "--force", *hub)
    assert "metrics.k8s.io" not in await site.run("karmada", "api-versions")
    await site.run("host", "addons", "disable", "karmada-scheduler-estimator", "-f", *member[:2])
    await site.run("host", "deinit", "-f")

    async def gone() -> bool:
        return site.programs("host") == []

    await eventually(gone)
    for kind in ("pods", "services", "networkpolicies"):
        assert await site.items(kind) == {}
