"""A federation of many clusters with many workloads, made from one Deployment that travels to five clusters.

Its objects are repeated in the databases, of the control plane and of the simulated members, and in the stub, under
other names, identities and clusters, the same number in each cluster.
"""

import asyncio
import os

import orjson

from benchmarks.failover import POLICY, TAINT_POLICIES
from benchmarks.propagation import DEPLOYMENTS, NAMESPACES, POLICIES, WORKS, settled
from benchmarks.restart import FIRST, NAMESPACE, Nobody, Renames, identities_of, name_of, renaming, repeat, split
from benchmarks.stub_members import Stub, StubProcess, names, uid
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.names import CLUSTER_NAMESPACE as SPACE
from karmada.api.names import EXECUTION_SPACE_PREFIX
from karmada.apiserver.storage.sqlite import SqliteStorage
from karmada.controllers.clusters import is_ready
from karmada.machinery.client import Client
from karmada.machinery.transport import JSONObject
from karmada.membership import objects
from karmada.standalone.federation import CONTEXT, Federation
from karmada.standalone.layout import Layout
from karmada.testing.stage.federation import eventually

CLUSTERS = int(os.environ.get("KARMADA_BENCH_CLUSTERS", "50"))
WORKLOADS = int(os.environ.get("KARMADA_BENCH_WORKLOADS", "500"))
EACH = 5
"""Clusters of a workload."""
REAL = max(CLUSTERS // 10, EACH)
"""Simulated ones among them: the scheduler takes the first where all are alike."""
PATIENCE = 600.0


class Members(Stub):
    """Members that can be given copies of a Deployment."""

    def fill(self, model: "Model", numbers: dict[str, list[int]]) -> None:
        """Have copies of a Deployment in each member."""
        for member, some in numbers.items():
            for number in some:
                self.put(member, "apis/apps/v1", "deployments", orjson.loads(model.completed(number, member)))


class Model:
    """What is repeated: where the first Deployment is, and what it looks like in members."""

    def __init__(self, works: list[JSONObject], completed: bytes) -> None:
        """`completed`: the manifest of the first of the Works as a simulated member has it."""
        self._clusters = [_cluster_of(work) for work in works]
        self._completed = completed
        self._own = [identities_of([orjson.dumps(work["spec"]["workload"]["manifests"][0])]) for work in works]

    def renamed(self, number: int) -> Renames:
        """What the clusters of a copy are called."""
        pairs = zip(self._clusters, clusters_of(number), strict=True)
        return {old.encode(): new.encode() for old, new in pairs}

    def completed(self, number: int, member: str) -> bytes:
        """A copy as a simulated member has it, which completes what it is given."""
        position = clusters_of(number).index(member)
        # The Works of one binding have identities of their own.
        (mine,), (other,) = self._own[0] - self._own[position] or {b""}, self._own[position] - self._own[0] or {b""}
        body = self._completed.replace(self._clusters[0].encode(), self._clusters[position].encode())
        body = body.replace(mine, other) if mine else body
        identities = self._own[position] | identities_of([self._completed])
        return renaming(number, identities, self.renamed(number))(body)


def clusters_of(number: int) -> list[str]:
    """The clusters of a Deployment."""
    step = CLUSTERS // EACH
    return sorted(f"member{(number + each * step) % CLUSTERS:05d}" for each in range(EACH))


def _numbers() -> dict[str, list[int]]:
    found: dict[str, list[int]] = {name: [] for name in names(CLUSTERS)}
    for number in range(1, WORKLOADS):
        for name in clusters_of(number):
            found[name].append(number)
    return found


def _cluster_of(work: JSONObject) -> str:
    return str(work["metadata"]["namespace"]).removeprefix(EXECUTION_SPACE_PREFIX)


async def prepare(made: Federation, stub: StubProcess) -> Model:
    """Join the stub's members, and have one Deployment travel."""
    hub = made.client(CONTEXT)
    limit = asyncio.Semaphore(16)

    async def one(name: str) -> None:
        async with limit:
            await join(hub, name, f"{stub.address}/{name}")

    await asyncio.gather(*(one(name) for name in names(CLUSTERS - REAL, REAL)))
    await eventually(lambda: _ready(hub), PATIENCE, 1.0)
    await hub.resource(NAMESPACES).create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    await hub.resource(TAINT_POLICIES).create(POLICY)
    await hub.resource(POLICIES).create(policy([]))
    await hub.resource(DEPLOYMENTS).create(_deployment())
    works: list[JSONObject] = await eventually(lambda: _arrived(hub), PATIENCE, 0.5)
    await settled(hub)
    member = made.client(_cluster_of(works[0]))
    return Model(works, await member.encoded(DEPLOYMENTS).get(FIRST, NAMESPACE))


async def _ready(hub: Client) -> bool:
    return all(map(is_ready, (await hub.of(Cluster).list()).items))


async def _arrived(hub: Client) -> list[JSONObject]:
    """The Works of the first Deployment, in the order of their clusters, once all have a status."""
    listed = (await hub.resource(WORKS).list()).items
    works = sorted((work for work in listed if work["metadata"]["name"].startswith(FIRST)), key=_cluster_of)
    return works if len(works) == EACH and all("status" in work for work in works) else []


async def join(hub: Client, name: str, endpoint: str) -> None:
    """Make a member of the stub one of the control plane."""
    for secret in (objects.secret(each, SPACE, {"token": b"token"}) for each in objects.secret_names(name)):
        await hub.resource(objects.SECRETS).create(secret, SPACE)
    own, other = ({"namespace": SPACE, "name": each} for each in objects.secret_names(name))
    spec = {"syncMode": "Push", "id": uid(name).decode(), "apiEndpoint": endpoint, "insecureSkipTLSVerification": True}
    spec |= {"secretRef": own, "impersonatorSecretRef": other}
    await hub.resource(objects.CLUSTERS).create(
        {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name}, "spec": spec}
    )


def policy(excluded: list[str]) -> JSONObject:
    """Deployments, each in five clusters of those that are not excluded."""
    spread = [{"spreadByField": "cluster", "minGroups": EACH, "maxGroups": EACH}]
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": "all", "namespace": NAMESPACE},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
            "placement": {"clusterAffinity": {"exclude": excluded}, "spreadConstraints": spread},
        },
    }


def _deployment() -> JSONObject:
    marks = {"app": FIRST}
    pod = {"metadata": {"labels": marks}, "spec": {"containers": [{"name": "nginx", "image": "nginx"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": marks}, "template": pod}
    metadata = {"name": FIRST, "namespace": NAMESPACE, "labels": marks}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


async def repeat_all(layout: Layout, model: Model, stub: StubProcess) -> None:
    """Have all workloads, in databases that nobody uses now."""
    numbers = _numbers()
    await repeat(layout.control_plane / "karmada.db", WORKLOADS, model.renamed)
    await stub.call("fill", model, {name: numbers[name] for name in names(CLUSTERS - REAL, REAL)})
    for name in names(REAL):
        storage = SqliteStorage(next((layout.members / name).glob("*.db")))
        await storage.open(Nobody())
        for number in numbers[name]:
            key = f"/apps/deployments/{NAMESPACE}/{name_of(number)}"
            await storage.put(key, split(model.completed(number, name)), 0)
        await storage.close()
