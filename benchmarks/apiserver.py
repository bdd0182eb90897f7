"""The API server as a process on SQLite, over TLS with client certificates: CPU per request, start, memory, watch.

Targets are half of what kube-apiserver with etcd was recorded to need elsewhere; `stock` measures both here.
"""

import asyncio
import base64
import http.client
import os
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.api_load import MAPS, RATE, WATCHERS, WatchCost, configmap, connect, cpu_of, request_costs, watch_cost
from benchmarks.result import Result

MANY = 10_000
STARTS = 5
WATCHES = 5
_TARGETS = {"GET 3.4 KB": 0.6, "LIST 500": 13.7, "CREATE 1 KB": 1.3, "PUT 1 KB": 1.2, "merge PATCH 1 KB": 1.25}
"""Milliseconds of CPU."""


def run() -> list[Result]:
    """All figures; the first start only leaves the bytecode behind, as an installation does."""
    with started():
        pass
    starts = []
    for _ in range(STARTS):
        with started() as server:
            starts.append(server.start_seconds)
    results = [Result("apiserver: start to ready", statistics.median(starts), "s", 0.5)]
    with started() as server:
        results += asyncio.run(_measure(server))
    results += _watch()
    with started() as server:
        results.append(asyncio.run(_many(server)))
    return results


@contextmanager
def started() -> "Iterator[ApiServerProcess]":
    """A fresh server on an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        server = ApiServerProcess(Path(folder))
        try:
            yield server
        finally:
            server.stop()


class ApiServerProcess:
    """A running `karmada-apiserver`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        started = time.perf_counter()
        command = [sys.executable, "-m", "karmada.apiserver.main", "--data-dir", str(folder), "--secure-port", "0"]
        quiet = subprocess.DEVNULL
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        self.process = subprocess.Popen(command, stdout=quiet, stderr=quiet, env=environment)
        config = folder / "admin.kubeconfig"
        while not config.exists() or not config.read_text().strip():
            time.sleep(0.005)
        self.port, self.context = client_context(config, folder)
        asker = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context)
        asker.request("GET", "/readyz")
        assert asker.getresponse().status == 200
        self.start_seconds = time.perf_counter() - started
        asker.close()

    def cpu(self) -> float:
        """Seconds of CPU used so far."""
        return cpu_of([self.process.pid])

    def memory(self) -> float:
        """Resident MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def stop(self) -> None:
        """End the process."""
        self.process.terminate()
        self.process.wait(30)


def client_context(kubeconfig: Path, folder: Path) -> tuple[int, ssl.SSLContext]:
    """The port of a server and the TLS context of its client, whose key is put into the folder."""
    import yaml

    config = yaml.safe_load(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=authority)
    pair = folder / "client.pem"
    data = (user["client-certificate-data"], user["client-key-data"])
    pair.write_bytes(b"".join(base64.b64decode(part) for part in data))
    context.load_cert_chain(pair)
    return int(cluster["server"].rsplit(":", 1)[1]), context


async def _measure(server: ApiServerProcess) -> list[Result]:
    results = [Result("apiserver: idle memory", server.memory(), "MiB", 60)]
    connections = await connect(server)
    for cost in await request_costs(server, connections):
        results += [
            Result(f"apiserver: {cost.name}, CPU per request", cost.cpu_ms, "ms", _TARGETS[cost.name]),
            Result(f"apiserver: {cost.name}", cost.per_second, "requests/s", higher_is_better=True),
        ]
    return results


def _watch() -> list[Result]:
    """The median of several runs: a machine that is mostly asleep, as at this rate, works at changing speeds."""

    async def watched(server: ApiServerProcess) -> WatchCost:
        return await watch_cost(server, await connect(server))

    costs = []
    for _ in range(WATCHES):
        with started() as server:
            costs.append(asyncio.run(watched(server)))
    cpu, middle, late = (statistics.median(figures) for figures in zip(*costs, strict=True))
    name = f"apiserver: watch, {WATCHERS} watchers at {RATE:g}/s"
    return [
        Result(f"{name}, CPU per event", cpu, "ms", 1.0),
        Result(f"{name}, p50", middle, "ms"),
        Result(f"{name}, p99", late, "ms", 20.0),
    ]


async def _many(server: ApiServerProcess) -> Result:
    """Memory that objects add to a server which has just been used for the first time."""
    connections = await connect(server)
    for number in range(20):
        await connections[0].call("POST", MAPS, configmap(f"first{number}", 2800))
    before = server.memory()

    async def worker(number: int) -> None:
        for index in range(number, MANY, len(connections)):
            await connections[number].call("POST", MAPS, configmap(f"m{index}", 2800))

    await asyncio.gather(*(worker(number) for number in range(len(connections))))
    return Result(f"apiserver: memory of {MANY:,} objects of 3 KB", server.memory() - before, "MiB", 60)
