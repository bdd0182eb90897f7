"""The API server as a process on SQLite, over TLS with client certificates: CPU per request, start, memory, watch.

Targets are half of what kube-apiserver with etcd was measured to need (see issue 4). CPU is that of the server process;
rates and latencies depend on the machine and on what else runs on it.
"""

import asyncio
import base64
import http.client
import json
import os
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.result import Result

CONNECTIONS = 16
SECONDS = 2.0
DEPLOYMENTS = 500
WATCHERS, EVENTS, RATE = 50, 1000, 200.0
MANY = 10_000
STARTS = 5
_TICK = os.sysconf("SC_CLK_TCK")
Body = dict[str, Any] | None


def run() -> list[Result]:
    """All figures; the first start only leaves the bytecode behind, as an installation does."""
    with _started():
        pass
    starts = []
    for _ in range(STARTS):
        with _started() as server:
            starts.append(server.start_seconds)
    results = [Result("apiserver: start to ready", statistics.median(starts), "s", 0.5)]
    with _started() as server:
        results += asyncio.run(_measure(server))
    with _started() as server:
        results.append(asyncio.run(_many(server)))
    return results


@contextmanager
def _started() -> "Iterator[_Server]":
    """A fresh server on an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        server = _Server(Path(folder))
        try:
            yield server
        finally:
            server.stop()


class _Server:
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
        self._read(config)
        asker = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context)
        asker.request("GET", "/readyz")
        assert asker.getresponse().status == 200
        self.start_seconds = time.perf_counter() - started
        asker.close()

    def _read(self, path: Path) -> None:
        import yaml

        config = yaml.safe_load(path.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.port = int(cluster["server"].rsplit(":", 1)[1])
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self.context = ssl.create_default_context(cadata=authority)
        pair = self.folder / "client.pem"
        data = (user["client-certificate-data"], user["client-key-data"])
        pair.write_bytes(b"".join(base64.b64decode(part) for part in data))
        self.context.load_cert_chain(pair)

    def cpu(self) -> float:
        """Seconds of CPU used so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / _TICK

    def memory(self) -> float:
        """Resident MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def stop(self) -> None:
        """End the process."""
        self.process.terminate()
        self.process.wait(30)


class _Connection:
    """One kept-alive connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, server: _Server) -> "_Connection":
        return cls(*await asyncio.open_connection("127.0.0.1", server.port, ssl=server.context, limit=4 << 20))

    async def call(self, method: str, path: str, body: Body = None, kind: str = "application/json") -> bytes:
        """Send a request and read its whole answer."""
        data = b"" if body is None else json.dumps(body, separators=(",", ":")).encode()
        self.send(method, path, data, kind)
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        answer = await self.reader.readexactly(length)
        if not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")):
            raise RuntimeError(f"{method} {path}: {answer[:300]!r}")
        return answer

    def send(self, method: str, path: str, data: bytes = b"", kind: str = "application/json") -> None:
        """Only send."""
        head = f"{method} {path} HTTP/1.1\r\nHost: h\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n\r\n"
        self.writer.write(head.encode() + data)


def _deployment(name: str) -> dict[str, Any]:
    env = [{"name": f"E{i}", "value": "v" * 20} for i in range(8)]
    pod = {"metadata": {"labels": {"app": "b"}}, "spec": {"containers": [{"name": "c", "image": "img:1", "env": env}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "b"}}, "template": pod}
    metadata = {"name": name, "labels": {"app": "b"}, "annotations": {"note": "n" * 900}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def _configmap(name: str, size: int = 900, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "x" * size, **data}}


async def _measure(server: _Server) -> list[Result]:
    idle = server.memory()
    connections = [await _Connection.open(server) for _ in range(CONNECTIONS)]
    first = connections[0]
    maps, deployments = "/api/v1/namespaces/default/configmaps", "/apis/apps/v1/namespaces/default/deployments"
    for number in range(DEPLOYMENTS):
        await first.call("POST", deployments, _deployment(f"d{number:04}"))
    for number in range(CONNECTIONS):
        await first.call("POST", maps, _configmap(f"u{number}"))
    count = iter(range(10**9))

    async def put(connection: _Connection, worker: int) -> None:
        await connection.call("PUT", f"{maps}/u{worker}", _configmap(f"u{worker}", n=str(next(count))))

    async def patch(connection: _Connection, worker: int) -> None:
        change = {"data": {"p": str(next(count))}}
        await connection.call("PATCH", f"{maps}/u{worker}", change, "application/merge-patch+json")

    async def get(connection: _Connection, worker: int) -> None:
        await connection.call("GET", f"{deployments}/d0000")

    async def list_all(connection: _Connection, worker: int) -> None:
        await connection.call("GET", deployments)

    async def create(connection: _Connection, worker: int) -> None:
        await connection.call("POST", maps, _configmap(f"c{next(count)}"))

    results = [
        Result("apiserver: idle memory", idle, "MiB", 60),
    ]
    loads = (
        ("GET 3.4 KB", get, 0.6),
        ("LIST 500", list_all, 13.7),
        ("CREATE 1 KB", create, 1.3),
        ("PUT 1 KB", put, 1.2),
        ("merge PATCH 1 KB", patch, 1.25),
    )
    for name, work, target in loads:
        results += await _load(server, connections, name, work, target)
    results += await _watch(server, connections, maps)
    return results


