"""Large lists and watches: what clients see of them, and how little is held for one that does not read."""

import gzip
import tracemalloc
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
from tests.fuzz.server import Server, Wire, request, serving, status

from karmada.machinery.httpserver.connection import HttpConnection

MAPS = "/api/v1/namespaces/default/configmaps"
LARGE, SMALL = 12, 200
PIECE = 256 * 1024


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """A server with some large objects among small ones."""
    async with serving() as made:
        for number in range(LARGE + SMALL):
            size = 600_000 if number < LARGE else 3000
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"m{number:03}"}}
            data = orjson.dumps({**body, "data": {"a": chr(97 + number % 26) * size}})
            assert status(await made.send(request("POST", MAPS, data, "application/json"), exact=False)) == 201
        yield made


class Unread(Wire):
    """A client that reads nothing until it is asked to."""

    connection: HttpConnection

    def write(self, data: bytes | bytearray | memoryview) -> None:
        super().write(data)
        self.connection.pause_writing()


class Remote(Wire):
    """A client for which compressing is worthwhile."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("10.0.0.1", 1) if name == "peername" else default


async def connect(server: Server, wire: Wire, data: bytes) -> HttpConnection:
    connection = HttpConnection(server.http, server.handler)
    if isinstance(wire, Unread):
        wire.connection = connection
    connection.connection_made(wire)
    await server._turn()
    connection.data_received(data)
    for _ in range(20):
        await server._turn()
    return connection


def body_of(answer: bytes) -> bytes:
    head, _, body = answer.partition(b"\r\n\r\n")
    length = next(line for line in head.split(b"\r\n") if line.startswith(b"Content-Length: "))
    assert int(length.split()[1]) == len(body)
    return body


def unchunked(answer: bytes) -> bytes:
    rest, content = answer.partition(b"\r\n\r\n")[2], b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        content, rest = content + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
    return content


async def test_a_list_in_pieces_is_the_list(server: Server) -> None:
    stored = [orjson.loads(item.body) for item in server.api.store.list(("", "configmaps"), "default").items]
    for one in stored:
        del one["apiVersion"], one["kind"]
    body = body_of(await server.send(request("GET", MAPS)))
    answer = orjson.loads(body)
    assert (answer["kind"], answer["items"]) == ("ConfigMapList", stored)
    remote = Remote()
    packed = request("GET", MAPS).replace(b"\r\nHost", b"\r\nAccept-Encoding: gzip\r\nHost", 1)
    connection = await connect(server, remote, packed)
    while connection.busy:
        await server._turn()
    assert gzip.decompress(body_of(bytes(remote.written))) == body
    assert server.http.unsent.left == 512 * 1024 * 1024
    connection.connection_lost(None)


async def test_the_first_events_of_a_watch_come_whole_and_in_order(server: Server) -> None:
    wire = Wire()
    connection = await connect(server, wire, request("GET", f"{MAPS}?watch=1"))
    events = [orjson.loads(line) for line in unchunked(bytes(wire.written)).splitlines()]
    assert [event["type"] for event in events] == ["ADDED"] * (LARGE + SMALL)
    stored = [orjson.loads(item.body) for item in server.api.store.list(("", "configmaps"), "default").items]
    assert [event["object"] for event in events] == stored
    connection.connection_lost(None)


@pytest.mark.parametrize("query", ["", "?watch=1"], ids=["list", "watch"])
async def test_a_client_that_does_not_read_holds_no_copy_of_what_is_stored(server: Server, query: str) -> None:
    tracemalloc.start()
    try:
        wires = [Unread() for _ in range(5)]
        connections = [await connect(server, wire, request("GET", MAPS + query)) for wire in wires]
        assert tracemalloc.get_traced_memory()[0] < 5 * 4 * PIECE
        for wire, connection in zip(wires, connections, strict=True):
            wire.connection.resume_writing()
            for _ in range(20):
                await server._turn()
            assert wire.written.startswith(b"HTTP/1.1 200 ")
            assert len(wire.written) < 2 * PIECE
            connection.connection_lost(None)
    finally:
        tracemalloc.stop()
