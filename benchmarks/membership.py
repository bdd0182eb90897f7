"""Membership: how soon a cluster is ready, how fast a hundred join, what idle and large members cost.

Members run in a process of their own and are reached over HTTPS, as the simulator's are: what is measured is the
control plane's share.
"""

import asyncio
import multiprocessing
import os
import resource
import time
from contextlib import AsyncExitStack
from multiprocessing.connection import Connection

import orjson

from benchmarks.result import Result
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.apiserver.server import ADMIN, ApiServer
from karmada.controllers.cluster_status import StatusOptions
from karmada.controllers.clusters import is_ready
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL
from karmada.machinery.http.target import Identity, Material, Target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.options import Options
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership.connections import connection_of
from karmada.membership.join import join
from karmada.membership.registration import Description
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions

MANY = 100
NODES, PODS = 5000, 20000
IDLE_SECONDS = 20.0


def run() -> list[Result]:
    """Measure everything once."""
    # First, while nothing else has left memory behind that it could use.
    grown = asyncio.run(_large())
    ready, joined, idle = asyncio.run(_federation())
    return [
        Result("join to Ready, one member", ready * 1e3, "ms", target=300),
        Result(f"{MANY} members joined and Ready", joined, "s", target=20),
        Result(f"status of {MANY} idle members", idle * 100, "% of a core", target=5),
        Result(f"{NODES} nodes and {PODS} pods of a member", grown, "MB", target=60),
    ]


async def _federation() -> tuple[float, float, float]:
    async with Members(MANY) as members, ControlPlane(ControlPlaneOptions(options=Options(StatusOptions()))) as plane:
        begin = time.perf_counter()
        await _join(plane, members, 0)
        await _until_ready(plane, 1)
        ready = time.perf_counter() - begin
        begin = time.perf_counter()
        await asyncio.gather(*(_join(plane, members, number) for number in range(1, MANY)))
        await _until_ready(plane, MANY)
        joined = time.perf_counter() - begin
        await asyncio.sleep(10)
        used = time.process_time()
        await asyncio.sleep(IDLE_SECONDS)
        return ready, joined, (time.process_time() - used) / IDLE_SECONDS


async def _join(plane: ControlPlane, members: "Members", number: int) -> None:
    target = members.targets[number]
    member = Client(HttpTransport(target))
    await join(member, plane.client, Description(f"member{number}", target.server))
    await member.close()


async def _until_ready(plane: ControlPlane, number: int) -> None:
    while True:
        found = (await plane.client.of(Cluster).list()).items
        if sum(is_ready(cluster) for cluster in found) >= number:
            return
        await asyncio.sleep(0.01 if number == 1 else 0.1)


async def _large() -> float:
    """What the control plane's memory grows by when it counts one large member."""
    async with Members(1, NODES, PODS) as members:
        connection = connection_of("large", HttpTransport(members.targets[0]), REAL)
        await connection.client.transport.raw("GET", "/readyz")
        before = _resident()
        summary = await connection.count(())
        assert summary.nodes.total_num == NODES
        grown = _resident() - before
        await connection.close()
        return grown / 1e6


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


class Members:
    """Member API servers in another process."""

    def __init__(self, number: int, nodes: int = 0, pods: int = 0) -> None:
        context = multiprocessing.get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, number, nodes, pods), daemon=True)
        self.targets: list[Target] = []

    async def __aenter__(self) -> "Members":
        self._process.start()
        for server, authority, certificate, key in await asyncio.to_thread(self._ours.recv):
            identity = Identity(Material(certificate), Material(key))
            self.targets.append(Target(server, Material(authority), identity=identity))
        return self

    async def __aexit__(self, *failure: object) -> None:
        self._ours.send(None)
        await asyncio.to_thread(self._process.join, 30)


def _serve(pipe: Connection, number: int, nodes: int, pods: int) -> None:
    async def main() -> None:
        async with AsyncExitStack() as stack:
            servers = []
            for _ in range(number):
                server = await stack.enter_async_context(ApiServer())
                await _fill(Client(server.direct(ADMIN)), nodes, pods)
                port = await server.listen()
                certificate, key = server.identity.authority.issue_client("admin", ["system:masters"])
                servers.append(
                    (f"https://127.0.0.1:{port}", server.identity.authority.certificate_pem, certificate, key)
                )
            pipe.send(servers)
            await asyncio.to_thread(pipe.recv)

    os.nice(5)
    asyncio.run(main())


async def _fill(client: Client, nodes: int, pods: int) -> None:
    """Nodes and pods with what kubelets write into them."""
    amounts = {"cpu": "16", "memory": "64Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    images = [{"names": [f"registry.example/app-{n}:v1"], "sizeBytes": 10_000_000 + n} for n in range(20)]
    conditions = [
        {
            "type": kind,
            "status": "True" if kind == "Ready" else "False",
            "reason": f"Kubelet{kind}",
            "message": "x" * 60,
        }
        for kind in ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
    ]
    for number in range(nodes):
        node = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"node-{number}", "labels": {f"example.com/label-{n}": "x" for n in range(15)}},
            "status": {"allocatable": amounts, "capacity": amounts, "conditions": conditions, "images": images},
        }
        await client.encoded(GroupVersionResource("", "v1", "nodes")).create(orjson.dumps(node))
    container, volumes = a_container()
    for number in range(pods):
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"app-{number}", "namespace": "default", "labels": {"app": "app"}},
            "spec": {"nodeName": f"node-{number % max(nodes, 1)}", "containers": [container], "volumes": volumes},
        }
        await client.encoded(GroupVersionResource("", "v1", "pods")).create(orjson.dumps(pod), "default")


def a_container() -> tuple[JSONObject, list[JSONObject]]:
    """A container as pods mostly have one, and the volumes of its pod."""
    container = {
        "name": "app",
        "image": "registry.example/app:v1",
        "resources": {"requests": {"cpu": "250m", "memory": "256Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
        "env": [{"name": f"NAME_{n}", "value": "value" * 4} for n in range(10)],
        "volumeMounts": [{"name": f"volume-{n}", "mountPath": f"/data/{n}"} for n in range(4)],
    }
    return container, [{"name": f"volume-{n}", "emptyDir": {}} for n in range(4)]
