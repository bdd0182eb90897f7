"""Server CPU of the bare HTTP layer: a 3.4 KB GET over TLS with client certificates, 16 connections."""

import asyncio
import multiprocessing
import os
import ssl
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.result import Result

CONNECTIONS = 16
REQUESTS = 20_000
BODY = b"x" * 3400


def run() -> list[Result]:
    """Measure with and without TLS."""
    return [_measure("plain", False), _measure("TLS", True)]


def _measure(name: str, tls: bool) -> Result:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    with tempfile.TemporaryDirectory() as folder:
        server = context.Process(target=_serve, args=(there, folder, tls))
        server.start()
        port = here.recv()
        asyncio.run(_load(port, folder, tls, 2_000))
        here.send("start")
        here.recv()
        asyncio.run(_load(port, folder, tls, REQUESTS))
        here.send("stop")
        cpu = here.recv()
        server.join()
    return Result(f"http: CPU per GET 3.4 KB, bare handler, {name}", cpu / REQUESTS * 1e3, "ms", 0.15)


def _serve(pipe: Connection, folder: str, tls: bool) -> None:
    import uvloop

    uvloop.run(_serving(pipe, Path(folder), tls))


async def _serving(pipe: Connection, folder: Path, tls: bool) -> None:
    from karmada.machinery.httpserver.model import HttpRequest, HttpResponse
    from karmada.machinery.httpserver.server import HttpServer

    answer = HttpResponse(200, BODY)

    async def handler(request: HttpRequest) -> HttpResponse:
        return answer

    context = None
    if tls:
        from karmada.apiserver.auth.pki import Authority, server_names
        from karmada.machinery.httpserver.tls import server_context

        authority = Authority.create("bench-ca")
        certificate, key = authority.issue_server("bench", server_names(["127.0.0.1"]))
        client, client_key = authority.issue_client("admin", ["system:masters"])
        (folder / "ca.pem").write_bytes(authority.certificate_pem)
        (folder / "client.pem").write_bytes(client + client_key)
        context = server_context(certificate, key, authority.certificate_pem)
    server = HttpServer(handler, tls=context)
    loop = asyncio.get_running_loop()
    pipe.send(await server.listen("127.0.0.1", 0))
    await loop.run_in_executor(None, pipe.recv)
    before = time.process_time()
    pipe.send("started")
    await loop.run_in_executor(None, pipe.recv)
    pipe.send(time.process_time() - before)
    await server.stop()


async def _load(port: int, folder: str, tls: bool, requests: int) -> None:
    context = None
    if tls:
        context = ssl.create_default_context(cafile=os.path.join(folder, "ca.pem"))
        context.load_cert_chain(os.path.join(folder, "client.pem"))
    request = (
        b"GET /apis/apps/v1/namespaces/default/deployments/web HTTP/1.1\r\nHost: x\r\nAccept: application/json\r\n\r\n"
    )

    async def one() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        for _ in range(requests // CONNECTIONS):
            writer.write(request)
            await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(len(BODY))
        writer.close()

    await asyncio.gather(*[one() for _ in range(CONNECTIONS)])


if __name__ == "__main__":
    for result in run():
        print(result, file=sys.stderr)
