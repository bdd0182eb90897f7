"""Our API server beside a stock kube-apiserver with etcd, both durable, under the same load on the same machine.

The figures are shares: our CPU for a request or an event, divided by that of kube-apiserver and etcd together. Targets:
half for requests; for an event of a busy watch a fifth, which is what 1 ms is of the 4.9 ms recorded elsewhere. A share
says more than milliseconds, as the speed of one machine can differ by half from hour to hour.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from benchmarks.api_load import RequestCost, Target, WatchCost, connect, cpu_of, request_costs, watch_cost
from benchmarks.apiserver import client_context, started
from benchmarks.result import Result
from karmada.testing.stage.programs import missing
from karmada.testing.stage.servers import Etcd, KubeApiServer

ROUNDS = 3
"""The machine may change its mind between two measurements; they take turns, and the best of each counts."""
Costs = tuple[list[RequestCost], WatchCost]


def run() -> list[Result]:
    """The shares; nothing where the stock programs can neither be found nor built."""
    if reason := missing():
        sys.stderr.write(f"stock: skipped, {reason}\n")
        return []
    rounds = [(_ours(), asyncio.run(_stock())) for _ in range(ROUNDS)]
    results = []
    for index, (name, _, _) in enumerate(rounds[0][0][0]):
        ours, theirs = (min(pair[side][0][index].cpu_ms for pair in rounds) for side in (0, 1))
        results += _compared(name, ours, theirs, 0.5)
    ours, theirs = (min(pair[side][1].cpu_ms for pair in rounds) for side in (0, 1))
    return results + _compared("an event for 50 watchers", ours, theirs, 0.204)


def _compared(name: str, ours: float, theirs: float, target: float) -> list[Result]:
    return [
        Result(f"stock: {name}, CPU of kube-apiserver and etcd", theirs, "ms"),
        Result(f"stock: {name}, our share of that", ours / theirs, "", target),
    ]


def _ours() -> Costs:
    with started() as server:
        return asyncio.run(_measure(server))


async def _stock() -> Costs:
    with tempfile.TemporaryDirectory() as folder:
        etcd = Etcd(Path(folder) / "etcd", durable=True)
        server = KubeApiServer("stock", Path(folder) / "server", etcd)
        async with etcd, server:
            return await _measure(_Stock(etcd, server))


async def _measure(server: Target) -> Costs:
    connections = await connect(server)
    return await request_costs(server, connections), await watch_cost(server, connections)


class _Stock:
    """A stock server as a target."""

    def __init__(self, etcd: Etcd, server: KubeApiServer) -> None:
        self._daemons = (etcd.daemon, server.daemon)
        self.port, self.context = client_context(server.kubeconfig, server.folder)

    def cpu(self) -> float:
        """Of both processes."""
        return cpu_of([daemon.pid for daemon in self._daemons if daemon.pid is not None])
