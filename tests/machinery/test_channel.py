"""Two connections carried into each other: how they end."""

import asyncio

import pytest

from karmada.machinery.channel import HALF_CLOSED_SECONDS, IDLE_SECONDS, splice
from karmada.machinery.httpserver.upgraded import ENDED


class Side:
    """One connection; the test plays who is behind it."""

    def __init__(self) -> None:
        self.arriving: asyncio.Queue[bytes | OSError] = asyncio.Queue()
        self.written = b""
        self.closed = False

    async def read(self) -> bytes:
        found = await self.arriving.get()
        if isinstance(found, OSError):
            raise found
        return found

    async def write(self, data: bytes) -> None:
        self.written += data

    async def close(self) -> None:
        self.closed = True


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.looptime
async def test_the_end_of_the_server_ends_the_client_after_its_last_bytes() -> None:
    client, server = Side(), Side()
    for piece in (b"last ", b"words", b""):
        server.arriving.put_nowait(piece)
    await splice(client, server)
    assert (client.written, client.closed, server.closed) == (b"last words", True, True)
    assert asyncio.get_running_loop().time() == 0


@pytest.mark.looptime
async def test_what_the_server_sends_after_the_client_s_end_arrives() -> None:
    client, server = Side(), Side()
    carried = asyncio.create_task(splice(client, server))
    client.arriving.put_nowait(b"question")
    client.arriving.put_nowait(b"")
    for number in range(3):
        await asyncio.sleep(HALF_CLOSED_SECONDS - 1)
        assert not client.closed
        server.arriving.put_nowait(b"%d" % number)
    await settled()
    assert (server.written, client.written) == (b"question", b"012")
    await carried
    assert asyncio.get_running_loop().time() == pytest.approx(4 * HALF_CLOSED_SECONDS - 3)
    assert client.closed
    assert server.closed


@pytest.mark.looptime
async def test_a_connection_without_a_byte_is_closed() -> None:
    client, server = Side(), Side()
    carried = asyncio.create_task(splice(client, server))
    await asyncio.sleep(IDLE_SECONDS - 1)
    server.arriving.put_nowait(b"ping")
    await asyncio.sleep(IDLE_SECONDS - 1)
    assert not client.closed
    await carried
    assert asyncio.get_running_loop().time() == pytest.approx(2 * IDLE_SECONDS - 1)
    assert client.closed
    assert server.closed


@pytest.mark.looptime
@pytest.mark.parametrize("broken", ["client", "server"])
async def test_a_side_that_breaks_ends_both_at_once(broken: str) -> None:
    client, server = Side(), Side()
    {"client": client, "server": server}[broken].arriving.put_nowait(ConnectionResetError())
    await splice(client, server)
    assert asyncio.get_running_loop().time() == 0
    assert client.closed
    assert server.closed


@pytest.mark.looptime
async def test_nothing_is_waited_for_when_the_client_is_known_to_be_gone() -> None:
    server = Side()
    await splice(ENDED, server)
    assert asyncio.get_running_loop().time() == 0
    assert server.closed
