"""Many clusters and many workloads: memory, steady state, the death of a cluster, an edit that concerns everything.

    KARMADA_BENCH_CLUSTERS=1000 KARMADA_BENCH_WORKLOADS=10000 KARMADA_BENCH_SECONDS=60 python -m benchmarks fleet

A tenth of the clusters are simulated members behind HTTPS in one process, the others are served by one stub without TLS
(`stub_members`); workloads are made as `fleet_world` says, and the control plane starts again with them. Nothing else
is shortened: probes run every ten seconds, taints come from a ClusterTaintPolicy. Only evictions are not paced, and a
cluster that fails for a second is not Ready. Meanwhile another process asks for objects and for pages of 500.

The edit changes the placement of the one policy so that every binding is decided again and stays where it is.
"""

import asyncio
import json
import multiprocessing
import os
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from statistics import median, quantiles

import orjson
import psutil
import uvloop

from benchmarks.beside import Plane
from benchmarks.failover import ADMISSION, MANAGER, TAINT
from benchmarks.fleet_world import (
    CLUSTERS,
    EACH,
    PATIENCE,
    REAL,
    WORKLOADS,
    Members,
    clusters_of,
    policy,
    prepare,
    repeat_all,
)
from benchmarks.propagation import BINDINGS, POLICIES, revision
from benchmarks.restart import NAMESPACE, name_of
from benchmarks.result import Result
from benchmarks.stub_members import Discovery, StubProcess, names
from karmada.api.annotations import APPLIED_PLACEMENT
from karmada.machinery.client import Client
from karmada.machinery.discovery import documents
from karmada.machinery.http.kubeconfig import load
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.resource import Scope
from karmada.machinery.transport import JSONObject
from karmada.membership.objects import CLUSTERS as CLUSTER_TYPE
from karmada.standalone.children import Child
from karmada.standalone.federation import CONTEXT, Federation, FederationOptions
from karmada.standalone.layout import Layout
from karmada.testing.stage.federation import eventually

SECONDS = float(os.environ.get("KARMADA_BENCH_SECONDS", "20"))
PAGE = 500
PAUSE = 0.02
"""Seconds between two questions whose answers are timed."""
START = 300.0
NOWHERE = "member99999"
_DEPTH = re.compile(r"^workqueue_depth\{.*\} (\S+)$", re.MULTILINE)
FLAGS = [*MANAGER.split(), ADMISSION, "--cluster-failure-threshold=1s"]


def run() -> list[Result]:
    """All figures."""
    return uvloop.run(_measure())


async def _measure() -> list[Result]:
    with tempfile.TemporaryDirectory(prefix="karmada-bench-") as folder:
        layout = Layout(Path(folder))
        layout.prepare()
        fleet = Path(folder) / "members.json"
        fleet.write_text(json.dumps({"members": [{"name": name, "workloads": False} for name in names(REAL)]}))
        made = Federation(FederationOptions(layout, fleet=fleet, control_flags=FLAGS), lambda step: None)
        try:
            await made.start()
            discovery = Discovery(*await documents(made.client(names(1)[0]).transport))
            async with StubProcess(Members, discovery) as stub:
                _say(f"joining {CLUSTERS} clusters")
                model = await prepare(made, stub)
                joined = Plane(
                    made.client(CONTEXT), {}, {"control": psutil.Process(made.children[0].pid)}, layout.members
                )
                alone = joined.memory()
                await made.stop()
                _say(f"they are Ready; repeating a Deployment {WORKLOADS} times")
                await repeat_all(layout, model, stub)
                return [
                    Result(f"fleet: control plane, memory with {CLUSTERS} clusters and one workload", alone, "MB"),
                    *await _restarted(made, stub),
                ]
        finally:
            await made.stop()


async def _restarted(made: Federation, stub: StubProcess) -> list[Result]:
    layout = made.options.layout
    arguments = ["karmada.standalone.control_plane_main", "--data", str(layout.control_plane), *FLAGS]
    control = Child("control", arguments, layout.log("control"))
    arguments = ["karmada.simulator.main", "--data", str(layout.members), "--fleet", str(made.options.fleet)]
    members = Child("members", arguments, layout.log("members"))
    before = await stub.call("written")
    await members.start(START)
    try:
        began = time.perf_counter()
        await control.start(START)
        ready = time.perf_counter() - began
        plane = Plane(made.client(CONTEXT), {}, {"control": psutil.Process(control.pid)}, layout.members)
        _say(f"started again in {ready:.1f} s; waiting until nothing is left to look at")
        await _quiet(plane.hub)
        written = await stub.call("written") - before
        return [
            Result(f"{CLUSTERS} clusters, {WORKLOADS} workloads x {EACH}: start until ready", ready, "s"),
            Result("fleet: until nothing is left to look at", time.perf_counter() - began, "s"),
            Result("fleet: writes in members by the start", float(written), "", 0),
            *await _figures(plane, layout.kubeconfig),
        ]
    finally:
        await control.stop()
        await members.stop()


