"""Large members: what their nodes and pods take in the control plane, summaries, models and estimates included.

    KARMADA_BENCH_CLUSTERS=100 KARMADA_BENCH_NODES=5000 KARMADA_BENCH_PODS=10000 python -m benchmarks large_members

All members are served by one stub (`stub_members`), which makes their lists from one node and one pod by renaming;
names, labels and owners differ as they would. The control plane is a process of its own, with the estimators of all
members in it. What a change of one pod costs until the summary has it is measured in this process, with one member.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import cache, partial
from pathlib import Path
from statistics import median

import orjson
import psutil
import uvloop

from benchmarks.fleet_world import join
from benchmarks.membership import a_container
from benchmarks.propagation import BINDINGS, DEPLOYMENTS, NAMESPACES, POLICIES
from benchmarks.result import Result
from benchmarks.stub_members import Discovery, Stub, StubProcess, names
from karmada.api.cluster.v1alpha1 import Cluster, ResourceModel
from karmada.api.codec import from_tree
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL
from karmada.machinery.discovery import documents
from karmada.machinery.http.kubeconfig import load
from karmada.machinery.http.target import Target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.transport import JSONObject
from karmada.membership.connections import MemberConnection, connection_of
from karmada.membership.models import DEFAULT_MODELS
from karmada.membership.summary import Summary
from karmada.standalone.children import Child
from karmada.testing.stage.federation import eventually

CLUSTERS = int(os.environ.get("KARMADA_BENCH_CLUSTERS", "5"))
NODES = int(os.environ.get("KARMADA_BENCH_NODES", "1000"))
PODS = int(os.environ.get("KARMADA_BENCH_PODS", "2000"))
CHANGES, SECONDS = 20, 20.0
START, PATIENCE = 300.0, 900.0
NAMESPACE, NAME = "bench", "web"


def run() -> list[Result]:
    """All figures."""
    return [*uvloop.run(_change()), *uvloop.run(_measure())]


class Members(Stub):
    """Members with nodes and pods."""

    def fixture(self, member: str, resource: str) -> Iterator[bytes]:
        """The nodes or pods of a member."""
        make, count = {"nodes": (node, NODES), "pods": (pod, PODS)}.get(resource, (node, 0))
        return (make(member, number) for number in range(count))

    def finish(self, member: str, number: int) -> None:
        """Have a pod end."""
        body = orjson.loads(pod(member, number))
        body["status"]["phase"] = "Succeeded"
        self.put(member, "api/v1", "pods", body)

    def followed(self, resource: str) -> int:
        """How many watches of a resource there are in all members."""
        return sum(len(found.watchers) for (_, _, name), found in self.collections.items() if name == resource)


def node(member: str, number: int) -> bytes:
    """A node with what a kubelet writes into it."""
    return _node() % {b"member": member.encode(), b"number": b"%05d" % number, b"revision": b"%d" % (number + 1)}


def pod(member: str, number: int) -> bytes:
    """A pod of a ReplicaSet of ten."""
    marks = {b"member": member.encode(), b"number": b"%05d" % number, b"node": b"%05d" % (number % NODES)}
    return _pod() % {**marks, b"set": b"%05d" % (number // 10), b"revision": b"%d" % (NODES + number + 1)}


_UID = "%(number)s000-0000-4000-8000-%(member)s0"
_TIME = "2026-11-17T08:00:00Z"


@cache
def _node() -> bytes:
    amounts = {"cpu": "16", "memory": "64Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    images = [{"names": [f"registry.example/app-{n}:v1"], "sizeBytes": 10_000_000 + n} for n in range(20)]
    name = "%(member)s-node-%(number)s"
    marks = {f"example.com/label-{n}": "x" for n in range(12)} | {"kubernetes.io/hostname": name}
    conditions = [
        {
            "type": kind,
            "status": "True" if kind == "Ready" else "False",
            "reason": f"Kubelet{kind}",
            "message": "x" * 60,
            "lastTransitionTime": _TIME,
            "lastHeartbeatTime": _TIME,
        }
        for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]
    metadata = {
        "name": name,
        "uid": _UID,
        "resourceVersion": "%(revision)s",
        "creationTimestamp": _TIME,
        "labels": marks,
    }
    status = {"allocatable": amounts, "capacity": amounts, "conditions": conditions, "images": images}
    return orjson.dumps({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}, "status": status})


@cache
def _pod() -> bytes:
    container, volumes = a_container()
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "app-%(set)s", "uid": "set-%(member)s-%(set)s"}
    metadata = {
        "name": "app-%(set)s-%(number)s",
        "namespace": "default",
        "uid": _UID,
        "resourceVersion": "%(revision)s",
        "creationTimestamp": _TIME,
        "labels": {"app": "app-%(set)s", "pod-template-hash": "5d59d67564"},
        "ownerReferences": [owner | {"controller": True}],
    }
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": _TIME}
        for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    ]
    spec = {"nodeName": "%(member)s-node-%(node)s", "containers": [container], "volumes": volumes}
    status = {"phase": "Running", "conditions": conditions}
    return orjson.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status})


async def _change() -> list[Result]:
    """CPU of the first count, and of one pod's end until the summary has it."""
    models = [from_tree(model, ResourceModel) for model in DEFAULT_MODELS]
    async with StubProcess(Members, await _discovery()) as stub:
        member = names(1)[0]
        connection = connection_of(member, HttpTransport(Target(f"{stub.address}/{member}")), REAL)
        used = time.process_time()
        summary = await connection.count(models)
        first = time.process_time() - used
        assert summary.nodes.total_num == NODES
        spent = []
        for number in range(CHANGES):
            before, used = summary, time.process_time()
            await stub.call("finish", member, number)
            summary = await eventually(partial(_other, connection, models, before), PATIENCE, 0.01)
            spent.append(time.process_time() - used)
        await connection.close()
    size = f"{NODES} nodes, {PODS} pods"
    return [
        Result(f"{size}: CPU of the first load and count", 1e3 * first, "ms"),
        Result(f"{size}: CPU of a pod's end, until the summary has it", 1e3 * median(spent), "ms", 10),
    ]


