"""The chart on a host cluster whose pods are processes: stock etcd, kube-apiserver and kube-controller-manager, and our
components, brought up as docs/production.md says, until a Deployment has spread."""

import base64
import json
from pathlib import Path
from typing import Any

from tests.engine.world import deployment

from karmada.apiserver.auth.kubeconfig import write_kubeconfig
from karmada.install.certificates import certificates
from karmada.install.chart import default_values, render
from karmada.install.control_plane import connect, install, serves
from karmada.machinery.client import Client
from karmada.machinery.http.kubeconfig import load
from karmada.machinery.http.transport import HttpTransport
from karmada.membership.join import describe, join
from karmada.membership.objects import SECRETS
from karmada.simulator.fleet import Fleet
from karmada.simulator.spec import parse
from karmada.simulator.workloads.kinds import PODS, SERVICES
from karmada.testing.stage.federation import eventually
from karmada.testing.stage.programs import MODULES, program

from .conftest import DEPLOYMENTS, POLICIES
from .steps import policy

SPACE = "karmada-system"
STOCK = ("etcd", "karmada-apiserver", "kube-controller-manager")
CALLED = ("karmada-aggregated-apiserver", "karmada-webhook")
PATIENCE = 180.0
NAME = "app.kubernetes.io/name"


async def create(client: Client, objects: list[dict[str, Any]]) -> None:
    for tree in objects:
        served = await client.mapper.of_kind(tree["apiVersion"], tree["kind"])
        await client.resource(served.type).create(tree)


async def until_ready(client: Client, names: tuple[str, ...]) -> None:
    async def ready() -> bool:
        pods = [pod for pod in (await client.resource(PODS).list()).items if pod["metadata"]["labels"][NAME] in names]
        conditions = [condition for pod in pods for condition in pod["status"]["conditions"]]
        good = [one for one in conditions if one["type"] == "Ready" and one["status"] == "True"]
        return len(pods) == len(good) == len(names)

    await eventually(ready, PATIENCE)


async def access(host: Client, path: Path) -> Path:
    """The administrator's kubeconfig, for this machine: at the Service's address, by its name."""
    secret = await host.resource(SECRETS).get("karmada-admin-config", SPACE)
    config = json.loads(base64.b64decode(secret["data"]["karmada.config"]))
    service = await host.resource(SERVICES).get("karmada-apiserver", SPACE)
    where = {
        "server": f"https://{service['spec']['clusterIP']}:5443",
        "tls-server-name": f"karmada-apiserver.{SPACE}.svc",
    }
    config["clusters"][0]["cluster"] |= where
    write_kubeconfig(path, config)
    return path


async def test_the_chart_brings_up_a_control_plane_that_spreads_a_deployment(tmp_path: Path) -> None:
    processes = {"namespaces": [SPACE], "programs": {name: str(program(name)) for name in MODULES}}
    fleet = parse({"members": [{"name": "host", "processes": processes}, {"name": "member1"}]})
    async with Fleet(fleet, folder=tmp_path / "clusters") as clusters:
        await clusters.listen()
        host, member = clusters["host"].inside, clusters["member1"]
        values = default_values()
        secrets, bundle = certificates(SPACE, values["clusterDomain"], values["etcd"]["members"])
        await create(host, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}, *secrets])
        chart = render(values)
        first = [tree for tree in chart if tree["metadata"]["labels"][NAME] in STOCK]
        await create(host, first)
        await until_ready(host, STOCK[:2])
        hub = Client(HttpTransport(load([await access(host, tmp_path / "karmada.config")]).target()))
        try:
            await install(hub, "https://karmada.example.com:5443", base64.b64decode(bundle))
            await create(host, [tree for tree in chart if tree not in first])
            await until_ready(host, CALLED)
            await connect(hub, SPACE, base64.b64decode(bundle))
            await eventually(lambda: serves(hub), PATIENCE)
            target = load([clusters.kubeconfig_path(member)]).target()
            await join(member.inside, hub, describe("member1", target))
            await hub.resource(POLICIES).create(policy())
            await hub.resource(DEPLOYMENTS).create(deployment("everywhere", 2))

            async def spread() -> bool:
                found = await member.inside.resource(DEPLOYMENTS).get("everywhere", "default")
                template = await hub.resource(DEPLOYMENTS).get("everywhere", "default")
                return bool(found["status"]["readyReplicas"] == template["status"]["readyReplicas"] == 2)

            await eventually(spread, PATIENCE)
        finally:
            await hub.close()
