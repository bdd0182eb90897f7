"""Twice as many Deployments as the control plane can carry, and a second tenant who wants one now and then.

One tenant's burst shows the capacity. Then he creates twice that much for some time, whether or not anything arrives,
while another one, in a namespace of his own, creates a Deployment, waits until it is in all members, and creates the
next. What counts: how much of the storm is refused and whether the rest arrives; how long the second tenant waits,
compared with quiet times; how much memory the storm takes beside the objects that it leaves; and how long after its end
the second tenant is served as before. Longer storms: `KARMADA_BENCH_SECONDS=300 python -m benchmarks overload`.
"""

import asyncio
import os
import time
from contextlib import suppress
from statistics import median, quantiles

import psutil
import uvloop

from benchmarks.propagation import CONCURRENCY, DEPLOYMENTS, MEGABYTE, MEMBERS, Load, temporary_federation
from benchmarks.result import Result
from karmada.machinery.errors import ApiError
from karmada.machinery.resource import Scope
from karmada.standalone.federation import CONTEXT, Federation

SECONDS = float(os.environ.get("KARMADA_BENCH_SECONDS", "30"))
BURST = 100
CALM = 15
FACTOR = 2.0
RECOVERED = 3.0
"""Times as long as in quiet times is as before."""
PATIENCE = 240.0
KILOBYTES_EACH = 41.0
"""What a Deployment takes with its binding and Works, and with what controllers know of them (`benchmarks restart` with
30,000). The rest is the storm's own."""


def run() -> list[Result]:
    """All figures."""
    return uvloop.run(_measure())


async def _measure() -> list[Result]:
    async with temporary_federation() as made:
        return await _storm(made)


async def _storm(made: Federation) -> list[Result]:
    hub, members = made.client(CONTEXT), {name: made.client(name) for name in MEMBERS}
    process = psutil.Process(made.children[0].pid)
    another = made.client(CONTEXT)  # Requests that were refused wait in the client before they are tried again.
    async with Load(another, members, "storm") as storm, Load(hub, members, "second") as second:
        await storm.prepare()
        await second.prepare()
        await storm.create(BURST // 2, CONCURRENCY)
        capacity = BURST / (await storm.create(BURST, CONCURRENCY)).seconds
        await asyncio.sleep(5)
        calm = [(await second.create(1, 1)).slowest for _ in range(CALM)]
        before = process.memory_info().rss / MEGABYTE
        raging = asyncio.create_task(_rage(storm, FACTOR * capacity))
        waits, peak = [], before
        while not raging.done():
            waits.append((await second.create(1, 1)).slowest)
            peak = max(peak, process.memory_info().rss / MEGABYTE)
        asked = await raging
        recovered = await _recovery(second, median(calm))
        accepted = len((await hub.encoded(DEPLOYMENTS).list(Scope("storm"))).items)
        arrived = storm.arrived
    usual, slow = median(calm), quantiles(waits, n=20)[-1] if len(waits) > 1 else max(waits)
    return [
        Result("capacity", capacity, "Deployments/s"),
        Result(f"asked for in {SECONDS:g} s of storm", asked / SECONDS, "Deployments/s"),
        Result("accepted", (accepted - 1.5 * BURST) / SECONDS, "Deployments/s"),
        Result("of these in all members when it had been quiet again", 100 * arrived / accepted, "%"),
        Result("second tenant, in quiet times, p50", 1e3 * usual, "ms"),
        Result("second tenant, in the storm, p50", 1e3 * median(waits), "ms"),
        Result("second tenant, in the storm, p95", 1e3 * slow, "ms"),
        Result("second tenant, times as long in the storm, p50", median(waits) / usual, ""),
        Result("memory before the storm", before, "MB"),
        Result("memory in the storm, most", peak, "MB"),
        Result("without what was accepted", peak - before - accepted * KILOBYTES_EACH / 1024, "MB", 150.0),
        Result("until the second tenant is served as before", recovered, "s", 30.0),
    ]


async def _rage(load: Load, rate: float) -> int:
    """Ask for Deployments at a rate, without waiting for anything; how many. What waits at the end is given up."""
    began, number, under_way = time.perf_counter(), 0, set[asyncio.Task[None]]()
    while (passed := time.perf_counter() - began) < SECONDS:
        while number < passed * rate:
            task = asyncio.create_task(_one(load))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
            number += 1
        await asyncio.sleep(0.02)
    for task in list(under_way):
        task.cancel()
    await asyncio.gather(*under_way, return_exceptions=True)
    return number


async def _one(load: Load) -> None:
    with suppress(ApiError):  # refused because there are too many: that is what a limit is for
        await load.submit()


async def _recovery(load: Load, usual: float) -> float:
    """Seconds until three in a row take about as long as in quiet times."""
    began, good = time.perf_counter(), 0
    while good < 3 and time.perf_counter() - began < PATIENCE:
        good = good + 1 if (await load.create(1, 1)).slowest < RECOVERED * usual else 0
    return time.perf_counter() - began
