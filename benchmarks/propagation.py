"""The main road: Deployments created on the control plane, followed until they are in all three members.

As the load generator the reference was measured with: N Deployments by CONCURRENCY clients under one policy that
divides 3 replicas 1:1:1; control plane on SQLite in one process, three members behind HTTPS and TLS in another, this
process creates and watches. The members' workload controllers are off, as they were for the reference; a second figure
has them on. Latency is from the answer to the create until the last member's watch has shown the object.
"""

import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import median

import psutil
import uvloop

from benchmarks.result import Result
from karmada.machinery.client import Client
from karmada.machinery.codec import identity
from karmada.machinery.resource import Scope
from karmada.machinery.transport import EventType, GroupVersionResource, JSONObject
from karmada.standalone.federation import CONTEXT, Federation, FederationOptions
from karmada.standalone.layout import Layout

MEMBERS = ("member1", "member2", "member3")
N, CONCURRENCY = 500, 16
SINGLE = 60
"""Deployments that are created one after another, each when the one before has arrived."""
TIMEOUT = 200.0
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
EVENTS = GroupVersionResource("", "v1", "events")
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
WORKS = GroupVersionResource("work.karmada.io", "v1alpha1", "works")
BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
POLICIES = GroupVersionResource("policy.karmada.io", "v1alpha1", "propagationpolicies")
MEGABYTE = 1e6
EVENTS_OUT = 20
"""Looks until events count as out: after a burst they follow slowly."""


def run() -> list[Result]:
    """All figures."""
    return [*uvloop.run(_measure(workloads=False)), *uvloop.run(_measure(workloads=True))]


async def _measure(workloads: bool) -> list[Result]:
    async with temporary_federation(workloads) as started:
        return await _figures(started, workloads)


@asynccontextmanager
async def temporary_federation(workloads: bool = False) -> AsyncIterator[Federation]:
    """A running federation in a folder that goes with it."""
    with tempfile.TemporaryDirectory(prefix="karmada-bench-") as folder:
        async with federation(Path(folder), workloads) as made:
            yield made


@asynccontextmanager
async def federation(folder: Path, workloads: bool) -> AsyncIterator[Federation]:
    """A running federation of three members."""
    layout = Layout(folder)
    layout.prepare()
    fleet = folder / "fleet.yaml"
    switch = "true" if workloads else "false"
    fleet.write_text("members:\n" + "".join(f"- {{name: {name}, workloads: {switch}}}\n" for name in MEMBERS))
    made = Federation(FederationOptions(layout, fleet=fleet), lambda step: None)
    try:
        await made.start()
        yield made
    finally:
        await made.stop()