async def _other(connection: MemberConnection, models: list[ResourceModel], before: Summary) -> Summary | None:
    summary = await connection.count(models)
    return None if summary is before else summary


async def _discovery() -> Discovery:
    async with ApiServer(ApiServerOptions(controllers=False)) as server:
        return Discovery(*await documents(server.direct(ADMIN)))


@asynccontextmanager
async def _control() -> AsyncIterator[tuple[Client, psutil.Process]]:
    """A control plane that asks estimators, without members."""
    with tempfile.TemporaryDirectory(prefix="karmada-bench-") as folder:
        arguments = ["--data", f"{folder}/control", "--enable-scheduler-estimator=true"]
        child = Child("control", ["karmada.standalone.control_plane_main", *arguments], Path(folder) / "log")
        try:
            ready = await child.start(START)
            hub = Client(HttpTransport(load([Path(ready["kubeconfig"])]).target()))
            yield hub, psutil.Process(child.pid)
            await hub.close()
        finally:
            await child.stop()


async def _measure() -> list[Result]:
    async with StubProcess(Members, await _discovery()) as stub, _control() as (hub, process):
        idle = _memory(process)
        began = time.perf_counter()
        for name in names(CLUSTERS):
            await join(hub, name, f"{stub.address}/{name}")
        await eventually(partial(_counted, hub), PATIENCE, 1.0)
        counted, summaries = time.perf_counter() - began, _memory(process)
        await hub.resource(NAMESPACES).create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        )
        await hub.resource(POLICIES).create(_policy())
        await _divided(hub, f"{NAME}0")
        await eventually(partial(_estimating, stub), PATIENCE, 1.0)
        await asyncio.sleep(10)
        began = time.perf_counter()
        await _divided(hub, f"{NAME}1")
        divided = time.perf_counter() - began
        full = _memory(process)
        steady = await _spent(process)
        for member in names(CLUSTERS):
            for number in range(CHANGES):
                await stub.call("finish", member, number)
        changing = await _spent(process)
    size = f"{CLUSTERS} members x {NODES} nodes x {PODS} pods"
    return [
        Result(f"{size}: joined until all are counted", counted, "s"),
        Result(f"{size}: memory on top with summaries and models", summaries - idle, "MB"),
        Result(f"{size}: memory with estimators too", full, "MB", 2000),
        Result("a Deployment that is divided by what all estimators say", divided, "s"),
        Result("large members: steady state", 100 * steady / SECONDS, "% of a core"),
        Result("large members: CPU of a pod's end in a member", 1e3 * (changing - steady) / CLUSTERS / CHANGES, "ms"),
    ]


async def _counted(hub: Client) -> bool:
    found = (cluster.status.node_summary for cluster in (await hub.of(Cluster).list()).items)
    return all(summary is not None and summary.total_num == NODES for summary in found)


async def _estimating(stub: StubProcess) -> bool:
    """Whether the ReplicaSets of all members are followed, which nobody reads but estimators."""
    followed: int = await stub.call("followed", "replicasets")
    return followed >= CLUSTERS


async def _divided(hub: Client, name: str) -> None:
    """Create a Deployment, and wait until all clusters have a share."""

    async def look() -> bool:
        binding = await hub.resource(BINDINGS).get(f"{name}-deployment", NAMESPACE)
        return len(binding["spec"].get("clusters") or ()) == CLUSTERS

    await hub.resource(DEPLOYMENTS).create(_deployment(name))
    await eventually(look, PATIENCE, 0.05)


async def _spent(process: psutil.Process) -> float:
    used = sum(process.cpu_times()[:2])
    await asyncio.sleep(SECONDS)
    return float(sum(process.cpu_times()[:2]) - used)


def _memory(process: psutil.Process) -> float:
    return float(process.memory_info().rss) / 1e6


def _policy() -> JSONObject:
    division: JSONObject = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}
    division |= {"weightPreference": {"dynamicWeight": "AvailableReplicas"}}
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": "all", "namespace": NAMESPACE},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
            "placement": {"replicaScheduling": division},
        },
    }


def _deployment(name: str) -> JSONObject:
    marks, requests = {"app": name}, {"requests": {"cpu": "1", "memory": "1Gi"}}
    container = {"name": "nginx", "image": "nginx", "resources": requests}
    pod_ = {"metadata": {"labels": marks}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": marks},
        "spec": {"replicas": 10 * CLUSTERS, "selector": {"matchLabels": marks}, "template": pod_},
    }
