"""The agent's end of the tunnel when the control plane is not what it should be."""

import asyncio
import contextlib

import pytest

from karmada.agent.hub import HubTransport
from karmada.agent.tunnel import HEAD_LIMIT, TunnelClient
from karmada.machinery.clock import REAL
from karmada.machinery.http.target import Target


@pytest.mark.parametrize(
    "answer",
    [b"x" * (HEAD_LIMIT + 1), b"HTTP/1.1 403 Forbidden\r\n\r\n"],
    ids=["no end of the head", "refused"],
)
async def test_a_connection_that_becomes_no_tunnel_is_closed(answer: bytes) -> None:
    closed = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        with contextlib.suppress(ConnectionError):
            await reader.read()
        closed.set()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    target = Target(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    hub = HubTransport(target)
    running = asyncio.create_task(TunnelClient(hub, target, "m1", REAL).run())
    try:
        await asyncio.wait_for(closed.wait(), 10)
        assert not running.done()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await hub.close()
        server.close()
        await server.wait_closed()
