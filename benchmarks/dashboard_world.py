"""A control plane with invented clusters and workloads in a process of its own, and one user for every dashboard.

No controller runs and nothing is scheduled: what a process spends is what its API and its dashboard spend.
"""

import asyncio
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from karmada.controllers.selection import Selection
from karmada.machinery.client import Client
from karmada.machinery.transport import GroupVersionResource, JSONObject

ACCOUNTS = GroupVersionResource("", "v1", "serviceaccounts")
ROLES = GroupVersionResource("rbac.authorization.k8s.io", "v1", "clusterroles")
ROLE_BINDINGS = GroupVersionResource("rbac.authorization.k8s.io", "v1", "clusterrolebindings")
CLUSTERS = GroupVersionResource("cluster.karmada.io", "v1alpha1", "clusters")
BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
READING = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}
SPREAD = 3
"""Clusters of a workload."""
AT_ONCE = 64


class World(NamedTuple):
    """The control plane as the benchmark sees it."""

    endpoint: str
    tokens: list[str]
    pid: int
    pipe: Connection

    def change(self, per_second: float, seconds: float) -> None:
        """Begin to change workloads; `changed` waits for the end."""
        self.pipe.send((per_second, seconds))

    def changed(self) -> int:
        """How many changes were made."""
        made: int = self.pipe.recv()
        return made


@contextmanager
def world(clusters: int, workloads: int, users: int) -> Iterator[World]:
    """A running control plane."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_run, args=(there, clusters, workloads, users), daemon=True)
    process.start()
    try:
        endpoint, tokens = here.recv()
        yield World(endpoint, tokens, process.pid or 0, here)
    finally:
        process.terminate()
        process.join()


def _run(pipe: Connection, clusters: int, workloads: int, users: int) -> None:
    import uvloop

    uvloop.run(_serve(pipe, clusters, workloads, users))


async def _serve(pipe: Connection, clusters: int, workloads: int, users: int) -> None:
    from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions

    options = ControlPlaneOptions(selection=Selection(()), search=False, dashboard=True)
    async with ControlPlane(options) as plane:
        hub = plane.client
        names = [f"member{number:04}" for number in range(clusters)]
        await _each([_cluster(hub, name, number) for number, name in enumerate(names)])
        await _each([_workload(hub, number, names) for number in range(workloads)])
        await hub.resource(ROLES).create({"metadata": {"name": "looking"}, "rules": [READING]})
        tokens = [await _token(hub, f"user{number}") for number in range(users)]
        pipe.send((await plane.listen(), tokens))
        loop = asyncio.get_running_loop()
        while True:
            per_second, seconds = await loop.run_in_executor(None, pipe.recv)
            pipe.send(await _change(hub, workloads, names, per_second, seconds))


async def _each(work: list[Any]) -> None:
    for start in range(0, len(work), AT_ONCE):
        await asyncio.gather(*work[start : start + AT_ONCE])


async def _change(hub: Client, workloads: int, clusters: list[str], per_second: float, seconds: float) -> int:
    """Scale one workload after another, at an even pace: the template, and its binding with a move."""
    loop = asyncio.get_running_loop()
    begun, made = loop.time(), 0
    while made < per_second * seconds:
        number, each = made % workloads, 2 + int(begun + made) % 7
        scaled = {"replicas": each * SPREAD}
        await hub.resource(DEPLOYMENTS).patch(_name(number), {"spec": scaled}, "default")
        moved = {"spec": {**scaled, "clusters": _shares(number, clusters, each)}}
        await hub.resource(BINDINGS).patch(f"{_name(number)}-deployment", moved, "default")
        made += 1
        await asyncio.sleep(max(0.0, begun + made / per_second - loop.time()))
    return made


async def _cluster(hub: Client, name: str, number: int) -> None:
    made = {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name},
        "spec": {"syncMode": "Push", "apiEndpoint": "https://127.0.0.1:1", "region": f"region{number % 7}"},
    }
    await hub.resource(CLUSTERS).create(made)
    ready = {
        "type": "Ready",
        "status": "True" if number % 20 else "False",
        "reason": "ClusterReady" if number % 20 else "ClusterNotReachable",
        "message": "cluster is healthy and ready to accept workloads",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    summary = {
        "allocatable": {"cpu": "96", "memory": "384Gi", "pods": "1100"},
        "allocated": {"cpu": f"{number % 90}", "memory": "120Gi", "pods": "300"},
    }
    status = {"kubernetesVersion": "v1.33.1", "conditions": [ready], "resourceSummary": summary}
    nodes = {"nodeSummary": {"totalNum": 10, "readyNum": 10}}
    await hub.resource(CLUSTERS).patch(name, {"status": status | nodes}, subresource="status")


def _name(number: int) -> str:
    return f"shop-{number:05}"


def _shares(number: int, clusters: list[str], replicas: int) -> list[JSONObject]:
    return [
        {"name": clusters[(number * 7 + step) % len(clusters)], "replicas": replicas}
        for step in range(min(SPREAD, len(clusters)))
    ]


async def _workload(hub: Client, number: int, clusters: list[str]) -> None:
    name, shares = _name(number), _shares(number, clusters, 1)
    template: JSONObject = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "spec": {
            "replicas": SPREAD,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "nginx:1.27"}]},
            },
        },
    }
    made = await hub.resource(DEPLOYMENTS).create(template)
    subject = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": name}
    binding: JSONObject = {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        "metadata": {"name": f"{name}-deployment", "namespace": "default"},
        "spec": {
            "resource": {**subject, "uid": made["metadata"]["uid"]},
            "replicas": SPREAD,
            "schedulerName": "nobody",
            "clusters": shares,
        },
    }
    await hub.resource(BINDINGS).create(binding)
    reported = [
        {"clusterName": one["name"], "applied": True, "health": "Healthy", "status": {"readyReplicas": 1}}
        for one in shares
    ]
    status = {"status": {"aggregatedStatus": reported}}
    await hub.resource(BINDINGS).patch(f"{name}-deployment", status, "default", subresource="status")


async def _token(hub: Client, name: str) -> str:
    await hub.resource(ACCOUNTS).create({"metadata": {"name": name, "namespace": "default"}})
    subject = {"kind": "ServiceAccount", "name": name, "namespace": "default"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "looking"}
    await hub.resource(ROLE_BINDINGS).create({"metadata": {"name": name}, "roleRef": role, "subjects": [subject]})
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 86400}}
    made = await hub.resource(ACCOUNTS).submit(name, "token", request, "default")
    found: str = made["status"]["token"]
    return found
