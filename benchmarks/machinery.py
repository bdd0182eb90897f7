"""The toolkit: objects through the whole direct pipeline to a handler, informer start, queue, HTTP watch, import.

What needs a process of its own (memory, the server of an HTTP watch) runs this module as a program. CPU figures are
the best of three runs: other users of the machine disturb them.
"""

import asyncio
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.result import Result

OBJECTS = 10_000
KEYS = 100_000
RATE = 5_000
SECONDS = 4


def run() -> list[Result]:
    """All figures."""
    return [
        *min((asyncio.run(_pipeline()) for _ in range(3)), key=lambda results: results[0].value),
        *asyncio.run(_queue()),
        *_informer_start(),
        *_http_watch(),
        _import_cost(),
    ]


def _config_map(number: int) -> dict[str, Any]:
    data = {f"key-{line}": "x" * 66 for line in range(12)}
    return {"metadata": {"name": f"map-{number:05}", "namespace": "default"}, "data": data}


async def _pipeline() -> list[Result]:
    from karmada.apiserver.server import ApiServer
    from karmada.machinery.client import Client
    from karmada.machinery.codec import TREE
    from karmada.machinery.informers.informer import Informer
    from karmada.machinery.transport import GroupVersionResource

    config_maps = GroupVersionResource("", "v1", "configmaps")
    async with ApiServer() as server:
        client = Client(server.direct(), field_manager="bench")
        informer = Informer(server.direct(), config_maps, TREE)
        seen = 0
        complete = asyncio.Event()

        def handle(changes: list[Any]) -> None:
            nonlocal seen
            seen += sum(change.key.name.startswith("map-") for change in changes)
            if seen > OBJECTS:
                complete.set()

        informer.add_handler(handle)
        following = asyncio.create_task(informer.run())
        await informer.synced()
        resource = client.resource(config_maps)
        await resource.create(_config_map(OBJECTS))
        objects = [_config_map(number) for number in range(OBJECTS)]
        gc.collect()
        gc.freeze()
        started = time.process_time()
        for tree in objects:
            await resource.create(tree)
        await complete.wait()
        spent = time.process_time() - started
        gc.unfreeze()
        following.cancel()

        second = Informer(server.direct(), config_maps, TREE)
        gc.collect()
        begun = time.perf_counter()
        loading = asyncio.create_task(second.run())
        await second.synced()
        took = time.perf_counter() - begun
        loading.cancel()
    return [
        Result("direct: 1 KB ConfigMap through the pipeline to a handler", spent / OBJECTS * 1e6, "µs CPU", 120),
        Result("direct: informer start on 10,000 objects", took, "s", 0.5),
    ]


async def _queue() -> list[Result]:
    from karmada.machinery.controller import DONE, Controller
    from karmada.machinery.controller import Result as Outcome
    from karmada.machinery.workqueue.queue import WorkQueue

    queue: WorkQueue[tuple[str, int]] = WorkQueue("bench", lane=lambda key: key[0], lane_limit=4)
    keys = [(f"member{number % 50}", number) for number in range(KEYS)]
    started = time.process_time()
    for key in keys:
        queue.add(key)
    for _ in keys:
        queue.done(await queue.get())
    plain = KEYS / (time.process_time() - started)

    async def reconcile(key: tuple[str, int]) -> Outcome:
        return DONE

    controller = Controller("bench", reconcile)
    started = time.process_time()
    for key in keys:
        controller.enqueue(key)
    controller.queue.close()
    await controller.run()
    looped = KEYS / (time.process_time() - started)
    return [
        Result("queue: add, get, done with 50 lanes", plain, "keys/s", 100_000, higher_is_better=True),
        Result("controller: keys through four workers", looped, "keys/s"),
    ]


def _informer_start() -> list[Result]:
    """In a process of its own over HTTP, so that the memory is the informer's alone."""
    with _Server("serve-objects") as config:
        figures = json.loads(_child("start-informer", config))
    return [
        Result("http: informer start on 10,000 objects", figures["seconds"], "s", 0.5),
        Result("http: memory of the whole process with them", figures["megabytes"], "MB", 80),
    ]


def _http_watch() -> list[Result]:
    """A server sends events at a fixed rate, each with the moment it was sent."""
    with _Server("serve-events") as port:
        figures = json.loads(_child("follow-events", port))
    return [
        Result("http: watch, events handled per second", figures["rate"], "events/s", RATE * 0.99, True),
        Result("http: watch, lag at 5,000 events/s, p99", figures["lag"] * 1000, "ms", 50),
        Result("http: watch, CPU per event", figures["cpu"] * 1e6, "µs CPU"),
    ]