async def _load(
    server: _Server,
    connections: list[_Connection],
    name: str,
    work: Callable[[_Connection, int], Awaitable[None]],
    target: float,
) -> list[Result]:
    done = 0
    end = time.perf_counter() + SECONDS

    async def worker(number: int) -> None:
        nonlocal done
        while time.perf_counter() < end:
            await work(connections[number], number)
            done += 1

    cpu, started = server.cpu(), time.perf_counter()
    await asyncio.gather(*(worker(number) for number in range(len(connections))))
    elapsed, spent = time.perf_counter() - started, server.cpu() - cpu
    return [
        Result(f"apiserver: {name}, CPU per request", spent * 1000 / done, "ms", target),
        Result(f"apiserver: {name}", done / elapsed, "requests/s", higher_is_better=True),
    ]


async def _watch(server: _Server, connections: list[_Connection], maps: str) -> list[Result]:
    first = connections[0]
    sent: dict[bytes, float] = {}
    delays: list[float] = []
    for number in range(20):
        await first.call("POST", maps, _configmap(f"e{number}"))
    version = json.loads(await first.call("GET", f"{maps}?limit=1"))["metadata"]["resourceVersion"]

    async def watcher() -> None:
        connection = await _Connection.open(server)
        connection.send("GET", f"{maps}?watch=1&resourceVersion={version}")
        await connection.reader.readuntil(b"\r\n\r\n")
        ready.release()
        seen = 0
        while seen < EVENTS:
            line = await connection.reader.readline()
            at = line.find(b'"seq":"')
            if at >= 0:
                seen += 1
                delays.append(time.perf_counter() - sent[line[at + 7 : line.index(b'"', at + 7)]])
        connection.writer.close()

    ready = asyncio.Semaphore(0)
    watchers = [asyncio.create_task(watcher()) for _ in range(WATCHERS)]
    for _ in range(WATCHERS):
        await ready.acquire()
    # Single writes, evenly spaced; a late answer does not hold the next one back.
    locks = [asyncio.Lock() for _ in connections]

    async def write(number: int) -> None:
        worker = number % len(connections)
        key = f"s{number}"
        sent[key.encode()] = time.perf_counter()
        async with locks[worker]:
            path = f"{maps}/e{number % 20}"
            await connections[worker].call("PUT", path, _configmap(f"e{number % 20}", seq=key))

    cpu, started = server.cpu(), time.perf_counter()
    writes = []
    for number in range(EVENTS):
        await asyncio.sleep(max(0.0, started + number / RATE - time.perf_counter()))
        writes.append(asyncio.create_task(write(number)))
    await asyncio.gather(*writes, *watchers)
    spent = server.cpu() - cpu
    ordered = sorted(delays)
    name = f"apiserver: watch, {WATCHERS} watchers at {RATE:g}/s"
    return [
        Result(f"{name}, CPU per event", spent * 1000 / EVENTS, "ms", 1.0),
        Result(f"{name}, p50", statistics.median(ordered) * 1000, "ms"),
        Result(f"{name}, p99", ordered[int(len(ordered) * 0.99)] * 1000, "ms", 20.0),
    ]


async def _many(server: _Server) -> Result:
    """Memory that objects add to a server which has just been used for the first time."""
    maps = "/api/v1/namespaces/default/configmaps"
    connections = [await _Connection.open(server) for _ in range(CONNECTIONS)]
    for number in range(20):
        await connections[0].call("POST", maps, _configmap(f"first{number}", 2800))
    before = server.memory()

    async def worker(number: int) -> None:
        for index in range(number, MANY, len(connections)):
            await connections[number].call("POST", maps, _configmap(f"m{index}", 2800))

    await asyncio.gather(*(worker(number) for number in range(len(connections))))
    return Result(f"apiserver: memory of {MANY:,} objects of 3 KB", server.memory() - before, "MiB", 60)
