"""One run of one side of `side_by_side`, in a process of its own: prints its figures as one line of JSON.

Started with the source tree to measure first in PYTHONPATH, or with the folder of a reference that runs (see
`side_by_side`). The load is that of `benchmarks propagation`; workload controllers of the members are off.

Quiet is when control plane and members together used at most `BUSY` of a core more than when idle, for `LOOKS` looks:
status has come back and events are written. CPU is what the load took: the idle share of the same time is taken off.
What the machine's speed does not change are the counts: writes are revisions of the control plane's store (on an engine
those of the members too: they share its etcd), wake-ups are voluntary context switches.
"""

import argparse
import asyncio
import json
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

import psutil
import uvloop

from benchmarks.propagation import (
    BINDINGS,
    CONCURRENCY,
    DEPLOYMENTS,
    EVENTS,
    MEMBERS,
    WORKS,
    Load,
    federation,
    revision,
)
from karmada.machinery.client import Client
from karmada.machinery.http.kubeconfig import load
from karmada.machinery.http.transport import HttpTransport
from karmada.standalone.federation import CONTEXT
from karmada.testing.stage.federation import Stage, StageOptions

LOOK = 0.5
LOOKS = 5
IDLE_LOOKS = 20
"""Looks at a side before the load; their median is its idle share, so that a heartbeat among them does not count."""
BUSY = 0.04
CAP = 240.0
"""Seconds after which a side that never gets quiet is measured all the same."""
MEGABYTE = 1e6
_REQUESTS = re.compile(rb"^apiserver_request_total\{[^}]*\} (\S+)$", re.MULTILINE)
Figures = dict[str, float]


class Side(NamedTuple):
    """What runs: clients, and the processes whose costs count."""

    hub: Client
    members: dict[str, Client]
    control: Sequence[psutil.Process]
    simulated: Sequence[psutil.Process]


class Idle(NamedTuple):
    """Shares of a core that a side uses with nothing to do."""

    control: float
    members: float


class Spent(NamedTuple):
    """What some processes have used up to a moment."""

    cpu: float
    wakeups: int
    writes: int
    bytes: int

    @classmethod
    def by(cls, processes: Sequence[psutil.Process]) -> "Spent":
        """All of them together."""
        io = [process.io_counters() for process in processes]
        return cls(
            sum(sum(process.cpu_times()[:2]) for process in processes),
            sum(process.num_ctx_switches().voluntary for process in processes),
            sum(one.write_count for one in io),
            sum(one.write_chars for one in io),
        )


@asynccontextmanager
async def ours() -> AsyncIterator[Side]:
    """`karmada up` of the tree in PYTHONPATH."""
    with tempfile.TemporaryDirectory(prefix="karmada-side-") as folder:
        async with federation(Path(folder), workloads=False) as made:
            control, members = (psutil.Process(child.pid) for child in made.children)
            yield Side(made.client(CONTEXT), {name: made.client(name) for name in MEMBERS}, [control], [members])


@asynccontextmanager
async def engine() -> AsyncIterator[Side]:
    """The same tree's components on a stock kube-apiserver and etcd, with stock members."""
    with tempfile.TemporaryDirectory(prefix="karmada-side-") as folder:
        async with Stage(StageOptions(Path(folder), workloads=False, durable=True)) as stage:
            await stage.join_all()
            await stage.start_components()
            hub, *tokens = stage.controllers
            servers = [stage.etcd.daemon, stage.hub.daemon, hub.daemon]
            members = [server.daemon for server in (*stage.members.values(), *tokens)]
            yield Side(
                stage.client,
                {name: server.client() for name, server in stage.members.items()},
                [_process(one.pid) for one in (*servers, *stage.components.values())],
                [_process(one.pid) for one in members],
            )


def _process(pid: int | None) -> psutil.Process:
    assert pid is not None, "a program has ended"
    return psutil.Process(pid)


@asynccontextmanager
async def reference(folder: Path) -> AsyncIterator[Side]:
    """A reference that was started there: kubeconfigs in `run/`, process ids in `run/pids/`."""

    def client(name: str) -> Client:
        return Client(HttpTransport(load([folder / "run" / f"{name}.kubeconfig"]).target()))

    found = {file.name: psutil.Process(int(file.read_text())) for file in (folder / "run/pids").iterdir()}
    members = {name for name in found if name.startswith(("member", "kcm-m"))}
    yield Side(
        client("karmada"),
        {name: client(name) for name in MEMBERS},
        [process for name, process in found.items() if name not in members],
        [found[name] for name in members],
    )