async def _figures(made: Federation, workloads: bool) -> list[Result]:
    hub = made.client(CONTEXT)
    load = Load(hub, {name: made.client(name) for name in MEMBERS}, "bench")
    control = psutil.Process(made.children[0].pid)
    async with load:
        await load.prepare()
        await load.create(N // 10, CONCURRENCY)  # warm: code paths, connections, informers
        single = [await load.create(1, 1) for _ in range(SINGLE)]
        await asyncio.sleep(3)
        before, cpu = await revision(hub), sum(control.cpu_times()[:2])
        many = await load.create(N, CONCURRENCY)
        await settled(hub)
        spent = sum(control.cpu_times()[:2]) - cpu
        counts = await _writes(hub, before)
    memory = control.memory_info().rss / MEGABYTE
    suffix = ", workload controllers on" if workloads else ""
    limit = None if workloads else 15.0
    figures = [
        Result(f"one Deployment in three members, p50{suffix}", 1e3 * median(s.slowest for s in single), "ms", limit),
        Result(
            f"{N} Deployments x 3 members{suffix}",
            N / many.seconds,
            "/s",
            None if workloads else 100.0,
            higher_is_better=True,
        ),
        Result(f"latency under that load, p50{suffix}", 1e3 * many.median, "ms"),
        Result(f"control plane, CPU a Deployment{suffix}", 1e3 * spent / N, "ms"),
        Result(f"control plane, resident memory at the end{suffix}", memory, "MB", None if workloads else 200.0),
    ]
    figures += [Result(f"writes a Deployment: {what}{suffix}", count / N, "") for what, count in counts.items()]
    return figures


class Arrivals:
    """How long Deployments took, from the answer to their creation until the last member had them."""

    def __init__(self, latencies: list[float], seconds: float) -> None:
        self.seconds = seconds
        self.median = median(latencies)
        self.slowest = max(latencies)


class Load:
    """Creates Deployments and watches them arrive."""

    def __init__(self, hub: Client, members: dict[str, Client], namespace: str, first: int = 0) -> None:
        self._deployments = hub.encoded(DEPLOYMENTS)
        self._hub = hub
        self._members = members
        self._namespace = namespace
        self._seen: dict[tuple[str, str], float] = {}
        self._arrived = asyncio.Event()
        self._number = first
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> "Load":
        for name in self._members:
            task = asyncio.create_task(self._watch(name))
            self._stack.callback(task.cancel)
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self._stack.aclose()

    async def prepare(self) -> None:
        """Make the namespace and the policy, and wait until members have the namespace."""
        await self._hub.resource(NAMESPACES).create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self._namespace}}
        )
        await self._hub.resource(POLICIES).create(policy(self._namespace, self._members))
        await asyncio.sleep(2)

    async def create(self, number: int, concurrency: int) -> Arrivals:
        """Create that many Deployments and wait until they are in all members."""
        limit = asyncio.Semaphore(concurrency)
        names = [f"d{self._number + position:05d}" for position in range(number)]
        self._number += number
        answered: dict[str, float] = {}

        async def one(name: str) -> None:
            async with limit:
                await self._deployments.create(_deployment(name, self._namespace), self._namespace)
                answered[name] = time.perf_counter()

        began = time.perf_counter()
        await asyncio.gather(*map(one, names))
        wanted = [(member, name) for name in names for member in self._members]
        async with asyncio.timeout(TIMEOUT):
            while not all(key in self._seen for key in wanted):
                self._arrived.clear()
                await self._arrived.wait()
        seconds = max(self._seen[key] for key in wanted) - began
        latencies = [max(self._seen[m, name] for m in self._members) - answered[name] for name in names]
        return Arrivals(latencies, seconds)

    async def submit(self) -> None:
        """Create one more Deployment and wait for the answer only."""
        self._number += 1
        await self._deployments.create(_deployment(f"d{self._number - 1:05d}", self._namespace), self._namespace)

    @property
    def arrived(self) -> int:
        """How many Deployments all members have."""
        seen = Counter(name for _, name in self._seen)
        return sum(times == len(self._members) for times in seen.values())

    async def _watch(self, member: str) -> None:
        collection = self._members[member].encoded(DEPLOYMENTS)
        reached = await revision(self._members[member])
        while True:  # Servers end watches after half an hour and more.
            async with collection.watch(Scope(self._namespace), reached) as batches:
                async for batch in batches:
                    now = time.perf_counter()
                    for event in batch:
                        which = identity(event.object)
                        reached = which.resource_version
                        if event.type is EventType.ADDED:
                            self._seen.setdefault((member, which.name), now)
                    self._arrived.set()


async def revision(client: Client) -> str:
    """The revision a server is at."""
    return (await client.encoded(DEPLOYMENTS).page(limit=1)).resource_version


async def settled(hub: Client) -> None:
    """Wait until nothing is written any more: status has come back, and events are out, or some of them."""
    last = ""
    for _ in range(EVENTS_OUT):
        if (now := await revision(hub)) == last:
            return
        last = now
        await asyncio.sleep(1.5)


async def _writes(hub: Client, since: str) -> dict[str, int]:
    """What was written after a revision, by kind, as the API server remembers it."""
    found = {"all": int(await revision(hub)) - int(since)}
    for type_ in (DEPLOYMENTS, BINDINGS, WORKS, EVENTS):
        count = 0
        async with hub.encoded(type_).watch(resource_version=since, timeoutSeconds="2") as batches:
            async for batch in batches:
                count += len(batch)
        found[type_.resource] = count
    return found


def policy(namespace: str, clusters: Iterable[str]) -> JSONObject:
    """Deployments of a namespace, their replicas in equal parts in these clusters."""
    weights = [{"targetCluster": {"clusterNames": [name]}, "weight": 1} for name in clusters]
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": "all", "namespace": namespace},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
            "placement": {
                "replicaScheduling": {
                    "replicaSchedulingType": "Divided",
                    "replicaDivisionPreference": "Weighted",
                    "weightPreference": {"staticWeightList": weights},
                }
            },
        },
    }


def _deployment(name: str, namespace: str) -> bytes:
    requests = '{"requests":{"cpu":"10m","memory":"16Mi"}}'
    return (
        '{"apiVersion":"apps/v1","kind":"Deployment",'
        f'"metadata":{{"name":"{name}","namespace":"{namespace}","labels":{{"app":"{name}"}}}},'
        f'"spec":{{"replicas":3,"selector":{{"matchLabels":{{"app":"{name}"}}}},'
        f'"template":{{"metadata":{{"labels":{{"app":"{name}"}}}},'
        f'"spec":{{"containers":[{{"name":"nginx","image":"nginx","resources":{requests}}}]}}}}}}}}'
    ).encode()
