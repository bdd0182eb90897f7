"""Many watchers of a busy place, over HTTP: their writes are paced, yet each sees every event once and in order."""

import asyncio

import orjson

from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.machinery.transport import GroupVersionResource, Request, Verb

MAPS = GroupVersionResource("", "v1", "configmaps")
WATCHERS, EVENTS = 20, 150
TOKENS = "secret,admin,1,system:masters\n"


async def follow(port: int, opened: asyncio.Semaphore) -> list[str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    path = b"/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=0"
    writer.write(b"GET " + path + b" HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer secret\r\n\r\n")
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
    opened.release()
    names = []
    while len(names) < EVENTS:
        line = await reader.readline()
        if line.startswith(b"{"):
            names.append(orjson.loads(line)["object"]["metadata"]["name"])
    writer.close()
    return names


async def test_each_watcher_sees_every_event_once_and_in_order():
    async with ApiServer(ApiServerOptions(controllers=False, static_tokens=TOKENS)) as server:
        port = await server.listen(tls=False)
        opened = asyncio.Semaphore(0)
        watchers = [asyncio.create_task(follow(port, opened)) for _ in range(WATCHERS)]
        for _ in watchers:
            await opened.acquire()
        client = server.direct()
        for number in range(EVENTS):
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"m{number}"}}
            await client.send(Request(Verb.CREATE, MAPS, "default", body=body))
            await asyncio.sleep(0)
        seen = await asyncio.wait_for(asyncio.gather(*watchers), 60)
    assert all(names == [f"m{number}" for number in range(EVENTS)] for names in seen)
