"""Many watchers of a busy place, over HTTP: their writes are paced, yet each sees every event once and in order."""

import asyncio

import orjson

from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.machinery.transport import GroupVersionResource, Request, Verb

MAPS = GroupVersionResource("", "v1", "configmaps")
WATCHERS, EVENTS = 20, 150
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
TOKENS = "secret,admin,1,system:masters\n"


async def follow(port: int, opened: asyncio.Semaphore, accept: str, selector: str) -> list[tuple[str, str]]:
    """Kind and name of all objects seen, up to the last one."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    path = f"/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=0&labelSelector={selector}"
    head = f"GET {path} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer secret\r\nAccept: {accept}\r\n\r\n"
    writer.write(head.encode())
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
    opened.release()
    seen: list[tuple[str, str]] = []
    while not seen or seen[-1][1] != f"m{EVENTS - 1}":
        line = await reader.readline()
        if line.startswith(b"{"):
            obj = orjson.loads(line)["object"]
            seen.append((obj["kind"], obj["metadata"]["name"]))
    writer.close()
    return seen


async def follow_one(port: int, opened: asyncio.Semaphore, accept: str) -> bytes:
    """The first line of a watch from now on."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    path = "/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=0&sendInitialEvents=false"
    path += "&resourceVersionMatch=NotOlderThan"
    head = f"GET {path} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer secret\r\nAccept: {accept}\r\n\r\n"
    writer.write(head.encode())
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
    opened.release()
    while not (line := await reader.readline()).startswith(b"{"):
        pass
    writer.close()
    return line


async def test_each_watcher_sees_every_event_once_in_order_and_in_its_own_form():
    async with ApiServer(ApiServerOptions(controllers=False, static_tokens=TOKENS)) as server:
        port = await server.listen(tls=False)
        opened = asyncio.Semaphore(0)
        wishes = [(("application/json", METADATA)[n % 2], ("", "odd=yes")[n % 3 == 0]) for n in range(WATCHERS)]
        watchers = [asyncio.create_task(follow(port, opened, *wish)) for wish in wishes]
        for _ in watchers:
            await opened.acquire()
        client = server.direct()
        for number in range(EVENTS):
            labels = {"odd": "yes"} if number % 2 else {}
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"m{number}", "labels": labels}}
            await client.send(Request(Verb.CREATE, MAPS, "default", body=body))
            await asyncio.sleep(0)
        seen = await asyncio.wait_for(asyncio.gather(*watchers), 60)
    for (accept, selector), objects in zip(wishes, seen, strict=True):
        kind = "PartialObjectMetadata" if accept == METADATA else "ConfigMap"
        assert objects == [(kind, f"m{number}") for number in range(EVENTS) if number % 2 or not selector]
