"""`karmada up`: seconds until three members are ready, and what the control plane costs while nothing happens.

A first start makes keys and databases; the figure is that of the second, as on a machine that is in use. Idle is
measured after a pause, in which the members were asked several times how they are; three members, no workloads.
CPU time comes in ticks of 10 ms, so an idle share below a tenth of a percent is no more than "hardly any".
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from benchmarks.result import Result
from karmada.standalone.federation import Federation, FederationOptions
from karmada.standalone.layout import Layout

STARTS = 3
SETTLE = 15.0
IDLE = 30.0
MEGABYTE = 1e6


def run() -> list[Result]:
    """All figures."""
    return [*asyncio.run(_up()), _first_use(), *asyncio.run(_fixture())]


async def _up() -> list[Result]:
    with tempfile.TemporaryDirectory(prefix="karmada-bench-") as folder:
        layout = Layout(Path(folder))
        layout.prepare()
        first = await _start_and_stop(layout)
        warm = min([await _start_and_stop(layout) for _ in range(STARTS)])
        federation = Federation(FederationOptions(layout), lambda step: None)
        await federation.start()
        try:
            await asyncio.sleep(SETTLE)
            memory, share = await _idle(federation.children[0].pid or 0)
            members, _ = await _idle(federation.children[1].pid or 0, seconds=0)
        finally:
            await federation.stop()
    return [
        Result("karmada up, three members ready, first time", first, "s"),
        Result("karmada up, three members ready, warm", warm, "s", target=3.0),
        Result("control plane, idle, resident memory", memory, "MB", target=130.0),
        Result("control plane, idle, CPU", share, "% of a core", target=2.0),
        Result("three simulated members, idle, resident memory", members, "MB"),
    ]


async def _start_and_stop(layout: Layout) -> float:
    federation = Federation(FederationOptions(layout), lambda step: None)
    started = time.perf_counter()
    try:
        await federation.start()
        return time.perf_counter() - started
    finally:
        await federation.stop()


async def _idle(pid: int, seconds: float = IDLE) -> tuple[float, float]:
    """Resident megabytes, and the share of a core in percent."""
    process = psutil.Process(pid)
    before = sum(process.cpu_times()[:2])
    await asyncio.sleep(seconds)
    spent = sum(process.cpu_times()[:2]) - before
    return process.memory_info().rss / MEGABYTE, 100 * spent / seconds if seconds else 0.0


_CONFTEST = """
import time, pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    item.config.started = time.perf_counter()
"""
_TEST = """
import asyncio, time

def test_first_use(federation, pytestconfig):
    async def ready():
        async with federation(members=3):
            print("seconds", time.perf_counter() - pytestconfig.started)

    asyncio.run(ready())
"""


def _first_use() -> Result:
    """A project's first test with the fixture, imports included: pytest in a process of its own, bytecode in place."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory(prefix="karmada-bench-") as folder:
        Path(folder, "conftest.py").write_text(_CONFTEST)
        Path(folder, "test_first_use.py").write_text(_TEST)
        command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", folder]
        times = []
        for _ in range(STARTS + 1):
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
            times.append(next(float(line.split()[-1]) for line in done.stdout.splitlines() if "seconds" in line))
    return Result("federation(members=3) as a fixture, ready, imports included", min(times[1:]), "s", target=1.5)


async def _fixture() -> list[Result]:
    """What a test waits for: the first of a process, and the later ones, which take over what all have alike."""
    from karmada.testing.federation import Federation as Embedded

    times = []
    for _ in range(6):
        started = time.perf_counter()
        async with Embedded(members=3):
            times.append(1000 * (time.perf_counter() - started))
    return [
        Result("federation(members=3) in a test, ready, first of a process", times[0], "ms", target=300.0),
        Result("federation(members=3) in a test, ready", min(times[1:]), "ms", target=300.0),
    ]
