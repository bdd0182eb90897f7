"""The agent's end of the tunnel when the control plane is not what it should be."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from karmada.agent.hub import HubTransport
from karmada.agent.tunnel import HEAD_LIMIT, TunnelClient
from karmada.aggregated.tunnel_endpoint import TunnelEndpoint
from karmada.apiserver.requests.model import AnyAnswer, Upgraded
from karmada.machinery.clock import REAL
from karmada.machinery.http.target import Target
from karmada.machinery.httpserver.failure import Failure
from karmada.membership.tunnel.frames import PROTOCOL
from karmada.membership.tunnel.tunnels import Tunnels


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


class Replicas:
    """Servers behind one address, which take turns; each takes one tunnel of an agent that says what it has."""

    def __init__(self, *names: str) -> None:
        self._names = names
        self._asked = 0
        self.open: dict[str, asyncio.StreamWriter] = {}
        self.known: list[str] = []
        self.changed = asyncio.Condition()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        found = [line for line in head.splitlines() if line.startswith("karmada-known-replicas:")]
        known = found[0].partition(":")[2].strip() if found else ""
        name = self._names[self._asked % len(self._names)]
        self._asked += 1
        refused = name and name in known.split(",")
        if refused:
            writer.write(b"HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n")
        else:
            said = f"Karmada-Replica: {name}\r\n" if name else ""
            writer.write(f"HTTP/1.1 101 Switching Protocols\r\n{said}\r\n".encode())
            self.open[name] = writer
        async with self.changed:
            self.known.append(known)
            self.changed.notify_all()
        if not refused:
            await reader.read()
        writer.close()

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(60), self.changed:
            await self.changed.wait_for(holds)


@contextlib.asynccontextmanager
async def connected(replicas: Replicas) -> AsyncIterator[None]:
    """An agent whose control plane is these."""
    server = await asyncio.start_server(replicas, "127.0.0.1", 0)
    target = Target(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    hub = HubTransport(target)
    running = asyncio.create_task(TunnelClient(hub, target, "m1", REAL).run())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await hub.close()
        server.close()
        await server.wait_closed()


async def test_every_replica_of_the_server_gets_a_tunnel_and_again_when_it_broke() -> None:
    replicas = Replicas("a", "b")
    async with connected(replicas):
        await replicas.until(lambda: len(replicas.known) >= 3)
        assert replicas.known[:3] == ["", "a", "a,b"]
        replicas.open.pop("a").close()
        await replicas.until(lambda: "a" in replicas.open)
        assert "b" in replicas.known


async def test_one_tunnel_is_enough_for_a_server_that_does_not_name_itself() -> None:
    replicas = Replicas("")
    async with connected(replicas):
        await replicas.until(lambda: len(replicas.known) == 1)
        replicas.open.pop("").close()
        await replicas.until(lambda: len(replicas.known) == 2)
    assert replicas.known == ["", ""]


class Endpoint(NamedTuple):
    """The server's end for one cluster, without a server."""

    tunnels: Tunnels
    uids: list[str]
    """Of the Cluster, the present one last."""

    async def asked(self, known: str) -> AnyAnswer:
        """What an agent is answered that has tunnels to these replicas."""
        store = SimpleNamespace(get=lambda *_: SimpleNamespace(index=SimpleNamespace(uid=self.uids[-1])))
        headers = {"upgrade": PROTOCOL, "karmada-known-replicas": known}
        type_ = SimpleNamespace(group="cluster.karmada.io", plural="clusters")
        served = SimpleNamespace(key=("cluster.karmada.io", "clusters"), type=type_)
        user = SimpleNamespace(name="system:karmada:agent:m1")
        call: Any = SimpleNamespace(served=served, name="m1", user=user, http=SimpleNamespace(headers=headers))
        context: Any = SimpleNamespace(store=store)
        return await TunnelEndpoint(self.tunnels)(context, call)


async def test_a_replica_takes_a_tunnel_of_an_agent_that_has_none_there() -> None:
    endpoint = Endpoint(Tunnels(), ["first"])
    mine = endpoint.tunnels.replica
    answer = await endpoint.asked("another")
    assert isinstance(answer, Upgraded)
    assert answer.headers["karmada-replica"] == mine
    # The agent may not have noticed yet that its tunnel here has ended.
    assert isinstance(await endpoint.asked(f"another,{mine}"), Upgraded)
    silent = SilentChannel()
    holding = asyncio.create_task(endpoint.tunnels.serve("m1", silent))
    await silent.reading.wait()
    with pytest.raises(Failure, match="this replica holds its tunnel already"):
        await endpoint.asked(f"another,{mine}")
    assert isinstance(await endpoint.asked("another"), Upgraded)
    holding.cancel()
    await asyncio.gather(holding, return_exceptions=True)


async def test_a_tunnel_is_not_that_of_another_cluster_of_the_same_name() -> None:
    endpoint = Endpoint(Tunnels(), ["first"])
    answer = await endpoint.asked("")
    assert isinstance(answer, Upgraded)
    endpoint.uids.append("second")
    silent = SilentChannel()
    await asyncio.wait_for(answer.serve(silent), 10)
    assert not silent.reading.is_set()
    assert not endpoint.tunnels.has("m1")


class SilentChannel:
    """The other side says nothing."""

    def __init__(self) -> None:
        self.reading = asyncio.Event()

    async def read(self) -> bytes:
        self.reading.set()
        await asyncio.Event().wait()
        return b""

    async def write(self, data: bytes) -> None:
        pass

    async def close(self) -> None:
        pass
