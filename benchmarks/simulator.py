"""Simulated members: how fast they start and bring workloads up, and what they cost in memory.

Memory is measured in processes of their own, as what the members add to a process that has everything imported.
"""

import asyncio
import gc
import json
import subprocess
import sys
import time

from benchmarks.result import Result
from karmada.apiserver.builtin import builtin_types
from karmada.apiserver.watchcache import Kind, StoreEvent
from karmada.machinery.process import COLLECTOR
from karmada.machinery.transport import JSONObject
from karmada.simulator.fleet import Fleet
from karmada.simulator.member import Member
from karmada.simulator.spec import FleetSpec, MemberSpec, NodePool
from karmada.simulator.workloads.kinds import DEPLOYMENTS

MEGABYTE = 1 << 20


def run() -> list[Result]:
    """Measure everything once."""
    start = min(asyncio.run(_start()) for _ in range(5))
    ready = min(_apart("ready") for _ in range(2))
    return [
        Result("member start, in-process", start * 1e3, "ms", target=100),
        Result("1,000 Deployments x 3 pods ready", ready, "s", target=15),
        Result("100 members of 3 nodes, one process", _apart("many"), "MB", target=1228.8),
        Result("idle member of 3 nodes", _apart("idle"), "MB", target=10),
        Result("100 idle members, CPU", _apart("idle_cpu"), "ms/s"),
        Result("one member, 5,000 nodes, 20,000 pods", _apart("large"), "MB", target=400),
    ]


async def _start() -> float:
    began = time.perf_counter()
    async with Member(MemberSpec("m", node_pools=(NodePool(count=3),))):
        return time.perf_counter() - began


async def _ready() -> float:
    """Seconds until 3,000 pods of 1,000 Deployments are available."""
    async with Member(MemberSpec("m", node_pools=(NodePool(count=50),))) as member:
        deployments = member.client.resource(DEPLOYMENTS)
        began = time.perf_counter()
        for number in range(1000):
            await deployments.create(_deployment(f"d{number}", 3))
        await _available(member, 1000, 3)
        return time.perf_counter() - began


async def _many() -> float:
    async with Fleet(FleetSpec((MemberSpec("m", count=100, node_pools=(NodePool(count=3),)),))):
        await asyncio.sleep(2)
        return _resident()


async def _idle() -> float:
    builtin_types()
    async with Member(MemberSpec("first")):
        before = _resident()
        async with Fleet(FleetSpec((MemberSpec("m", count=50, node_pools=(NodePool(count=3),)),))):
            await asyncio.sleep(2)
            return (_resident() - before) / 50


async def _idle_cpu() -> float:
    async with Fleet(FleetSpec((MemberSpec("m", count=100, node_pools=(NodePool(count=3),)),))):
        await asyncio.sleep(5)
        before = time.process_time()
        await asyncio.sleep(10)
        return (time.process_time() - before) * 1e3 / 10


async def _large() -> float:
    async with Member(MemberSpec("m", node_pools=(NodePool(count=5000),))) as member:
        for number in range(200):
            await member.client.resource(DEPLOYMENTS).create(_deployment(f"d{number}", 100))
        await _available(member, 200, 100)
        gc.collect()
        return _resident()


async def _available(member: Member, deployments: int, replicas: int) -> None:
    """Wait until every Deployment has its replicas; the store calls back, so that waiting costs nothing."""
    mark = b'"availableReplicas":%d' % replicas
    done: set[str] = set()
    everything = asyncio.Event()

    def changed(kind: Kind, event: StoreEvent) -> None:
        if kind == ("apps", "deployments") and mark in event.item.body:
            done.add(event.item.name)
            if len(done) == deployments:
                everything.set()

    member.server.store.subscribe(changed)
    await everything.wait()


def _deployment(name: str, replicas: int) -> JSONObject:
    container = {"name": "c", "image": "nginx:1", "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}},
        },
    }


def _resident() -> float:
    import psutil

    return float(psutil.Process().memory_info().rss) / MEGABYTE


def _apart(name: str) -> float:
    """The result of one measurement in a process of its own."""
    program = f"from benchmarks.simulator import measure; measure({name!r})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout))


def measure(name: str) -> None:
    """Run one measurement and print its figure; in the process of `_apart`."""
    import uvloop

    gc.set_threshold(*COLLECTOR)
    sys.stdout.write(json.dumps(uvloop.run(_MEASUREMENTS[name]())))


_MEASUREMENTS = {"ready": _ready, "many": _many, "idle": _idle, "idle_cpu": _idle_cpu, "large": _large}
