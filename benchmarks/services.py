"""Services across many clusters in one process: how soon a pod that became ready is an endpoint in every other cluster.

Every Service is exposed by a MultiClusterService from all clusters to all, and has its pods in one of them; members
have no workload controllers, so that what is measured is the way of the endpoints. For other sizes:
`python -m benchmarks.services --services 100 --clusters 5`.
"""

import argparse
import asyncio
import contextlib
import gc
import statistics
import sys
import time
from collections import Counter

import psutil
import uvloop

from benchmarks.result import Result
from karmada.api.feature_gates import DEFAULTS
from karmada.controllers.cluster_status import StatusOptions
from karmada.machinery.errors import NotFound
from karmada.machinery.options import Options
from karmada.machinery.transport import GroupVersionResource, JSONObject, Request, Verb
from karmada.simulator.spec import FleetSpec, MemberSpec, NodePool
from karmada.standalone.control_plane import ControlPlaneOptions
from karmada.testing.federation import Federation

SERVICES_COUNT, CLUSTERS = 1000, 20
CHANGES = 40
CONCURRENCY = 32
LONGEST = 3600.0
MEGABYTE = 1024 * 1024
SERVICES = GroupVersionResource("", "v1", "services")
SLICES = GroupVersionResource("discovery.k8s.io", "v1", "endpointslices")
EXPOSED = GroupVersionResource("networking.karmada.io", "v1alpha1", "multiclusterservices")
WORKS = ("work.karmada.io", "works")
WRITES = frozenset({Verb.CREATE, Verb.UPDATE, Verb.PATCH, Verb.DELETE})


def run(services: int = SERVICES_COUNT, clusters: int = CLUSTERS) -> list[Result]:
    """All figures."""
    return uvloop.run(_measure(services, clusters))


async def _measure(services: int, clusters: int) -> list[Result]:
    written: Counter[str] = Counter()

    def count_writes(cluster: str, request: Request) -> None:
        if request.verb in WRITES:
            written[cluster] += 1

    pools = (NodePool(count=1),)
    fleet = FleetSpec(tuple(MemberSpec(f"m{n:02}", node_pools=pools, workloads=False) for n in range(clusters)))
    gates = DEFAULTS.with_overrides({"MultiClusterService": True})
    # As in production: members are asked how they are every ten seconds.
    options = ControlPlaneOptions(options=Options(StatusOptions()), gates=gates, search=False)
    async with Federation(fleet=fleet, options=options, on_request=count_writes) as federation:
        bench = _Bench(federation, [member.name for member in fleet.members], written)
        empty = _memory()
        started = time.perf_counter()
        await bench.expose(services)
        seconds = time.perf_counter() - started
        gc.collect()
        full = _memory()
        what = f"{services} Services x {clusters} clusters"
        print(f"  {what}: exposed in {seconds:.0f} s, {bench.works} Works", file=sys.stderr)
        await bench.quiet()
        times, used, hub, members = await bench.changes(services)
    return [
        Result(f"services: {what}, until all endpoints are everywhere", seconds, "s"),
        Result("services: pod ready until in all consumers, p50", statistics.median(times), "s"),
        Result("services: pod ready until in all consumers, slowest", max(times), "s", 1.0),
        Result("services: processor time per change, members included", used, "s"),
        Result("services: writes per change in the control plane", hub, ""),
        Result("services: writes per change in members", members, ""),
        Result("services: memory of control plane and members", full - empty, "MB"),
    ]


