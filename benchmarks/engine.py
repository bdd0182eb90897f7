"""Propagation on a stock kube-apiserver and etcd: every component a process, three stock API servers as members.

As the reference was measured: 500 Deployments of three replicas, divided one to one to one by static weights, created
sixteen at a time; members without workload controllers; etcd waits for the disk; everything on this machine. Timed from
the first creation until the last Deployment is in the last member. Writes are those that the control plane's API server
counted, events and the creations included, until nothing moved any more.
"""

import asyncio
import re
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import psutil
import uvloop

from benchmarks.propagation import policy
from benchmarks.result import Result
from karmada.machinery.client import Client
from karmada.machinery.codec import identity
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.testing.stage.federation import AGGREGATED, CONTROLLERS, SCHEDULER, WEBHOOK, Stage, StageOptions
from karmada.testing.stage.programs import missing

DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
POLICIES = GroupVersionResource("policy.karmada.io", "v1alpha1", "propagationpolicies")
COUNT = 500
AT_ONCE = 16
SPACE = "bench"
WARM = 20
QUIET = 3.0
PATIENCE = 400.0
MEGABYTE = 1e6
_WRITES = re.compile(
    r'^apiserver_request_total\{[^}]*code="2[^}]*verb="(?:POST|PUT|PATCH|DELETE|APPLY|CREATE|UPDATE)"[^}]*\} (\S+)$',
    re.MULTILINE,
)
_LATENCY = re.compile(r"^karmada_scheduler_e2e_scheduling_duration_seconds_(sum|count)\{[^}]*\} (\S+)$", re.MULTILINE)
_REVIEWS = re.compile(r"tokenreviews|subjectaccessreviews|leases")
OURS = (CONTROLLERS, SCHEDULER, WEBHOOK, AGGREGATED)


def run() -> list[Result]:
    """All figures; none without Go."""
    return on_stage("engine", _measure)


def on_stage(name: str, measure: Callable[[Path], Coroutine[Any, Any, list[Result]]]) -> list[Result]:
    """What is measured in a folder that is removed afterwards; nothing, and a line why, without Go."""
    if reason := missing():
        sys.stderr.write(f"{name}: skipped: {reason}\n")
        return []
    # What measures shares the machine with what is measured: it takes as little of it as it can.
    loop = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    with tempfile.TemporaryDirectory(prefix=f"karmada-{name}-") as folder, loop as runner:
        return runner.run(measure(Path(folder)))


