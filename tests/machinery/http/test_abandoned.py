"""A request that was given up does not arrive later: a former leader's write must not follow the next leader's."""

import asyncio
import socket

import pytest

from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError
from karmada.machinery.http.target import Target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.transport import GroupVersionResource

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
SIZE = 4_000_000
"""More than the server takes without reading, less than the client's system keeps for it."""


async def drained(taken: socket.socket) -> tuple[int, bool]:
    """How many bytes came on a connection, and whether it was reset."""
    loop, received = asyncio.get_running_loop(), 0
    try:
        while data := await loop.sock_recv(taken, 1 << 20):
            received += len(data)
    except ConnectionResetError:
        return received, True
    return received, False


async def test_what_the_system_had_not_sent_when_a_write_was_given_up_is_never_sent() -> None:
    loop = asyncio.get_running_loop()
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # the rest waits in the client's system
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.setblocking(False)
        client = Client(HttpTransport(Target(f"http://127.0.0.1:{listening.getsockname()[1]}")))
        write = {"metadata": {"name": "late", "namespace": "default"}, "data": {"text": "x" * SIZE}}
        with pytest.raises(ApiError):
            await client.resource(CONFIG_MAPS).within(0.2).create(write, "default")
        taken, _ = await loop.sock_accept(listening)
        with taken:
            taken.setblocking(False)
            async with asyncio.timeout(10):
                received, is_reset = await drained(taken)
            assert is_reset
            assert received < SIZE
        await client.close()
