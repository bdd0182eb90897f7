"""Search beside the reference's: a LIST of 10,000 pods through the proxy, and memory, with the same members.

    KARMADA_BENCH_CLUSTERS=20 python -m benchmarks search --against-reference FOLDER

The members of `benchmarks search` (1,000 pods of 4 KB each) serve both, one after the other, and each is asked by
itself, without an API server before it. The reference keeps pods whole; ours is measured so, and with the fields
trimmed that a registry may name.
"""

import asyncio
import multiprocessing
import shutil
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

import orjson
import psutil

from benchmarks.beside import CLUSTERS, aggregated, client, started
from benchmarks.result import Result
from benchmarks.search import GROUP, LIST, REGISTRY, Search
from benchmarks.search_members import MEMBERS, PODS, serve
from karmada.machinery.client import Client
from karmada.machinery.http.kubeconfig import load
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.resource import Scope
from karmada.machinery.transport import JSONObject
from karmada.membership import objects

LISTED = 10_000
ROUNDS = 7
LOOK, LOOKS, BUSY = 1.0, 5, 0.1
"""A program has loaded everything when it uses less than that share of a core for some looks."""
VERSION = "search.karmada.io/v1alpha1"
PLAIN: JSONObject = {**REGISTRY, "metadata": {"name": "pods"}}


class Figures(NamedTuple):
    """What one program was measured at."""

    seconds: float
    megabytes: float
    memory: float

    def results(self, side: str) -> list[Result]:
        """As lines of a table."""
        size = f"{MEMBERS * PODS:,} pods"
        return [
            Result(f"search, {side}: LIST of {LISTED:,} of {size}, median of {ROUNDS}", 1e3 * self.seconds, "ms"),
            Result(f"search, {side}: LIST of {LISTED:,}, size", self.megabytes, "MB"),
            Result(f"search, {side}: memory at {size}", self.memory, "MB"),
        ]


def beside(folder: Path) -> list[Result]:
    """The reference, then ours with whole pods, then with trimmed ones."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    with tempfile.TemporaryDirectory(prefix="karmada-bench-") as name:
        members = context.Process(target=serve, args=(there, Path(name)), daemon=True)
        members.start()
        there.close()
        here.recv()
        try:
            return asyncio.run(_compared(folder, Path(name)))
        finally:
            members.terminate()
            members.join()


async def _compared(anchors: Path, folder: Path) -> list[Result]:
    theirs = await _reference(anchors, folder)
    whole = await _ours(folder, PLAIN)
    trimmed = await _ours(folder, REGISTRY)
    return [
        *theirs.results("reference"),
        *whole.results("ours"),
        *trimmed.results("ours, trimmed"),
        Result("search: LIST of whole pods, share of the reference's time", whole.seconds / theirs.seconds, "", 0.1),
        Result(
            "search: LIST of trimmed pods, share of the reference's time", trimmed.seconds / theirs.seconds, "", 0.1
        ),
        Result("search: memory, whole pods, share of the reference's", whole.memory / theirs.memory, ""),
        Result("search: memory, trimmed pods, share of the reference's", trimmed.memory / theirs.memory, ""),
    ]


async def _reference(anchors: Path, folder: Path) -> Figures:
    async with started(anchors, {}) as (hub, control):
        # Its controllers would look at the members, which serve pods and little else, and at every pod.
        control["cm"].terminate()
        await _copy_clusters(client(folder / "admin.kubeconfig"), hub)
        etcd = ["--etcd-servers=http://127.0.0.1:2379", "--etcd-prefix=/karmada-search"]
        async with aggregated(anchors, hub, "search", [VERSION], etcd) as (port, process):
            target = load([anchors / "run/karmada.kubeconfig"]).target()
            transport = HttpTransport(target._replace(server=f"https://127.0.0.1:{port}"))
            return await _figures(transport, process, PLAIN)


async def _copy_clusters(source: Client, hub: Client) -> None:
    """Make the members known to another control plane, ready and with pods."""
    await hub.resource(objects.NAMESPACES).create(objects.namespace("clusters"))
    enabled = [{"groupVersion": "v1", "resources": [{"name": "pods", "kind": "Pod"}]}]
    for secret in (await source.resource(objects.SECRETS).list(Scope("clusters"))).items:
        await hub.resource(objects.SECRETS).create(_anew(secret), "clusters")
    for cluster in (await source.resource(CLUSTERS).list()).items:
        made = await hub.resource(CLUSTERS).create(_anew(cluster))
        made["status"] = {"conditions": cluster["status"]["conditions"], "apiEnablements": enabled}
        await hub.resource(CLUSTERS).update_status(made)


def _anew(obj: JSONObject) -> JSONObject:
    kept = {key: value for key, value in obj.items() if key in ("apiVersion", "kind", "spec", "type", "data")}
    return {**kept, "metadata": {"name": obj["metadata"]["name"]}}


async def _ours(folder: Path, registry: JSONObject) -> Figures:
    async with _search(folder) as search:
        return await _figures(search.client, psutil.Process(search.pid), registry)


@asynccontextmanager
async def _search(folder: Path) -> AsyncIterator[Search]:
    with tempfile.TemporaryDirectory(prefix="karmada-bench-") as name:
        for file in ("ca.crt", "search.kubeconfig", "admin.kubeconfig"):
            shutil.copy(folder / file, name)
        search = Search(Path(name))
        try:
            await search.started()
            yield search
        finally:
            await search.stop()


async def _figures(transport: HttpTransport, process: psutil.Process, registry: JSONObject) -> Figures:
    await transport.raw("POST", f"{GROUP}/resourceregistries", orjson.dumps(registry))
    await _loaded(process)
    seconds = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        async with transport.stream(f"{LIST}?limit={LISTED}") as pieces:  # 40 MB: more than clients take as one answer
            body = b"".join([piece async for piece in pieces])
        seconds.append(time.perf_counter() - began)
    if (found := len(orjson.loads(body)["items"])) != LISTED:
        raise AssertionError(f"the list has {found} pods")
    return Figures(median(seconds), len(body) / 1e6, process.memory_info().rss / 1e6)


async def _loaded(process: psutil.Process) -> None:
    calm, used = 0, sum(process.cpu_times()[:2])
    while calm < LOOKS:
        await asyncio.sleep(LOOK)
        now = sum(process.cpu_times()[:2])
        calm, used = calm + 1 if now - used < BUSY * LOOK else 0, now
