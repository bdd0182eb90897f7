"""Start-up of the command line: what a person waits for before the first line appears.

Each figure is the median of several runs of a fresh process. Where kubectl is installed, `get clusters` is run with
both in turns: the ratio of their CPU (user and system) is the figure, since others on the machine disturb wall time.
When the reference's `karmadactl` is there (REFERENCE_KARMADACTL names it), the same commands are timed with it.
"""

import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.result import Result

RUNS = 15
PROGRAM = [sys.executable, "-c", "import sys; from karmada.cli.entry import karmadactl; sys.exit(karmadactl())"]
NOTHING = [sys.executable, "-c", "pass"]


def run() -> list[Result]:
    """All figures."""
    with _control_plane() as kubeconfig:
        # Programs that are installed have their bytecode; here it is kept apart, and the first run writes it.
        environment = os.environ | {"KUBECONFIG": str(kubeconfig), "PYTHONPYCACHEPREFIX": str(kubeconfig.parent)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)

        def timed(program: list[str], *words: str) -> float:
            return _median(lambda: subprocess.run([*program, *words], env=environment, check=True, capture_output=True))

        results = [
            Result("cli: python itself", timed(NOTHING), "ms"),
            Result("cli: --help", timed(PROGRAM, "--help"), "ms", 120),
            Result("cli: version", timed(PROGRAM, "version"), "ms", 120),
            Result("cli: get --help", timed(PROGRAM, "get", "--help"), "ms", 120),
            Result("cli: get clusters", timed(PROGRAM, "get", "clusters"), "ms", 250),
        ]
        if shutil.which("kubectl"):
            ours, theirs = _in_turns([*PROGRAM, "get", "clusters"], ["kubectl", "get", "clusters"], environment)
            results += [
                Result("cli: get clusters, CPU", ours.cpu * 1000, "ms"),
                Result("cli: kubectl get clusters, CPU", theirs.cpu * 1000, "ms"),
                Result("cli: get clusters, CPU of kubectl's", ours.cpu / theirs.cpu, "times", 1.5),
                Result("cli: get clusters, wall time of kubectl's", ours.wall / theirs.wall, "times"),
            ]
        reference = shutil.which(os.environ.get("REFERENCE_KARMADACTL", ""))
        if reference:
            for words in (["--help"], ["version"], ["get", "clusters"]):
                name = f"cli: reference {' '.join(words)}"
                results.append(Result(name, timed([reference], *words), "ms"))
        return results


def _median(once: Callable[[], object]) -> float:
    once()
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        once()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


class _Cost(NamedTuple):
    """Seconds that a process took."""

    wall: float
    cpu: float


def _in_turns(one: list[str], other: list[str], environment: dict[str, str]) -> tuple[_Cost, _Cost]:
    """The medians of two commands that are run in turns."""
    costs: dict[int, list[_Cost]] = {0: [], 1: []}
    for turn in range(RUNS + 1):
        for index, command in enumerate((one, other)):
            cost = _cost(command, environment)
            if turn:  # The first turn writes bytecode and kubectl's cache of kinds.
                costs[index].append(cost)
    return _medians(costs[0]), _medians(costs[1])


def _medians(costs: list[_Cost]) -> _Cost:
    return _Cost(statistics.median(one.wall for one in costs), statistics.median(one.cpu for one in costs))


def _cost(command: list[str], environment: dict[str, str]) -> _Cost:
    start = time.perf_counter()
    started = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        raise subprocess.CalledProcessError(started.returncode, command)
    return _Cost(time.perf_counter() - start, used.ru_utime + used.ru_stime)


@contextmanager
def _control_plane() -> Iterator[Path]:
    """A control plane that listens, in a thread; its kubeconfig."""
    from karmada.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
    from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def start() -> tuple[ControlPlane, str]:
        made = ControlPlane(ControlPlaneOptions())
        await made.__aenter__()
        return made, await made.listen()

    async def stop() -> None:
        await plane.__aexit__(None, None, None)

    plane, address = asyncio.run_coroutine_threadsafe(start(), loop).result()
    authority = plane.server.identity.authority
    certificate, key = authority.issue_client("system:admin", ("system:masters",))
    with tempfile.TemporaryDirectory(prefix="karmada-bench-") as folder:
        path = Path(folder) / "config"
        write_kubeconfig(path, kubeconfig(address, authority.certificate_pem, certificate=certificate, key=key))
        try:
            yield path
        finally:
            asyncio.run_coroutine_threadsafe(stop(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


if __name__ == "__main__":
    for result in run():
        print(result)