class _Bench:
    """Services and their endpoints."""

    def __init__(self, federation: Federation, names: list[str], written: Counter[str]) -> None:
        self._federation = federation
        self._names = names
        self._written = written
        self._store = federation.plane.server.store
        self.works = 0

    def _provider(self, number: int) -> str:
        return self._names[number % len(self._names)]

    async def expose(self, count: int) -> None:
        """Make the Services, and wait until every cluster has all endpoints."""
        waiting = asyncio.Semaphore(CONCURRENCY)

        async def one(number: int) -> None:
            async with waiting:
                await self._expose(number)

        await asyncio.gather(*map(one, range(count)))
        async with asyncio.timeout(LONGEST):
            for number in range(count):
                await self._arrived(number, "10.0.0.1", pause=0.2)
        self.works = len(self._store.list(WORKS, "").items)

    async def _expose(self, number: int) -> None:
        name, hub = f"s{number}", self._federation.hub
        local = self._federation.members[self._provider(number)].client
        await local.resource(SLICES).create(_slice(name, "10.0.0.1"), "default")
        metadata = {"name": name, "namespace": "default"}
        ports = [{"name": "http", "port": 80, "protocol": "TCP"}]
        await hub.resource(SERVICES).create({"metadata": metadata, "spec": {"ports": ports}}, "default")
        await hub.resource(EXPOSED).create({"metadata": metadata, "spec": {"types": ["CrossCluster"]}}, "default")

    async def quiet(self) -> None:
        """Wait until events about what was made are written."""
        stored: Counter[str] = Counter()
        self._store.subscribe(lambda kind, event: stored.update([kind[1]]))
        for _ in range(300):
            before = stored["events"]
            await asyncio.sleep(2)
            if stored["events"] == before:
                return

    async def changes(self, count: int) -> tuple[list[float], float, float, float]:
        """Seconds until a pod that became ready is everywhere; per change, the processor time, and the writes in the
        control plane and in members."""
        times = []
        stored: Counter[str] = Counter()
        self._store.subscribe(lambda kind, event: stored.update([kind[1]]))
        before, used = self._written.total(), time.process_time()
        for step in range(CHANGES):
            number = step * 37 % count
            address = f"10.0.1.{step + 1}"
            local = self._federation.members[self._provider(number)].client
            started = time.perf_counter()
            await local.resource(SLICES).patch(f"s{number}", {"endpoints": [_endpoint(address)]}, "default")
            await self._arrived(number, address)
            times.append(time.perf_counter() - started)
        used = (time.process_time() - used) / CHANGES
        await asyncio.sleep(2)
        # Leases, heartbeats and other clockwork do not come of the changes.
        caused = {kind: stored[kind] / CHANGES for kind in ("works", "multiclusterservices", "events")}
        print("  per change: " + ", ".join(f"{number:g} {kind}" for kind, number in caused.items()), file=sys.stderr)
        return times, used, sum(caused.values()), (self._written.total() - before) / CHANGES

    async def _arrived(self, number: int, address: str, pause: float = 0.002) -> None:
        provider = self._provider(number)
        name = f"{provider}-s{number}"
        for cluster in self._names:
            if cluster == provider:
                continue
            slices = self._federation.members[cluster].client.resource(SLICES)
            while True:
                with contextlib.suppress(NotFound):
                    found = await slices.get(name, "default")
                    if found["endpoints"][0]["addresses"] == [address]:
                        break
                await asyncio.sleep(pause)


def _slice(name: str, address: str) -> JSONObject:
    marks = {
        "kubernetes.io/service-name": name,
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    }
    return {
        "metadata": {"name": name, "namespace": "default", "labels": marks},
        "addressType": "IPv4",
        "endpoints": [_endpoint(address)],
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
    }


def _endpoint(address: str) -> JSONObject:
    return {"addresses": [address], "conditions": {"ready": True}}


def _memory() -> float:
    return float(psutil.Process().memory_info().rss) / MEGABYTE


def main(arguments: list[str]) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.services", description=__doc__)
    parser.add_argument("--services", type=int, default=SERVICES_COUNT)
    parser.add_argument("--clusters", type=int, default=CLUSTERS)
    given = parser.parse_args(arguments)
    for result in run(given.services, given.clusters):
        print(f"{result.name:<60} {result.value:>10.3f} {result.unit}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