def _import_cost() -> Result:
    """Everything beyond the bare interpreter, asyncio included, from bytecode as installed."""
    program = (
        "import time; started = time.perf_counter()\n"
        "import karmada.machinery.http.transport, karmada.machinery.http.kubeconfig\n"
        "print(time.perf_counter() - started)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    runs = [subprocess.check_output([sys.executable, "-c", program], env=environment) for _ in range(15)]
    return Result("http: import of the transport, asyncio included", min(map(float, runs)) * 1000, "ms", 40)


def _child(*arguments: str) -> bytes:
    return subprocess.check_output([sys.executable, "-m", "benchmarks.machinery", *arguments])


class _Server:
    """A child process that prints where it is."""

    def __init__(self, role: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.machinery", role], stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


def _lines() -> Iterator[bytes]:
    """Watch lines without end; the object is about 1 KB."""
    filler = "x" * 800
    number = 0
    while True:
        number += 1
        yield (
            b'{"type":"MODIFIED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"map-%d","namespace":'
            b'"default","uid":"u%d","resourceVersion":"%d","annotations":{"at":"%.6f"}},"data":{"filler":"%s"}}}\n'
            % (number % 1000, number % 1000, 100 + number, time.time(), filler.encode())
        )


async def _serve_events() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        if b"sendInitialEvents" in head:
            _send(
                writer,
                b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"100","annotations":'
                b'{"k8s.io/initial-events-end":"true"}}}}\n',
            )
        lines = _lines()
        started = time.perf_counter()
        sent = 0
        while sent < RATE * SECONDS:
            due = int((time.perf_counter() - started) * RATE) - sent
            if due > 0:
                _send(writer, b"".join(next(lines) for _ in range(due)))
                sent += due
            await asyncio.sleep(0.002)
        await asyncio.sleep(60)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()


def _send(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))


async def _follow_events(port: str) -> None:
    import re

    from karmada.machinery.codec import TREE
    from karmada.machinery.http.target import Target
    from karmada.machinery.http.transport import HttpTransport
    from karmada.machinery.informers.informer import Informer
    from karmada.machinery.transport import GroupVersionResource

    informer = Informer(
        HttpTransport(Target(f"http://127.0.0.1:{port}")), GroupVersionResource("", "v1", "configmaps"), TREE
    )
    stamp = re.compile(rb'"at":"([\d.]+)"')
    lags: list[float] = []
    done = asyncio.Event()

    def handle(changes: list[Any]) -> None:
        now = time.time()
        for change in changes:
            found = stamp.search(change.new.body)
            assert found is not None
            lags.append(now - float(found[1]))
        if len(lags) >= RATE * SECONDS:
            done.set()

    informer.add_handler(handle)
    following = asyncio.create_task(informer.run())
    await informer.synced()
    started, spent = time.perf_counter(), time.process_time()
    await asyncio.wait_for(done.wait(), 60)
    elapsed, spent = time.perf_counter() - started, time.process_time() - spent
    following.cancel()
    lags.sort()
    figures = {"rate": len(lags) / elapsed, "lag": lags[int(len(lags) * 0.99)], "cpu": spent / len(lags)}
    print(json.dumps(figures))


async def _serve_objects() -> None:
    from karmada.apiserver.auth.kubeconfig import kubeconfig
    from karmada.apiserver.server import ApiServer
    from karmada.machinery.client import Client
    from karmada.machinery.transport import GroupVersionResource

    async with ApiServer() as server:
        maps = Client(server.direct()).resource(GroupVersionResource("", "v1", "configmaps"))
        for number in range(OBJECTS):
            await maps.create(_config_map(number))
        port = await server.listen()
        authority = server.identity.authority
        certificate, key = authority.issue_client("bench", ["system:masters"])
        url = f"https://127.0.0.1:{port}"
        config = kubeconfig(url, authority.certificate_pem, certificate=certificate, key=key)
        print(json.dumps(config), flush=True)
        await asyncio.Event().wait()


async def _start_informer(config: str) -> None:
    import psutil

    from karmada.machinery.codec import TREE
    from karmada.machinery.http.kubeconfig import from_bytes
    from karmada.machinery.http.transport import HttpTransport
    from karmada.machinery.informers.informer import Informer
    from karmada.machinery.transport import GroupVersionResource

    transport = HttpTransport(from_bytes(config.encode()).target())
    informer = Informer(transport, GroupVersionResource("", "v1", "configmaps"), TREE)
    started = time.perf_counter()
    following = asyncio.create_task(informer.run())
    await informer.synced()
    seconds = time.perf_counter() - started
    assert len(informer) >= OBJECTS
    print(json.dumps({"seconds": seconds, "megabytes": psutil.Process().memory_info().rss / 1e6}))
    following.cancel()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve-events"]:
            asyncio.run(_serve_events())
        case ["follow-events", port]:
            asyncio.run(_follow_events(port))
        case ["serve-objects"]:
            asyncio.run(_serve_objects())
        case ["start-informer", config]:
            asyncio.run(_start_informer(config))