async def measure(side: Side, count: int, singles: int) -> Figures:
    """All figures of a side."""
    hub, per = side.hub, 1e3 / count
    idle = await _idle(side)
    async with Load(hub, side.members, f"side{time.time_ns() // 10**6}") as created:
        await created.prepare()
        await created.create(max(count // 10, CONCURRENCY), CONCURRENCY)
        single = [(await created.create(1, 1)).slowest for _ in range(singles)]
        await _quiet(side, idle)
        before, control, members = await revision(hub), Spent.by(side.control), Spent.by(side.simulated)
        counted, began = [await _requests(client) for client in (hub, *side.members.values())], time.perf_counter()
        many = await created.create(count, CONCURRENCY)
        arrived, at = Spent.by(side.control), time.perf_counter()
        ended = await _quiet(side, idle)
        used, beside, looked = Spent.by(side.control), Spent.by(side.simulated), time.perf_counter() - began
        answered = [await _requests(client) for client in (hub, *side.members.values())]
        written = await _written(hub, before)
    return {
        "one Deployment in three members, p50, ms": 1e3 * median(single) if single else 0.0,
        "Deployments/s in a burst": count / many.seconds,
        "Deployments/s until quiet": count / (ended - began),
        "control plane, CPU ms a Deployment until arrived": (arrived.cpu - control.cpu - idle.control * (at - began))
        * per,
        "control plane, CPU ms a Deployment until quiet": (used.cpu - control.cpu - idle.control * looked) * per,
        "members, CPU ms a Deployment until quiet": (beside.cpu - members.cpu - idle.members * looked) * per,
        "control plane, % of a core idle": 100 * idle.control,
        "members, % of a core idle": 100 * idle.members,
        "control plane, MB after": sum(process.memory_info().rss for process in side.control) / MEGABYTE,
        "members, MB after": sum(process.memory_info().rss for process in side.simulated) / MEGABYTE,
        **{f"writes a Deployment: {what}": number / count for what, number in written.items()},
        "HTTP requests a Deployment to the control plane": (answered[0] - counted[0]) / count,
        "HTTP requests a Deployment to the members": (sum(answered[1:]) - sum(counted[1:])) / count,
        "control plane, wake-ups a Deployment": (used.wakeups - control.wakeups) / count,
        "control plane, writing system calls a Deployment": (used.writes - control.writes) / count,
        "control plane, KB written a Deployment": (used.bytes - control.bytes) / count / 1e3,
        "members, wake-ups a Deployment": (beside.wakeups - members.wakeups) / count,
        "members, KB written a Deployment": (beside.bytes - members.bytes) / count / 1e3,
    }


async def _idle(side: Side) -> Idle:
    """What both use before the load."""
    shares: list[Idle] = []
    last, used = time.perf_counter(), [Spent.by(each).cpu for each in (side.control, side.simulated)]
    while len(shares) < IDLE_LOOKS:
        await asyncio.sleep(LOOK)
        now, spent = time.perf_counter(), [Spent.by(each).cpu for each in (side.control, side.simulated)]
        shares.append(Idle(*((b - a) / (now - last) for a, b in zip(used, spent, strict=True))))
        last, used = now, spent
    return Idle(median(share.control for share in shares), median(share.members for share in shares))


async def _quiet(side: Side, idle: Idle) -> float:
    """Wait until both are quiet; when that began."""
    processes = [*side.control, *side.simulated]
    began = last = time.perf_counter()
    used, calm = Spent.by(processes).cpu, 0
    while calm < LOOKS and last - began < CAP:
        await asyncio.sleep(LOOK)
        now, spent = time.perf_counter(), Spent.by(processes).cpu
        calm = calm + 1 if spent - used < (sum(idle) + BUSY) * (now - last) else 0
        last, used = now, spent
    return last - calm * LOOK


async def _requests(client: Client) -> float:
    return sum(float(number) for number in _REQUESTS.findall(await client.transport.raw("GET", "/metrics")))


async def _written(hub: Client, since: str) -> dict[str, int]:
    """Writes after a revision, by kind. An API server forgets the oldest of too many: then the kind is left out."""
    found = {"all": int(await revision(hub)) - int(since)}
    for type_ in (DEPLOYMENTS, BINDINGS, WORKS, EVENTS):
        count = 0
        async with hub.encoded(type_).watch(resource_version=since, timeoutSeconds="2") as batches:
            async for batch in batches:
                count += len(batch)
        found[type_.resource] = count
    return found


async def _run(flags: argparse.Namespace) -> Figures:
    opened = reference(flags.reference) if flags.reference else engine() if flags.engine else ours()
    async with opened as side:
        return await measure(side, flags.count, flags.singles)


def main(given: Sequence[str]) -> int:
    """Measure once."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.one_side", description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--singles", type=int, default=20)
    parser.add_argument("--engine", action="store_true", help="on a stock kube-apiserver and etcd")
    parser.add_argument("--reference", type=Path, help="folder of a reference that runs")
    print(json.dumps(uvloop.run(_run(parser.parse_args(given)))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
