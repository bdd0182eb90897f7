"""karmada-search as its own program at 100 members and 100,000 pods: memory, a list, queries, and a restart.

Members and control plane are another process (`search_members`), so the memory and the times are those of search alone.
`KARMADA_BENCH_CLUSTERS` says how many members there are, with 1,000 pods each; at least 10.
"""

import asyncio
import base64
import json
import multiprocessing
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import quote

import orjson
import psutil

from benchmarks.gateway import _free_port
from benchmarks.result import Result
from benchmarks.search_members import MEMBERS, PODS, TRIMMED, serve
from karmada.machinery.errors import ApiError
from karmada.machinery.http.kubeconfig import load
from karmada.machinery.http.transport import HttpTransport

GROUP = "/apis/search.karmada.io/v1alpha1"
LIST = f"{GROUP}/proxying/karmada/proxy/api/v1/pods"
QUERIES = (
    "web",
    "ledger kind:Pod",
    "ledger status:Pending",
    "label:app=chat cluster:member004",
    "image:registry.example/mail:1.6",
    "web 004",
    "name:video-007-*",
    "10 5 3",
    "back queue age>1d",
    "running",
    "r",
    "kind:Pod",
    "status:run*",
    "image:registry.example/mail* back",
    "name:*-0042",
    "name:*-004*",
    "age<500w",
    "nosuchword running",
)
"""Also by what could be slow: one letter, everything, a beginning, an end, a middle, an empty intersection."""
EMPTY = {"nosuchword running"}
COUNT = f"{MEMBERS * PODS:,}"
ROUNDS = 30
REGISTRY = {
    "apiVersion": "search.karmada.io/v1alpha1",
    "kind": "ResourceRegistry",
    "metadata": {"name": "pods", "annotations": {"search.karmada.io/trimmed-fields": TRIMMED}},
    "spec": {"targetCluster": {}, "resourceSelectors": [{"apiVersion": "v1", "kind": "Pod"}]},
}


