"""Load on an API server over TLS with client certificates: what a request, and an event of a busy watch, costs it.

The same load serves for our server and for the stock one. CPU is that of the server's processes; rates and latencies
depend on the machine and on what else runs on it.
"""

import asyncio
import json
import os
import ssl
import statistics
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

CONNECTIONS = 16
SECONDS = 2.0
DEPLOYMENTS = 500
WATCHERS, EVENTS, RATE = 50, 1000, 200.0
MAPS = "/api/v1/namespaces/default/configmaps"
_DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
_TICK = os.sysconf("SC_CLK_TCK")
Body = dict[str, Any] | None


class Target(Protocol):
    """A server under load."""

    port: int
    context: ssl.SSLContext

    def cpu(self) -> float:
        """Seconds of CPU used so far."""
        ...


class RequestCost(NamedTuple):
    """What one kind of request costs."""

    name: str
    cpu_ms: float
    per_second: float


class WatchCost(NamedTuple):
    """What an event costs that `WATCHERS` see; the latencies are from the write to each of them."""

    cpu_ms: float
    p50_ms: float
    p99_ms: float


def cpu_of(processes: Iterable[int]) -> float:
    """Seconds of CPU that processes used so far."""
    spent = 0
    for process in processes:
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        spent += int(fields[11]) + int(fields[12])
    return spent / _TICK


class Connection:
    """One kept-alive connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, server: Target) -> "Connection":
        return cls(*await asyncio.open_connection("127.0.0.1", server.port, ssl=server.context, limit=4 << 20))

    async def call(self, method: str, path: str, body: Body = None, kind: str = "application/json") -> bytes:
        """Send a request and read its whole answer."""
        data = b"" if body is None else json.dumps(body, separators=(",", ":")).encode()
        self.send(method, path, data, kind)
        head = await self.reader.readuntil(b"\r\n\r\n")
        fields = head.lower()
        if b"transfer-encoding: chunked" in fields:
            answer = await self._chunks()
        else:
            answer = await self.reader.readexactly(int(fields.split(b"content-length:")[1].split(b"\r\n")[0]))
        if not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")):
            raise RuntimeError(f"{method} {path}: {answer[:300]!r}")
        return answer

    async def _chunks(self) -> bytes:
        parts = []
        while size := int(await self.reader.readline(), 16):
            parts.append(await self.reader.readexactly(size))
            await self.reader.readline()
        await self.reader.readline()
        return b"".join(parts)

    def send(self, method: str, path: str, data: bytes = b"", kind: str = "application/json") -> None:
        """Only send."""
        head = f"{method} {path} HTTP/1.1\r\nHost: h\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n\r\n"
        self.writer.write(head.encode() + data)


def deployment(name: str) -> dict[str, Any]:
    """A Deployment of 3.4 KB once it is stored."""
    env = [{"name": f"E{i}", "value": "v" * 20} for i in range(8)]
    pod = {"metadata": {"labels": {"app": "b"}}, "spec": {"containers": [{"name": "c", "image": "img:1", "env": env}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "b"}}, "template": pod}
    metadata = {"name": name, "labels": {"app": "b"}, "annotations": {"note": "n" * 900}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def configmap(name: str, size: int = 900, **data: str) -> dict[str, Any]:
    """A ConfigMap of about `size` bytes."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "x" * size, **data}}


async def connect(server: Target) -> list[Connection]:
    """The connections that carry the load."""
    return [await Connection.open(server) for _ in range(CONNECTIONS)]


async def request_costs(server: Target, connections: list[Connection]) -> list[RequestCost]:
    """What each kind of request costs when all connections ask at once."""
    first = connections[0]
    for number in range(DEPLOYMENTS):
        await first.call("POST", _DEPLOYMENTS, deployment(f"d{number:04}"))
    for number in range(CONNECTIONS):
        await first.call("POST", MAPS, configmap(f"u{number}"))
    count = iter(range(10**9))

    async def put(connection: Connection, worker: int) -> None:
        await connection.call("PUT", f"{MAPS}/u{worker}", configmap(f"u{worker}", n=str(next(count))))

    async def patch(connection: Connection, worker: int) -> None:
        change = {"data": {"p": str(next(count))}}
        await connection.call("PATCH", f"{MAPS}/u{worker}", change, "application/merge-patch+json")

    async def get(connection: Connection, worker: int) -> None:
        await connection.call("GET", f"{_DEPLOYMENTS}/d0000")

    async def list_all(connection: Connection, worker: int) -> None:
        await connection.call("GET", _DEPLOYMENTS)

    async def create(connection: Connection, worker: int) -> None:
        await connection.call("POST", MAPS, configmap(f"c{next(count)}"))

    loads = (
        ("GET 3.4 KB", get),
        ("LIST 500", list_all),
        ("CREATE 1 KB", create),
        ("PUT 1 KB", put),
        ("merge PATCH 1 KB", patch),
    )
    return [await _load(server, connections, name, work) for name, work in loads]


async def _load(
    server: Target, connections: list[Connection], name: str, work: Callable[[Connection, int], Awaitable[None]]
) -> RequestCost:
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
    return RequestCost(name, spent * 1000 / done, done / elapsed)


async def watch_cost(server: Target, connections: list[Connection]) -> WatchCost:
    """What an event costs: evenly spaced writes, each of which all watchers see."""
    first = connections[0]
    sent: dict[bytes, float] = {}
    delays: list[float] = []
    for number in range(20):
        await first.call("POST", MAPS, configmap(f"e{number}"))
    version = json.loads(await first.call("GET", f"{MAPS}?limit=1"))["metadata"]["resourceVersion"]

    async def watcher() -> None:
        connection = await Connection.open(server)
        connection.send("GET", f"{MAPS}?watch=1&resourceVersion={version}")
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
            path = f"{MAPS}/e{number % 20}"
            await connections[worker].call("PUT", path, configmap(f"e{number % 20}", seq=key))

    cpu, started = server.cpu(), time.perf_counter()
    writes = []
    for number in range(EVENTS):
        await asyncio.sleep(max(0.0, started + number / RATE - time.perf_counter()))
        writes.append(asyncio.create_task(write(number)))
    await asyncio.gather(*writes, *watchers)
    spent = server.cpu() - cpu
    ordered = sorted(delays)
    middle, late = statistics.median(ordered), ordered[int(len(ordered) * 0.99)]
    return WatchCost(spent * 1000 / EVENTS, middle * 1000, late * 1000)
