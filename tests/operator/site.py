"""A host cluster whose pods are processes, with the operator in it, and what tests do there."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson

from karmada.api.version import IMAGE
from karmada.install.operator import operator
from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError, NotFound
from karmada.machinery.http.kubeconfig import from_bytes, load
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource
from karmada.membership.join import describe, join
from karmada.simulator.fleet import Fleet
from karmada.simulator.spec import parse

SPACE = "karmada-system"
PATIENCE = 150.0
KARMADAS = GroupVersionResource("operator.karmada.io", "v1alpha1", "karmadas")
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
STATEFUL_SETS = GroupVersionResource("apps", "v1", "statefulsets")
POLICIES = GroupVersionResource("policy.karmada.io", "v1alpha1", "propagationpolicies")
CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
PODS, SECRETS, SERVICES = (GroupVersionResource("", "v1", plural) for plural in ("pods", "secrets", "services"))
BUDGETS = GroupVersionResource("policy", "v1", "poddisruptionbudgets")
NETWORK_POLICIES = GroupVersionResource("networking.k8s.io", "v1", "networkpolicies")
API_SERVICES = GroupVersionResource("apiregistration.k8s.io", "v1", "apiservices")
SEARCH = "v1alpha1.search.karmada.io"
ADDED = {SEARCH, "v1beta1.metrics.k8s.io", "v1beta2.custom.metrics.k8s.io"}
"""Group versions that addons serve."""
MADE = (DEPLOYMENTS, STATEFUL_SETS, PODS, SECRETS, SERVICES, BUDGETS, NETWORK_POLICIES)
WORKLOAD: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "nginx"}]},
        },
    },
}
POLICY: dict[str, Any] = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "PropagationPolicy",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}],
        "placement": {"clusterAffinity": {"clusterNames": ["member1"]}},
    },
}


async def eventually(holds: Callable[[], Awaitable[Any]], seconds: float = PATIENCE) -> Any:
    """What a function gives as soon as it gives something; failures of servers are waited through."""
    last: object = None
    try:
        async with asyncio.timeout(seconds):
            while True:
                try:
                    if found := await holds():
                        return found
                except ApiError as error:
                    last = error
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"it did not happen; the last failure: {last}") from None


async def available(hub: Client) -> set[str]:
    """The group versions that a control plane serves, its own and those of components."""
    found = (await hub.resource(API_SERVICES).list()).items
    return {one["metadata"]["name"] for one in found if one["status"]["conditions"][0]["status"] == "True"}


class Site:
    """A host cluster, a member, and the operator at work in the host."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.host: Client = fleet["host"].inside
        self.member: Client = fleet["member1"].inside
        self.seen: set[int] = set()
        """Processes that stand for containers, all that were ever seen."""

    async def create(self, *trees: Mapping[str, Any]) -> None:
        for tree in trees:
            served = await self.host.mapper.of_kind(tree["apiVersion"], tree["kind"])
            await self.host.resource(served.type).create(dict(tree))

    async def order(self, karmada: Mapping[str, Any]) -> dict[str, Any]:
        """Create a Karmada object, as soon as its kind is served."""
        return dict(await eventually(lambda: self.host.resource(KARMADAS).create(dict(karmada))))

    async def ready(self, name: str, generation: int = 0) -> dict[str, Any]:
        """A Karmada object that is ready, in a generation at least."""

        async def there() -> dict[str, Any] | None:
            self.programs()
            found = await self.host.resource(KARMADAS).get(name, SPACE)
            status = found.get("status") or {}
            (condition,) = status.get("conditions") or [{"status": "", "reason": "", "message": ""}]
            assert condition["reason"] != "ValidationError", condition
            is_new = status.get("observedGeneration", 0) >= max(generation, found["metadata"]["generation"])
            return found if condition["status"] == "True" and is_new else None

        try:
            return dict(await eventually(there))
        except AssertionError as error:
            found = await self.host.resource(KARMADAS).get(name, SPACE)
            raise AssertionError(f"{found.get('status')}\n{self.last_lines()}") from error

    async def hub(self, karmada: Mapping[str, Any]) -> Client:
        """A client with the kubeconfig that the status names, at the address of the Service that it names."""
        secret = await self.host.resource(SECRETS).get(karmada["status"]["secretRef"]["name"], SPACE)
        config = orjson.loads(base64.b64decode(secret["data"]["karmada.config"]))
        name = karmada["status"]["apiServerService"]["name"]
        service = await self.host.resource(SERVICES).get(name, SPACE)
        cluster = config["clusters"][0]["cluster"]
        assert cluster["server"] == f"https://{name}.{SPACE}.svc:5443"
        cluster |= {"server": f"https://{service['spec']['clusterIP']}:5443", "tls-server-name": f"{name}.{SPACE}.svc"}
        return Client(HttpTransport(from_bytes(orjson.dumps(config)).target()))

    async def join(self, hub: Client) -> None:
        """Make the other cluster a member."""
        target = load([self.fleet.kubeconfig_path(self.fleet["member1"])]).target()
        await join(self.member, hub, describe("member1", target))

    async def spread(self, hub: Client) -> None:
        """Propagate a Deployment to the member and wait until its status is back."""
        await eventually(lambda: hub.resource(POLICIES).create(POLICY))
        await eventually(lambda: hub.resource(DEPLOYMENTS).create(WORKLOAD))
        await self.arrived(hub, 2)

    async def arrived(self, hub: Client, replicas: int) -> None:
        """Wait until the Deployment's replicas run in the member, and the control plane knows."""

        async def there() -> bool:
            copy = await self.member.resource(DEPLOYMENTS).get("web", "default")
            here = await hub.resource(DEPLOYMENTS).get("web", "default")
            states = [tree.get("status") or {} for tree in (copy, here)]
            return all(status.get("readyReplicas") == replicas for status in states)

        await eventually(there)

    async def made(self, name: str) -> list[str]:
        """What the host has of an instance."""
        found = []
        for type_ in MADE:
            items = (await self.host.resource(type_).list(Scope(SPACE, f"app.kubernetes.io/instance={name}"))).items
            found += [f"{type_.resource}/{item['metadata']['name']}" for item in items]
        return found

    async def removed(self, name: str) -> None:
        """Delete a Karmada object and wait until nothing of it is left."""
        await self.host.resource(KARMADAS).delete(name, SPACE)

        async def gone() -> bool:
            try:
                await self.host.resource(KARMADAS).get(name, SPACE)
            except NotFound:
                return not await self.made(name)
            return False

        await eventually(gone)

    def programs(self) -> list[str]:
        """The containers of the host that are processes now."""
        kubelet = self.fleet["host"].processes
        assert kubelet is not None
        every = [container for pod in kubelet.running.values() for container in pod.containers.values()]
        self.seen |= {container.pid for container in every if container.pid is not None}
        return sorted(container.name for container in every if container.pid is not None)

    def last_lines(self) -> str:
        """What the programs said last, for failures."""
        kubelet = self.fleet["host"].processes
        assert kubelet is not None
        logs = [(c.name, c.log()) for pod in kubelet.running.values() for c in pod.containers.values()]
        return "\n".join(f"== {name}\n{path.read_text()[-1500:]}" for name, path in logs if path.exists())

    def left(self) -> list[int]:
        """Processes that run still."""
        return [pid for pid in self.seen if Path(f"/proc/{pid}").exists()]


@asynccontextmanager
async def host_with_operator(folder: Path, programs: Mapping[str, str] | None = None) -> AsyncIterator[Site]:
    """A site whose operator runs, as its pod's own account; `programs` are files of etcd and Kubernetes."""
    processes = {"namespaces": [SPACE], "programs": dict(programs or {})}
    spec = parse({"members": [{"name": "host", "processes": processes}, {"name": "member1"}]})
    async with Fleet(spec, folder=folder / "clusters") as fleet:
        await fleet.listen()
        made = Site(fleet)
        await made.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
        for tree in operator(SPACE, IMAGE):
            await eventually(lambda tree=tree: _created(made, tree))
        yield made
    assert not made.left()


async def _created(site: Site, tree: dict[str, Any]) -> bool:
    await site.create(tree)
    return True
