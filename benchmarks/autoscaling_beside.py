"""FederatedHPA beside the reference: what autoscalers in a steady state cost two whole control planes.

    KARMADA_BENCH_AUTOSCALERS=200 python -m benchmarks autoscaling --against-reference FOLDER

Deployments of ten replicas are divided over five simulated members with running pods and a metrics API; pods use half
of what they ask for, which is the target, so that nothing is scaled. The cost is the CPU of the control plane's
processes over two intervals of 15 s with the FederatedHPAs, less what it used before they were created. Those of the
reference are asked through its metrics adapter, which is part of it then; ours needs none.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import uvloop

from benchmarks.autoscaling import HPAS, PERIOD, PODS
from benchmarks.beside import Plane, aggregated, ours, reference
from benchmarks.propagation import CONCURRENCY, DEPLOYMENTS, NAMESPACES, POLICIES, policy
from benchmarks.result import Result
from karmada.machinery.resource import Scope
from karmada.machinery.transport import JSONObject
from karmada.testing.stage.federation import eventually

AUTOSCALERS = int(os.environ.get("KARMADA_BENCH_AUTOSCALERS", "200"))
CLUSTERS = 5
NAMESPACE = "autoscaling"
PATIENCE = 900.0
REST = 30.0
"""Seconds until what was started is quiet."""
NODES = [{"count": max(2, AUTOSCALERS // 20), "cpu": "32"}]
FLEET: JSONObject = {"members": [{"name": f"sim{number + 1}", "nodePools": NODES} for number in range(CLUSTERS)]}
ADAPTER = ["metrics.k8s.io/v1beta1", "custom.metrics.k8s.io/v1beta2"]


class Cost(NamedTuple):
    """Of a control plane: shares of a core, and megabytes."""

    before: float
    share: float
    memory_before: float
    memory: float
    parts: dict[str, float]
    """The share of each process, with the autoscalers."""

    @property
    def added(self) -> float:
        """What the autoscalers add to the share."""
        return max(self.share - self.before, 1e-4)

    def results(self, side: str) -> list[Result]:
        """As lines of a table."""
        what = f"autoscaling, {side}: {AUTOSCALERS} FederatedHPAs x {CLUSTERS} clusters"
        parts = {name: share for name, share in self.parts.items() if len(self.parts) > 1 and share > 0.001}
        return [
            Result(f"{what}, CPU on top", 100 * self.added, "% of a core"),
            Result(f"{what}, CPU of the control plane", 100 * self.share, "% of a core"),
            *(Result(f"{what}, CPU of {name}", 100 * share, "% of a core") for name, share in parts.items()),
            Result(f"{what}, memory on top", self.memory - self.memory_before, "MB"),
            Result(f"{what}, memory of the control plane", self.memory, "MB"),
        ]


def beside(folder: Path) -> list[Result]:
    """The reference, then ours."""
    theirs = uvloop.run(_measure(_reference(folder)))
    mine = uvloop.run(_measure(ours(FLEET, [])))
    return [
        *theirs.results("reference"),
        *mine.results("ours"),
        Result("autoscaling: CPU on top, share of the reference's", mine.added / theirs.added, ""),
        Result("autoscaling: CPU of the control plane, share of the reference's", mine.share / theirs.share, ""),
        Result("autoscaling: memory of the control plane, share of the reference's", mine.memory / theirs.memory, ""),
    ]


@asynccontextmanager
async def _reference(folder: Path) -> AsyncIterator[Plane]:
    async with reference(folder, FLEET, {}) as plane:
        flags = ["--metrics-bind-address=0", f"--client-ca-file={folder}/run/pki/ca.crt"]
        async with aggregated(folder, plane.hub, "metrics-adapter", ADAPTER, flags) as (_, process):
            yield plane._replace(control={**plane.control, "metrics-adapter": process})


async def _measure(opened: AbstractAsyncContextManager[Plane]) -> Cost:
    async with opened as plane:
        await plane.hub.resource(NAMESPACES).create({"metadata": {"name": NAMESPACE}})
        await plane.hub.resource(POLICIES).create(policy(NAMESPACE, plane.members))
        await asyncio.sleep(2)
        slots = asyncio.Semaphore(CONCURRENCY)
        await asyncio.gather(*(_create(plane, slots, f"w{number}") for number in range(AUTOSCALERS)))
        await eventually(lambda: _running(plane), PATIENCE, 1.0)
        await asyncio.sleep(REST)
        memory, before = plane.memory(), await _shares(plane)
        for number in range(AUTOSCALERS):
            await plane.hub.resource(HPAS).create(_autoscaler(f"w{number}"), NAMESPACE)
        await eventually(lambda: _measured(plane), PATIENCE, 1.0)
        await asyncio.sleep(REST)
        after = await _shares(plane)
        await _measured(plane)
        return Cost(sum(before.values()), sum(after.values()), memory, plane.memory(), after)


async def _shares(plane: Plane) -> dict[str, float]:
    """What each process uses of a core, over two intervals."""
    before = {name: sum(process.cpu_times()[:2]) for name, process in plane.control.items()}
    await asyncio.sleep(2 * PERIOD)
    return {
        name: (sum(process.cpu_times()[:2]) - before[name]) / (2 * PERIOD) for name, process in plane.control.items()
    }


async def _create(plane: Plane, slots: asyncio.Semaphore, name: str) -> None:
    marks = {"app": name}
    request = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    pod = {
        "metadata": {"labels": marks},
        "spec": {"containers": [{"name": "app", "image": "nginx", "resources": request}]},
    }
    spec = {"replicas": PODS, "selector": {"matchLabels": marks}, "template": pod}
    async with slots:
        deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": marks}}
        await plane.hub.resource(DEPLOYMENTS).create({**deployment, "spec": spec}, NAMESPACE)


def _autoscaler(name: str) -> JSONObject:
    target = {"type": "Utilization", "averageUtilization": 50}
    return {
        "apiVersion": "autoscaling.karmada.io/v1alpha1",
        "kind": "FederatedHPA",
        "metadata": {"name": name},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "minReplicas": PODS,
            "maxReplicas": 2 * PODS,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
        },
    }


async def _running(plane: Plane) -> bool:
    found = (await plane.hub.resource(DEPLOYMENTS).list(Scope(NAMESPACE))).items
    return len([one for one in found if (one.get("status") or {}).get("readyReplicas") == PODS]) == AUTOSCALERS


async def _measured(plane: Plane) -> bool:
    """Whether every autoscaler knows what its pods use."""
    found = (await plane.hub.resource(HPAS).list(Scope(NAMESPACE))).items
    return sum(bool((one.get("status") or {}).get("currentMetrics")) for one in found) == AUTOSCALERS