async def _measure(folder: Path) -> list[Result]:
    async with Stage(StageOptions(folder, workloads=False, durable=True)) as stage:
        await stage.join_all()
        await stage.start_components()
        idle = _memory(stage)
        members = [server.client() for server in stage.members.values()]
        hub = stage.client
        await hub.resource(NAMESPACES).create({"metadata": {"name": SPACE}})
        await hub.resource(POLICIES).create(policy(SPACE, stage.members))
        await propagate(hub, members, [f"warm{number:05d}" for number in range(WARM)])
        await settle(stage)
        writes, spent = await _writes(stage), _cpu(stage)
        names = [f"d{number:05d}" for number in range(COUNT)]
        started = time.perf_counter()
        latencies = await propagate(hub, members, names)
        seconds = time.perf_counter() - started
        used = {program: _cpu(stage)[program] - spent[program] for program in spent}
        await settle(stage)
        written = await _writes(stage) - writes
        scheduling = await _scheduling(stage)
        after = _memory(stage)
        for client in members:
            await client.close()
    latencies.sort()
    return [
        Result("Deployments a second into three members", COUNT / seconds, "/s", 14.6, higher_is_better=True),
        Result("the goal of the same", COUNT / seconds, "/s", 29.2, higher_is_better=True),
        Result("control-plane writes per Deployment, events included", written / COUNT, "writes", 36.0),
        Result("from creation to the last member, median", 1000 * latencies[len(latencies) // 2], "ms"),
        Result("from creation to the last member, 99 of 100", 1000 * latencies[int(len(latencies) * 0.99)], "ms"),
        Result("one scheduling, mean", 1000 * scheduling, "ms"),
        Result("our components together, idle, resident memory", idle, "MB", 350.0),
        Result("our components together, after it, resident memory", after, "MB", 350.0),
        *(
            Result(f"CPU per Deployment of {program}", 1000 * total / COUNT, "ms")
            for program, total in sorted(used.items(), key=lambda item: -item[1])
        ),
    ]


async def propagate(hub: Client, members: Sequence[Client], names: Sequence[str]) -> list[float]:
    """Create Deployments and wait until every member has all; seconds of each from its creation on."""
    waiting = {(number, name) for number in range(len(members)) for name in names}
    done, created, last = asyncio.Event(), dict[str, float](), dict[str, float]()

    async def follow(number: int, ready: asyncio.Event) -> None:
        resource = members[number].encoded(DEPLOYMENTS)
        version = (await resource.list(Scope(SPACE))).resource_version
        async with resource.watch(Scope(SPACE), resource_version=version) as stream:
            ready.set()
            async for batch in stream:
                for change in batch:
                    key = (number, identity(change.object).name)
                    if change.type == "ADDED" and key in waiting:
                        waiting.discard(key)
                        last[key[1]] = time.perf_counter()
                if not waiting:
                    done.set()

    slots = asyncio.Semaphore(AT_ONCE)

    async def create(name: str) -> None:
        async with slots:
            await hub.resource(DEPLOYMENTS).create(_deployment(name))
            created[name] = time.perf_counter()

    watching = [asyncio.Event() for _ in members]
    tasks = [asyncio.create_task(follow(number, ready)) for number, ready in enumerate(watching)]
    try:
        for ready in watching:
            await ready.wait()
        await asyncio.gather(*map(create, names))
        async with asyncio.timeout(PATIENCE):
            await done.wait()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return [max(last[name] - created[name], 0.0) for name in names]


async def settle(stage: Stage) -> None:
    """Wait until the control plane writes nothing but signs of life."""
    previous = -1.0
    async with asyncio.timeout(PATIENCE):
        while (found := await _writes(stage)) != previous:
            previous = found
            await asyncio.sleep(QUIET)


async def _writes(stage: Stage) -> float:
    """Successful writes that the API server has seen; reviews and leases change nothing that anybody asked for."""
    page = (await stage.client.transport.raw("GET", "/metrics")).decode()
    return sum(float(found[1]) for found in _WRITES.finditer(page) if not _REVIEWS.search(found[0]))


async def _scheduling(stage: Stage) -> float:
    """Seconds of one scheduling."""
    figures = {"sum": 0.0, "count": 0.0}
    for which, value in _LATENCY.findall(await stage.components[SCHEDULER].page("/metrics")):
        figures[which] += float(value)
    return figures["sum"] / figures["count"] if figures["count"] else 0.0


def _memory(stage: Stage) -> float:
    """Resident megabytes of our programs; children of theirs included."""
    return sum(_process(stage, program).memory_info().rss for program in OURS) / MEGABYTE


def _cpu(stage: Stage) -> dict[str, float]:
    """CPU seconds by program: ours, the stock ones, and what measures."""
    found = {program: _seconds(_process(stage, program)) for program in OURS}
    found["the benchmark itself"] = _seconds(psutil.Process())
    for server in (stage.hub, stage.etcd, *stage.controllers, *stage.members.values()):
        assert server.daemon.pid is not None
        found[server.daemon.name] = _seconds(psutil.Process(server.daemon.pid))
    return found


def _seconds(process: psutil.Process) -> float:
    return float(sum(process.cpu_times()[:2]))


def _process(stage: Stage, program: str) -> psutil.Process:
    pid = stage.components[program].pid
    assert pid is not None, f"{program} ended"
    return psutil.Process(pid)


def _deployment(name: str) -> JSONObject:
    container = {"name": "nginx", "image": "nginx", "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": SPACE, "labels": {"app": name}},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}},
        },
    }