async def _figures(plane: Plane, kubeconfig: Path) -> list[Result]:
    memory, used = plane.memory(), plane.cpu()
    await asyncio.sleep(SECONDS)
    steady = (plane.cpu() - used) / SECONDS
    _say(f"{memory:.0f} MB, {100 * steady:.1f} % of a core; a cluster dies")
    waited = _waited(plane)
    async with _asking(kubeconfig) as slowest:
        moved, lost = await _death(plane)
        death = await slowest()
    starved = _waited(plane) - waited
    _say(f"{moved} moved in {lost:.1f} s; the policy is edited")
    async with _asking(kubeconfig) as slowest:
        used, waited = plane.cpu(), _waited(plane)
        edited = await _edit(plane.hub)
        used, waited = plane.cpu() - used, _waited(plane) - waited
        edit = await slowest()
    return [
        Result("fleet: control plane, memory", memory, "MB", 1500),
        Result("fleet: control plane, memory at the end", plane.memory(), "MB", 1500),
        Result("fleet: steady state", 100 * steady, "% of a core", 20),
        Result(f"fleet: a cluster is tainted, until its {moved} workloads are decided again", lost, "s", 10),
        Result("fleet: it waited for a core meanwhile, from the fault on", starved, "s"),
        Result("fleet: GET and LIST of 500 meanwhile, p99", death, "ms", 100),
        Result(f"fleet: a policy edit, until {WORKLOADS} bindings are decided again", edited, "s", 60),
        Result("fleet: it waited for a core meanwhile", waited, "s"),
        Result("fleet: CPU of it a binding", 1e3 * used / WORKLOADS, "ms"),
        Result("fleet: GET and LIST of 500 during the edit, p99", edit, "ms", 100),
    ]


def _waited(plane: Plane) -> float:
    """Seconds in which the control plane's event loop could have run, had others left it a core."""
    return sum(int(Path(f"/proc/{one.pid}/schedstat").read_text().split()[1]) for one in plane.control.values()) / 1e9


async def _death(plane: Plane) -> tuple[int, float]:
    """How many workloads a cluster has that dies, and seconds from its taint until they are somewhere else."""
    victim = names(1)[0]
    concerned = {f"{name_of(number)}-deployment" for number in range(WORKLOADS) if victim in clusters_of(number)}
    since = await revision(plane.hub)
    await plane.request_control("PATCH", f"/v1/members/{victim}/faults", {"down": True})
    await eventually(lambda: _tainted(plane.hub, victim), PATIENCE, 0.05)
    tainted = time.perf_counter()

    def is_moved(binding: JSONObject) -> bool:
        targets = {target["name"] for target in binding["spec"].get("clusters") or ()}
        return victim not in targets and len(targets) == EACH

    moved = await _seen(plane.hub, since, concerned, is_moved)
    _say(
        f"the first of {len(moved)} after {moved[0] - tainted:.2f} s, half of them after {median(moved) - tainted:.2f}"
    )
    return len(moved), moved[-1] - tainted


async def _tainted(hub: Client, name: str) -> bool:
    spec = (await hub.resource(CLUSTER_TYPE).get(name))["spec"]
    return any(taint["key"] == TAINT for taint in spec.get("taints") or ())


async def _edit(hub: Client) -> float:
    """Seconds from an edit of the policy until the scheduler has applied it to every binding."""
    since = await revision(hub)
    began = time.perf_counter()
    await hub.resource(POLICIES).patch("all", {"spec": policy([NOWHERE])["spec"]}, NAMESPACE)

    def is_applied(binding: JSONObject) -> bool:
        return NOWHERE in binding["metadata"]["annotations"].get(APPLIED_PLACEMENT, "")

    applied = await _seen(hub, since, {f"{name_of(number)}-deployment" for number in range(WORKLOADS)}, is_applied)
    return applied[-1] - began


async def _seen(hub: Client, since: str, wanted: set[str], done: Callable[[JSONObject], bool]) -> list[float]:
    """When each of these bindings was first as it should be, in order; waits for the last."""
    left, seen = set(wanted), []
    async with asyncio.timeout(PATIENCE), hub.encoded(BINDINGS).watch(Scope(NAMESPACE), since) as batches:
        async for batch in batches:
            for event in batch:
                binding = orjson.loads(event.object)
                if binding["metadata"]["name"] in left and done(binding):
                    left.discard(binding["metadata"]["name"])
                    seen.append(time.perf_counter())
            if not left:
                return seen
    raise RuntimeError("the watch of bindings has ended")


async def _quiet(hub: Client) -> None:
    """Wait until all queues have been empty three times."""
    calm = 0
    while calm < 3:
        await asyncio.sleep(2.0)
        depths = _DEPTH.findall((await hub.transport.raw("GET", "/metrics")).decode())
        calm = calm + 1 if not any(map(float, depths)) else 0


@asynccontextmanager
async def _asking(kubeconfig: Path) -> AsyncIterator[Callable[[], Awaitable[float]]]:
    """A process that asks the API server one question after another; when called, it ends, and says how long 99 of a
    hundred took at most, in milliseconds."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_ask, args=(theirs, kubeconfig), daemon=True)
    process.start()

    async def slowest() -> float:
        ours.send(None)
        seconds: list[float] = await asyncio.to_thread(ours.recv)
        return 1e3 * quantiles(seconds, n=100)[-1]

    try:
        await asyncio.to_thread(ours.recv)
        yield slowest
    finally:
        process.terminate()
        await asyncio.to_thread(process.join)


def _ask(pipe: Connection, kubeconfig: Path) -> None:
    async def main() -> None:
        transport = HttpTransport(load([kubeconfig]).target(CONTEXT))
        bindings, random = f"/apis/work.karmada.io/v1alpha2/namespaces/{NAMESPACE}/resourcebindings", Random(1)
        seconds: list[float] = []
        await transport.raw("GET", "/readyz")
        pipe.send(None)
        while not pipe.poll():
            number, member = random.randrange(WORKLOADS), random.choice(names(CLUSTERS))
            for path in (
                f"{bindings}/{name_of(number)}-deployment",
                f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{name_of(number)}",
                f"/apis/cluster.karmada.io/v1alpha1/clusters/{member}",
                f"{bindings}?limit={PAGE}",
            ):
                began = time.perf_counter()
                await transport.raw("GET", path)
                seconds.append(time.perf_counter() - began)
                await asyncio.sleep(PAUSE)
        pipe.send(seconds)

    uvloop.run(main())


def _say(text: str) -> None:
    print(f"  {time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)
