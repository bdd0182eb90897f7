"""karmada-gateway between 32 clients and a backend, beside nginx or HAProxy on the same backend where there is one.

Requests per second of one core: requests divided by the processor time of the proxy alone. Times are those of the same
load, which the clients offer as fast as they are answered.
"""

import asyncio
import multiprocessing
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from benchmarks.result import Result

CONNECTIONS = 32
REQUESTS = 16_000
WARM_UP = 2_000
BODY = b"x" * 1000
HOST = "shop.example.com"


class Figures(NamedTuple):
    """What a proxy did."""

    per_core: float
    p99: float


def run() -> list[Result]:
    """Measure the gateway, and what else there is."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    backend = context.Process(target=_run, args=(_backend, there, 0), daemon=True)
    backend.start()
    port = here.recv()
    try:
        own = _own(port)
        results = [
            Result("gateway: requests per second and core, 1 KB", own.per_core, "1/s", None, higher_is_better=True),
            Result("gateway: p99 of a request, 32 clients at full speed", own.p99 * 1e3, "ms"),
        ]
        for name, start in (("nginx", _nginx), ("haproxy", _haproxy)):
            if shutil.which(name) is None:
                print(f"  {name} is not installed here: nothing to compare with", file=sys.stderr)
                continue
            other = _other(start, port)
            share = own.per_core / other.per_core
            results += [
                Result(f"gateway: share of {name}'s requests per core", share, "", 0.5, higher_is_better=True),
                Result(f"gateway: p99 of {name} on the same backend", other.p99 * 1e3, "ms"),
            ]
        return results
    finally:
        backend.terminate()
        backend.join()


def _own(backend: int) -> Figures:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_run, args=(_gateway, there, backend), daemon=True)
    process.start()
    try:
        return _measured(here.recv(), [psutil.Process(process.pid)])
    finally:
        process.terminate()
        process.join()


def _other(start: "Callable[[Path, int, int], list[str]]", backend: int) -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        port = _free_port()
        process = subprocess.Popen(start(Path(folder), port, backend), stdout=subprocess.DEVNULL)
        try:
            for _ in range(200):
                if _answers(port):
                    break
                time.sleep(0.02)
            whole = psutil.Process(process.pid)
            return _measured(port, [whole, *whole.children(recursive=True)])
        finally:
            process.terminate()
            process.wait()


def _measured(port: int, processes: list[psutil.Process]) -> Figures:
    asyncio.run(_load(port, WARM_UP))
    before = _processor_time(processes)
    seconds = asyncio.run(_load(port, REQUESTS))
    used = _processor_time(processes) - before
    return Figures(REQUESTS / used, statistics.quantiles(seconds, n=100)[98])


def _processor_time(processes: list[psutil.Process]) -> float:
    return sum(times.user + times.system for times in (process.cpu_times() for process in processes))


async def _load(port: int, requests: int) -> list[float]:
    request = f"GET /cart?item=7 HTTP/1.1\r\nHost: {HOST}\r\nAccept: */*\r\n\r\n".encode()
    seconds: list[float] = []

    async def one() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(requests // CONNECTIONS):
            started = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise AssertionError(head)
            await reader.readexactly(len(BODY))
            seconds.append(time.perf_counter() - started)
        writer.close()

    await asyncio.gather(*[one() for _ in range(CONNECTIONS)])
    return seconds


def _run(serve: "Callable[[Connection, int], Coroutine[Any, Any, None]]", pipe: Connection, backend: int) -> None:
    import uvloop

    uvloop.run(serve(pipe, backend))


async def _backend(pipe: Connection, _: int) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY

    class Backend(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport = transport

        def data_received(self, data: bytes) -> None:
            self.transport.write(answer)  # type: ignore[attr-defined]

    server = await asyncio.get_running_loop().create_server(Backend, "127.0.0.1", 0)
    pipe.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


async def _gateway(pipe: Connection, backend: int) -> None:
    from karmada.gateway.balancing import Balancer
    from karmada.gateway.endpoints import Endpoint
    from karmada.gateway.exchange import Connections, Destination
    from karmada.gateway.metrics import GatewayMetrics
    from karmada.gateway.proxy import Gateway
    from karmada.gateway.routes import Host, IngressKey, Route, Table
    from karmada.gateway.rules import Backend
    from karmada.gateway.upstream_routes import UpstreamRoute
    from karmada.machinery.httpserver.server import HttpServer

    key = IngressKey("default", "shop")
    route = Route(key, Backend("default", "shop", 80))
    table = Table({HOST: Host(key, prefixes={"": (route,)})})
    balancer = Balancer([Endpoint(f"member{number}", "default", "p", "127.0.0.1", backend) for number in (1, 2)])
    way = UpstreamRoute(Destination("127.0.0.1", backend))

    async def find(endpoint: Endpoint) -> UpstreamRoute:
        return way

    metrics = GatewayMetrics(dict)
    server = HttpServer(Gateway(table.match, lambda wanted: balancer, find, Connections(), metrics))
    pipe.send(await server.listen("127.0.0.1", 0))
    await asyncio.Event().wait()


def _nginx(folder: Path, port: int, backend: int) -> list[str]:
    (folder / "nginx.conf").write_text(
        f"""
worker_processes 1;
daemon off;
pid {folder}/pid;
error_log {folder}/errors;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  upstream backend {{ server 127.0.0.1:{backend}; keepalive 64; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection ""; }}
  }}
}}
"""
    )
    return ["nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder)]


def _haproxy(folder: Path, port: int, backend: int) -> list[str]:
    (folder / "haproxy.cfg").write_text(
        f"""
global
  nbthread 1
defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 60s
listen front
  bind 127.0.0.1:{port}
  http-reuse always
  server one 127.0.0.1:{backend}
"""
    )
    return ["haproxy", "-f", str(folder / "haproxy.cfg")]


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(port: int) -> bool:
    import socket

    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


if __name__ == "__main__":
    for result in run():
        print(result, file=sys.stderr)
