"""Two replicas that divide the work (`--shards`) beside one, on a stock kube-apiserver and etcd with three members.

What two machines would give is not measured by the clock, as all processes share this machine's cores: CPU seconds of
each replica are. When the busiest one is the limit, two replicas carry as many times more as one replica's CPU seconds
are of the busiest of two, for the same Deployments. Then one of two is killed, and what is created meanwhile must
arrive, or the benchmark fails. Members are divided too: with three of them one replica has two.
"""

import asyncio
import os
import re
import signal
from collections.abc import Sequence
from pathlib import Path

import psutil

from benchmarks.engine import NAMESPACES, POLICIES, SPACE, on_stage, propagate, settle
from benchmarks.propagation import policy
from benchmarks.result import Result
from karmada.machinery.client import Client
from karmada.testing.stage.components import Component
from karmada.testing.stage.federation import CONTROLLERS, SCHEDULER, Stage, StageOptions

COUNT = int(os.environ.get("KARMADA_BENCH_WORKLOADS", "200"))
WARM = 20
BALANCED = 12.0
"""Seconds in which a second replica has its share."""
_TAKEN = re.compile(
    r'^workqueue_work_duration_seconds_count\{name="(binding|execution)-controller"\} (\S+)$', re.MULTILINE
)


def run() -> list[Result]:
    """All figures; none without Go."""
    return on_stage("sharding", _measure)


async def _measure(folder: Path) -> list[Result]:
    flags = {CONTROLLERS: ["--shards=7"], SCHEDULER: ["--shards=4"]}
    async with Stage(StageOptions(folder, workloads=False, flags=flags)) as stage:
        await stage.join_all()
        await stage.start_components()
        await stage.client.resource(NAMESPACES).create({"metadata": {"name": SPACE}})
        await stage.client.resource(POLICIES).create(policy(SPACE, stage.members))
        members = [server.client() for server in stage.members.values()]
        try:
            await propagate(stage.client, members, [f"warm{number:05d}" for number in range(WARM)])
            managers, schedulers = [stage.components[CONTROLLERS]], [stage.components[SCHEDULER]]
            alone = await _spent(stage, members, "one", [*managers, *schedulers])
            managers.append(await stage.start(CONTROLLERS))
            schedulers.append(await stage.start(SCHEDULER))
            await asyncio.sleep(BALANCED)
            before = [await _taken(manager) for manager in managers]
            both = await _spent(stage, members, "two", [*managers, *schedulers])
            after = [await _taken(manager) for manager in managers]
            await managers[0].end(signal.SIGKILL)
            await propagate(stage.client, members, [f"killed{number:05d}" for number in range(WARM)])
        finally:
            for client in members:
                await client.close()
    found = []
    for program, (one,), two in ((CONTROLLERS, alone[:1], both[:2]), (SCHEDULER, alone[1:], both[2:])):
        found += [
            Result(f"{program}, one replica, CPU a Deployment", 1e3 * one / COUNT, "ms"),
            *(
                Result(f"{program}, replica {n + 1} of 2, CPU a Deployment", 1e3 * s / COUNT, "ms")
                for n, s in enumerate(two)
            ),
            Result(f"{program}, times as many with two", one / max(two), "", 1.7, higher_is_better=True),
        ]
    for name in ("binding", "execution"):
        shares = [late[name] - early[name] for early, late in zip(before, after, strict=True)]
        found.append(Result(f"{name} keys reconciled by the replica with fewer", 100 * min(shares) / sum(shares), "%"))
    return found


async def _spent(stage: Stage, members: Sequence[Client], name: str, components: list[Component]) -> list[float]:
    """CPU seconds that each component takes for as many Deployments, until it is quiet again."""
    await settle(stage)
    before = [_seconds(component) for component in components]
    await propagate(stage.client, members, [f"{name}{number:05d}" for number in range(COUNT)])
    await settle(stage)
    return [_seconds(component) - spent for component, spent in zip(components, before, strict=True)]


async def _taken(manager: Component) -> dict[str, float]:
    """Keys that a controller manager has reconciled, by controller."""
    return {name: float(count) for name, count in _TAKEN.findall(await manager.page("/metrics"))}


def _seconds(component: Component) -> float:
    assert component.pid is not None
    return float(sum(psutil.Process(component.pid).cpu_times()[:2]))