def run() -> list[Result]:
    """Measure one start from nothing and one restart."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    with tempfile.TemporaryDirectory(prefix="karmada-bench-") as name:
        folder = Path(name)
        members = context.Process(target=serve, args=(there, folder), daemon=True)
        members.start()
        there.close()
        here.recv()
        try:
            return asyncio.run(_measured(folder, here))
        finally:
            members.terminate()
            members.join()


async def _measured(folder: Path, members: Connection) -> list[Result]:
    results: list[Result] = []
    search = Search(folder)
    try:
        await search.started()
        began = time.perf_counter()
        await search.client.raw("POST", f"{GROUP}/resourceregistries", json.dumps(REGISTRY).encode())
        await search.serves_everything()
        results.append(Result(f"search: {COUNT} pods cached, from nothing", time.perf_counter() - began, "s"))
        await search.indexed()
        results.append(Result(f"search: {COUNT} pods indexed and kept, from nothing", time.perf_counter() - began, "s"))
        results += await _lists(search)
        results += await _queries(search)
        results.append(Result(f"search: memory at {COUNT} pods", search.memory(), "GB", 0.5))
    finally:
        await search.stop()
    before = _loads(members)
    began = time.perf_counter()
    search = Search(folder)
    try:
        await search.started()
        await search.serves_everything()
        results.append(Result(f"search: restart to serving all {COUNT} pods", time.perf_counter() - began, "s", 3.0))
        results.append(Result("search: lists at members for a restart", _loads(members) - before, "", 0))
        results.append(Result("search: memory after a restart", search.memory(), "GB", 0.5))
    finally:
        await search.stop()
    return results


async def _lists(search: "Search") -> list[Result]:
    seconds = []
    for _ in range(6):
        began = time.perf_counter()
        body = await search.client.raw("GET", f"{LIST}?limit=10000")
        seconds.append(time.perf_counter() - began)
    if len(orjson.loads(body)["items"]) != 10_000:
        raise AssertionError("the list has not 10,000 pods")
    return [
        Result("search: LIST of 10,000 pods through the proxy, best of 6", min(seconds) * 1e3, "ms"),
        Result("search: LIST of 10,000 pods, size", len(body) / 1e6, "MB"),
    ]


async def _queries(search: "Search") -> list[Result]:
    seconds: dict[str, list[float]] = {query: [] for query in QUERIES}
    for _ in range(ROUNDS):
        for query, took in seconds.items():
            began = time.perf_counter()
            found = orjson.loads(await search.client.raw("GET", f"{GROUP}/search/query?q={quote(query)}"))
            took.append(time.perf_counter() - began)
            if bool(found["items"]) is (query in EMPTY):
                raise AssertionError(f"{query} finds {len(found['items'])} objects")
    cuts = statistics.quantiles([each for took in seconds.values() for each in took], n=100)
    return [
        *(Result(f"search: query {query}, median", statistics.median(seconds[query]) * 1e3, "ms") for query in QUERIES),
        Result(f"search: query at {COUNT} pods, median", cuts[49] * 1e3, "ms"),
        Result(f"search: query at {COUNT} pods, p99", cuts[98] * 1e3, "ms", 50.0),
    ]


def _loads(members: Connection) -> int:
    members.send(True)
    found: int = members.recv()
    return found


class Search:
    """One run of the program, and a client of it."""

    def __init__(self, folder: Path) -> None:
        port = _free_port()
        self._file = folder / "search.sqlite"
        arguments = {
            "kubeconfig": folder / "search.kubeconfig",
            "client-ca-file": folder / "ca.crt",
            "storage": f"sqlite:///{folder}/registries.db",
            "cache-file": self._file,
            "cert-dir": folder / "certificates",
            "bind-address": "127.0.0.1",
            "secure-port": port,
        }
        start = [sys.executable, "-c", "from karmada.cli.entry import search; search()"]
        # A program that is installed has its bytecode; here it is kept apart, and the first run writes it.
        environment = os.environ | {"PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        command = [*start, *(f"--{name}={value}" for name, value in arguments.items())]
        self._process = subprocess.Popen(command, env=environment)
        target = load([folder / "admin.kubeconfig"]).target()
        self.client = HttpTransport(target._replace(server=f"https://127.0.0.1:{port}", insecure=True))

    async def started(self) -> None:
        """Wait until it answers."""
        await self._until(lambda: self.client.raw("GET", "/readyz"), bool)

    async def serves_everything(self) -> None:
        """Wait until all clusters are in the answers."""

        def whole(body: bytes) -> bool:
            version = orjson.loads(body)["metadata"]["resourceVersion"]
            return len(orjson.loads(base64.urlsafe_b64decode(version + "=" * (-len(version) % 4)))) == MEMBERS

        await self._until(lambda: self.client.raw("GET", f"{LIST}?limit=1"), whole)

    async def indexed(self) -> None:
        """Wait until everything is in the file."""
        while True:
            with sqlite3.connect(f"file:{self._file}?mode=ro", uri=True) as file:
                (whole,) = file.execute("select count(*) from collections where revision is not null").fetchone()
                (known,) = file.execute("select count(*) from objects").fetchone()
            file.close()
            if whole == MEMBERS and known == MEMBERS * PODS:
                return
            await asyncio.sleep(0.2)

    @property
    def pid(self) -> int:
        """Of its process."""
        return self._process.pid

    def memory(self) -> float:
        """What it has, in GB."""
        return float(psutil.Process(self._process.pid).memory_info().rss) / 1e9

    async def stop(self) -> None:
        """End it as an orchestrator does."""
        await self.client.close()
        self._process.terminate()
        self._process.wait(30)

    async def _until(self, ask: Callable[[], Awaitable[bytes]], holds: Callable[[bytes], bool]) -> None:
        while True:
            try:
                if holds(await ask()):
                    return
            except (ApiError, ValueError, KeyError):
                if self._process.poll() is not None:
                    raise RuntimeError("karmada-search has ended") from None
            await asyncio.sleep(0.02)
