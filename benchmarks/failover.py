"""A member whose API server stops: when its replicas run elsewhere, alone or beside a reference.

    KARMADA_BENCH_WORKLOADS=500 python -m benchmarks failover [--against-reference FOLDER]

Deployments of three replicas are divided one to one to one over three simulated members; a ClusterTaintPolicy gives
a cluster that is not Ready a NoExecute taint; evictions are not paced. Nobody listens any more at the first member's
address. Timers are the usual ones, the same on both sides; what counts of the move begins when they have expired, with
the taint, and ends when the other two members have all replicas. Workload controllers of the members are off.
"""

import asyncio
import os
import time
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import NamedTuple

import uvloop

from benchmarks.beside import CLUSTERS, Plane, ours, reference
from benchmarks.propagation import CONCURRENCY, DEPLOYMENTS, Load, revision
from benchmarks.result import Result
from karmada.machinery.client import Client
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource, JSONObject

WORKLOADS = int(os.environ.get("KARMADA_BENCH_WORKLOADS", "500"))
REPLICAS = 3
RATE = 100_000
"""Evictions a second: none waits for another."""
TIMEOUT = 600.0
REST = 15.0
"""Seconds between the load and the fault: status comes back, events are written."""
NAMESPACE, TAINT = "failover", "failover.example/down"
TAINT_POLICIES = GroupVersionResource("policy.karmada.io", "v1alpha1", "clustertaintpolicies")
FLEET: JSONObject = {"members": [{"name": f"sim{number}", "workloads": False} for number in (1, 2, 3)]}
MANAGER = f"--feature-gates=Failover=true --enable-no-execute-taint-eviction=true --resource-eviction-rate={RATE}"
ADMISSION = "--allow-no-execute-taint-policy=true"
POLICY: JSONObject = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "ClusterTaintPolicy",
    "metadata": {"name": "down"},
    "spec": {
        "addOnConditions": [{"conditionType": "Ready", "operator": "NotIn", "statusValues": ["True"]}],
        "removeOnConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["True"]}],
        "taints": [{"key": TAINT, "effect": "NoExecute"}],
    },
}


class Move(NamedTuple):
    """Seconds from one step to the next, and the CPU of the control plane for the last one."""

    noticed: float
    """From the fault until the cluster is not Ready."""
    tainted: float
    first: float
    """From the taint until the first workload has all replicas elsewhere."""
    last: float
    cpu: float

    @property
    def rate(self) -> float:
        """Workloads a second after the timers."""
        return WORKLOADS / self.last


def run() -> list[Result]:
    """Ours alone."""
    return _figures("ours", uvloop.run(_measure(ours(FLEET, [*MANAGER.split(), ADMISSION]))))


def beside(folder: Path) -> list[Result]:
    """The reference, then ours."""
    flags = {"CM_ARGS": MANAGER, "WEBHOOK_ARGS": ADMISSION}
    theirs = uvloop.run(_measure(reference(folder, FLEET, flags)))
    mine = uvloop.run(_measure(ours(FLEET, [*MANAGER.split(), ADMISSION])))
    return [
        *_figures("reference", theirs),
        *_figures("ours", mine),
        Result("failover: times the reference's rate", mine.rate / theirs.rate, "", 10, higher_is_better=True),
        Result("failover: CPU a workload, share of the reference's", mine.cpu / theirs.cpu, ""),
    ]


def _figures(side: str, move: Move) -> list[Result]:
    return [
        Result(f"failover, {side}: from the fault until not Ready", move.noticed, "s"),
        Result(f"failover, {side}: from not Ready until the taint", move.tainted, "s"),
        Result(f"failover, {side}: from the taint until the first has moved", move.first, "s"),
        Result(f"failover, {side}: from the taint until {WORKLOADS} have moved", move.last, "s"),
        Result(f"failover, {side}: workloads moved a second", move.rate, "/s"),
        Result(f"failover, {side}: control plane, CPU a workload", 1e3 * move.cpu / WORKLOADS, "ms"),
    ]


async def _measure(opened: AbstractAsyncContextManager[Plane]) -> Move:
    async with opened as plane:
        victim, *others = plane.members
        async with Load(plane.hub, plane.members, NAMESPACE) as load:
            await load.prepare()
            await plane.hub.resource(TAINT_POLICIES).create(POLICY)
            await load.create(WORKLOADS, CONCURRENCY)
        await asyncio.sleep(REST)
        replicas = Replicas({name: plane.members[name] for name in others})
        async with asyncio.timeout(TIMEOUT), asyncio.TaskGroup() as group:
            following = [group.create_task(replicas.follow(name)) for name in others]
            began = time.perf_counter()
            await plane.request_control("PATCH", f"/v1/members/{victim}/faults", {"down": True})
            lost, tainted, spent = await _lost(plane, victim)
            await replicas.everything.wait()
            spent = plane.cpu() - spent
            for task in following:
                task.cancel()
        moved = sorted(replicas.moved.values())
        return Move(lost - began, tainted - lost, moved[0] - tainted, moved[-1] - tainted, spent)


async def _lost(plane: Plane, name: str) -> tuple[float, float, float]:
    """When the cluster was not Ready, when it had its taint, and the CPU that the control plane had used by then."""
    clusters = plane.hub.resource(CLUSTERS)
    lost = 0.0
    listed = await clusters.list()
    async with clusters.watch(resource_version=listed.resource_version) as batches:
        async for batch in batches:
            for event in batch:
                cluster = event.object
                if cluster["metadata"]["name"] != name:
                    continue
                conditions = {one["type"]: one["status"] for one in cluster["status"].get("conditions") or ()}
                if not lost and conditions.get("Ready") != "True":
                    lost = time.perf_counter()
                if any(taint["key"] == TAINT for taint in cluster["spec"].get("taints") or ()):
                    return lost, time.perf_counter(), plane.cpu()
    raise RuntimeError("the watch of clusters has ended")


class Replicas:
    """When the replicas of all workloads were in the members that are left."""

    def __init__(self, members: dict[str, Client]) -> None:
        self._members = members
        self._replicas: dict[str, dict[str, int]] = {}
        self.moved: dict[str, float] = {}
        self.everything = asyncio.Event()

    async def follow(self, member: str) -> None:
        """Count the replicas that a member is asked for, for ever."""
        collection = self._members[member].resource(DEPLOYMENTS)
        for deployment in (await collection.list(Scope(NAMESPACE))).items:
            self._note(member, deployment)
        now = await revision(self._members[member])
        async with collection.watch(Scope(NAMESPACE), now) as batches:
            async for batch in batches:
                for event in batch:
                    self._note(member, event.object)

    def _note(self, member: str, deployment: JSONObject) -> None:
        name = deployment["metadata"]["name"]
        shares = self._replicas.setdefault(name, {})
        shares[member] = deployment["spec"]["replicas"]
        if sum(shares.values()) == REPLICAS and name not in self.moved:
            self.moved[name] = time.perf_counter()
            if len(self.moved) == WORKLOADS:
                self.everything.set()
