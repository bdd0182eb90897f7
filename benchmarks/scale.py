"""What one change costs with few and with many workloads and clusters, counted in function calls: no machine differs.

A control plane in memory with members in the same process carries some workloads; then an action is taken a few times
while every call of a Python or C function is counted, until nothing is written any more. What grows with the number of
workloads or clusters although the action concerns one of them is a cliff. Larger sizes:

    KARMADA_BENCH_CLUSTERS=100 KARMADA_BENCH_WORKLOADS=2000 python -m benchmarks scale
"""

import asyncio
import cProfile
import logging
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import uvloop

from benchmarks.propagation import DEPLOYMENTS, NAMESPACES, POLICIES
from benchmarks.result import Result
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.machinery.client import Client
from karmada.machinery.transport import GroupVersionResource, JSONObject, Transport
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions

CLUSTERS = int(os.environ.get("KARMADA_BENCH_CLUSTERS", "20"))
WORKLOADS = int(os.environ.get("KARMADA_BENCH_WORKLOADS", "200"))
SHARE = 4
"""How many times fewer there are in what is compared with."""
TIMES = 5
"""How often each action is taken."""
BATCH = 20
QUIET = 2.0
"""Seconds without a write after which an action is over: reports of Works are gathered for up to one."""
LOOKS, BUSY = 8, 0.2
"""How often that is looked at, and the share of a core that is no work in between."""
NAMESPACE = "bench"
TYPE = GroupVersionResource("cluster.karmada.io", "v1alpha1", "clusters")
Action = Callable[[Client], Awaitable[None]]
Counts = dict[str, float]


def run() -> list[Result]:
    """All figures."""
    logging.disable(logging.WARNING)  # a control plane that is taken down in the middle of things complains
    try:
        few = uvloop.run(_counted(CLUSTERS // SHARE, WORKLOADS // SHARE))
        workloads = uvloop.run(_counted(CLUSTERS // SHARE, WORKLOADS))
        clusters = uvloop.run(_counted(CLUSTERS, WORKLOADS // SHARE))
    finally:
        logging.disable(logging.NOTSET)
    figures = []
    for name, calls in few.items():
        limit = None if name in _CONCERN_ALL else SHARE / 2
        figures += [
            Result(f"{name}: calls at {CLUSTERS // SHARE} clusters, {WORKLOADS // SHARE} workloads", calls, ""),
            Result(f"{name}: times as many at {WORKLOADS} workloads", workloads[name] / calls, "", limit),
            Result(f"{name}: times as many at {CLUSTERS} clusters", clusters[name] / calls, "", limit),
        ]
    return figures


async def _counted(clusters: int, workloads: int) -> Counts:
    async with AsyncExitStack() as stack:
        members: dict[str, ApiServer] = {}

        async def open_member(cluster: Cluster) -> Transport:
            return members[cluster.metadata.name].direct(ADMIN)

        plane = await stack.enter_async_context(ControlPlane(ControlPlaneOptions(), open_member))
        for name in (f"member{number:04d}" for number in range(clusters)):
            members[name] = await stack.enter_async_context(ApiServer(ApiServerOptions(controllers=False)))
            await plane.client.resource(TYPE).create({"metadata": {"name": name}, "spec": {"syncMode": "Push"}})
        await plane.client.resource(NAMESPACES).create({"metadata": {"name": NAMESPACE}})
        await plane.client.resource(POLICIES).create(_policy())
        await _still(plane)
        for first in range(0, workloads, BATCH):
            for number in range(first, min(first + BATCH, workloads)):
                await plane.client.resource(DEPLOYMENTS).create(_deployment(number))
            await asyncio.sleep(0.1)
        await _still(plane)
        return {name: await _calls(plane, action) / TIMES for name, action in _ACTIONS.items()}


async def _calls(plane: ControlPlane, action: Action) -> int:
    """Function calls until an action and what follows from it are over."""
    profile = cProfile.Profile()
    profile.enable()
    await action(plane.client)
    await _still(plane)
    profile.disable()
    return sum(entry.callcount for entry in profile.getstats())


async def _still(plane: ControlPlane) -> None:
    """Wait until nothing is written any more, and nothing is left to look at."""
    last, calm = -1, 0
    while calm < LOOKS:
        used = time.process_time()
        await asyncio.sleep(QUIET / LOOKS)
        idle = time.process_time() - used < BUSY * QUIET / LOOKS
        calm = calm + 1 if idle and plane.server.store.revision == last else 0
        last = plane.server.store.revision


async def _create(hub: Client) -> None:
    for number in range(TIMES):
        await hub.resource(DEPLOYMENTS).create(_deployment(10**6 + number))


async def _edit(hub: Client) -> None:
    change = {"spec": {"template": {"metadata": {"annotations": {"edited": "yes"}}}}}
    for number in range(TIMES):
        await hub.resource(DEPLOYMENTS).patch(_name(10**6 + number), change, NAMESPACE)


async def _delete(hub: Client) -> None:
    for number in range(TIMES):
        await hub.resource(DEPLOYMENTS).delete(_name(10**6 + number), NAMESPACE)


async def _report(hub: Client) -> None:
    for number in range(TIMES):
        summary = {"allocatable": {"cpu": str(100 + number), "memory": "100Gi", "pods": "110"}}
        await hub.resource(TYPE).patch("member0001", {"status": {"resourceSummary": summary}}, subresource="status")


async def _label(hub: Client) -> None:
    for number in range(TIMES):
        await hub.resource(TYPE).patch("member0001", {"metadata": {"labels": {"number": str(number)}}})


_ACTIONS: dict[str, Action] = {
    "a Deployment created": _create,
    "a Deployment edited": _edit,
    "a Deployment deleted": _delete,
    "a cluster that reports": _report,
    "a cluster that is labelled": _label,
}
_CONCERN_ALL = ("a cluster that is labelled",)
"""What may move any workload: all of them are looked at."""


def _name(number: int) -> str:
    return f"d{number:07d}"


def _policy() -> JSONObject:
    placement = {
        "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 3, "maxGroups": 3}],
        "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"},
    }
    selectors = [{"apiVersion": "apps/v1", "kind": "Deployment"}]
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": "all", "namespace": NAMESPACE},
        "spec": {"resourceSelectors": selectors, "placement": placement},
    }


def _deployment(number: int) -> JSONObject:
    marks = {"app": _name(number)}
    pod = {"metadata": {"labels": marks}, "spec": {"containers": [{"name": "nginx", "image": "nginx"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": _name(number), "namespace": NAMESPACE, "labels": marks},
        "spec": {"replicas": 3, "selector": {"matchLabels": marks}, "template": pod},
    }
