"""Services of the process runtime: names, endpoints, and connections that are passed on."""

import asyncio
import contextlib
import os
import socket
from functools import partial
from typing import Any

import pytest

from karmada.simulator.processes.services import Forwarder, hosts, ports_of, targets_of

SLICE: dict[str, Any] = {
    "ports": [{"name": "https", "port": 5443}],
    "endpoints": [
        {"addresses": ["127.9.1.1"], "conditions": {"ready": True}, "hostname": "etcd-0"},
        {"addresses": ["127.9.1.2"], "conditions": {"ready": False}, "hostname": "etcd-1"},
        {"addresses": ["127.9.1.3"], "hostname": "etcd-2"},
    ],
}


def service(name: str, namespace: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}


def test_connections_go_to_ready_endpoints_of_the_named_port() -> None:
    assert targets_of([SLICE], "https") == [("127.9.1.1", 5443), ("127.9.1.3", 5443)]
    assert targets_of([SLICE], "metrics") == []


def test_a_service_is_served_at_its_address_and_on_the_ports_of_nodes() -> None:
    entry = {"name": "https", "port": 443, "nodePort": 30443}
    dns = {"port": 53, "protocol": "UDP"}
    made = service("api", "karmada-system", clusterIP="127.9.130.1", ports=[entry, dns])
    assert ports_of(made, ["127.9.0.1"]) == {("127.9.130.1", 443): entry, ("127.9.0.1", 30443): entry}
    assert ports_of(service("etcd", "karmada-system", clusterIP="None", ports=[{"port": 2379}]), []) == {}


def test_pods_know_services_by_all_their_names_and_headless_ones_by_their_pods() -> None:
    known = [
        (service("api", "karmada-system", clusterIP="127.9.130.1"), []),
        (service("etcd", "karmada-system", clusterIP="None"), [SLICE]),
        (service("kubernetes", "default", clusterIP="127.9.128.1"), []),
        (service("alias", "karmada-system", type="ExternalName", externalName="elsewhere"), []),
    ]
    lines = hosts("karmada-system", {"api-0": "127.9.1.9"}, known).splitlines()
    inside = "karmada-system karmada-system.svc karmada-system.svc.cluster.local"
    assert lines == [
        "127.0.0.1 localhost",
        "127.9.1.9 api-0",
        f"127.9.130.1 api {' '.join(f'api.{part}' for part in inside.split())}",
        *(f"{ip} etcd {' '.join(f'etcd.{part}' for part in inside.split())}" for ip in ("127.9.1.1", "127.9.1.3")),
        f"127.9.1.1 etcd-0.etcd {' '.join(f'etcd-0.etcd.{part}' for part in inside.split())}",
        f"127.9.1.3 etcd-2.etcd {' '.join(f'etcd-2.etcd.{part}' for part in inside.split())}",
        "127.9.128.1 kubernetes.default kubernetes.default.svc kubernetes.default.svc.cluster.local",
    ]


async def test_connections_take_turns_pass_over_the_dead_and_break_when_the_service_goes() -> None:
    async def say(name: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(name)
        with contextlib.suppress(ConnectionError):
            await reader.read()
        writer.close()

    servers = [await asyncio.start_server(partial(say, name), "127.0.0.1", 0) for name in (b"a", b"b")]
    targets = [server.sockets[0].getsockname()[:2] for server in servers]
    forwarder = Forwarder(lambda: [("127.0.0.1", 1), *targets])
    await forwarder.listen("127.0.0.1", 0)
    answers = []
    opened = []
    for _ in range(6):
        reader, writer = await asyncio.open_connection(*forwarder.address)
        answers.append(await reader.readexactly(1))
        opened.append((reader, writer))
    assert set(answers) == {b"a", b"b"}
    await forwarder.close()
    for reader, writer in opened:
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()
    for server in servers:
        server.close()
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_connection_that_nobody_takes_is_closed() -> None:
    forwarder = Forwarder(list)
    await forwarder.listen("127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*forwarder.address)
    with contextlib.suppress(ConnectionError):
        assert await reader.read() == b""
    writer.close()
    await forwarder.close()


@pytest.mark.parametrize("turns", range(6))
async def test_connections_that_arrive_while_a_service_goes_are_closed(turns: int) -> None:
    before = len(os.listdir("/proc/self/fd"))
    forwarder = Forwarder(list)
    await forwarder.listen("127.0.0.1", 0)
    clients = [socket.create_connection(forwarder.address) for _ in range(5)]
    for _ in range(turns):
        await asyncio.sleep(0)
    await forwarder.close()
    for client in clients:
        client.settimeout(60)
        with contextlib.suppress(ConnectionError):
            assert client.recv(1) == b""
        client.close()
    await asyncio.sleep(0)
    assert len(os.listdir("/proc/self/fd")) == before
