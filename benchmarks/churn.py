"""Memory over cycles of work: Deployments created until they are in all members, deleted until nothing is left of them.

What a cycle leaves behind is bounded (events, the history that watches resume from, what recorders remember), so the
first cycles fill these bounds and the later ones must not grow. A figure is the growth from the middle to the last
cycle in percent: a leak of a few kilobytes for each Deployment shows, the allocator's own ups and downs do not.

With `KARMADA_BENCH_MINUTES` cycles go on for so long; with `KARMADA_BENCH_SAMPLES` memory after each is written to that
file, from which `benchmarks.memory_plot` draws.
"""

import asyncio
import os
import time
from pathlib import Path

import psutil
import uvloop

from benchmarks.memory_plot import Sample
from benchmarks.propagation import BINDINGS, CONCURRENCY, DEPLOYMENTS, MEGABYTE, MEMBERS, Load, temporary_federation
from benchmarks.result import Result
from karmada.machinery.client import Client
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource
from karmada.standalone.federation import CONTEXT

CYCLES, COUNT = 10, 300
MINUTES = float(os.environ.get("KARMADA_BENCH_MINUTES", "0"))
"""Of cycles, at least `CYCLES`."""
SPACE = "bench"
PATIENCE = 600
"""Looks until what was deleted is gone."""


def run() -> list[Result]:
    """All figures."""
    return uvloop.run(_measure())


async def _measure() -> list[Result]:
    async with temporary_federation() as made:
        clients = {name: made.client(name) for name in MEMBERS}
        processes = [psutil.Process(child.pid) for child in made.children]
        sizes = await cycles(made.client(CONTEXT), clients, processes)
    figures = []
    half = len(sizes) // 2
    for name, taken in zip(("control plane", "members"), zip(*sizes, strict=True), strict=True):
        figures += [
            Result(f"{name} after {half} cycles of {COUNT} Deployments", taken[half - 1], "MB"),
            Result(f"{name}, growth in the other half", 100 * (taken[-1] / taken[half - 1] - 1), "%", 5.0),
        ]
    return figures


async def cycles(hub: Client, members: dict[str, Client], processes: list[psutil.Process]) -> list[tuple[float, ...]]:
    """Megabytes of each process after every cycle."""
    samples: list[Sample] = []
    started = time.monotonic()
    async with Load(hub, members, SPACE) as load:
        await load.prepare()
        while len(samples) < CYCLES or samples[-1].minutes < MINUTES:
            await load.create(COUNT, CONCURRENCY)
            await hub.resource(DEPLOYMENTS).delete_collection(Scope(SPACE))
            for client, type_ in ((hub, BINDINGS), *((client, DEPLOYMENTS) for client in members.values())):
                await _gone(client, type_)
            await asyncio.sleep(3)
            sizes = tuple(process.memory_info().rss / MEGABYTE for process in processes)
            samples.append(Sample((time.monotonic() - started) / 60, (len(samples) + 1) * COUNT, sizes))
            print("  after a cycle: " + ", ".join(f"{size:.1f} MB" for size in sizes), flush=True)
            if path := os.environ.get("KARMADA_BENCH_SAMPLES"):
                await asyncio.to_thread(Path(path).write_text, "".join(f"{sample}\n" for sample in samples))
    return [sample.megabytes for sample in samples]


async def _gone(client: Client, type_: GroupVersionResource) -> None:
    for _ in range(PATIENCE):
        if not (await client.encoded(type_).page(limit=1)).items:
            return
        await asyncio.sleep(0.3)
    raise TimeoutError(f"{type_.resource} are still there")
