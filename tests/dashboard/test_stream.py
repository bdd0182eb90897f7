"""Streams over virtual time: the server, the dashboard and its readers in one loop without sockets."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import orjson
import pytest
from tests.dashboard.world import ACCOUNTS, ROLES, WIDE, deployment

from karmada.dashboard.feed import QUEUE
from karmada.dashboard.server import Dashboard
from karmada.machinery.client import Client
from karmada.machinery.httpserver.model import HttpRequest, HttpResponse, StreamResponse
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions
from karmada.testing.loop import VirtualClock, run_virtual

DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
READING = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}


class Tab:
    """One tab of a browser."""

    def __init__(self, dashboard: Dashboard, token: str) -> None:
        self._dashboard = dashboard
        self._token = token
        self.cookie = ""
        self._chunks: AsyncIterator[bytes]
        self._rest = b""

    async def ask(self, method: str, path: str, body: bytes = b"", query: str = "") -> Any:
        headers = {"host": "localhost", "content-type": "application/json"}
        if self.cookie:
            headers["cookie"] = f"karmada-session={self.cookie}"
        elif not path.endswith("login"):
            headers["authorization"] = f"Bearer {self._token}"
        return await self._dashboard(HttpRequest(method, path, query, headers, body, ("127.0.0.1", 1), None))

    async def login(self) -> None:
        reply = await self.ask("POST", "/dashboard/login", orjson.dumps({"token": self._token}))
        assert isinstance(reply, HttpResponse)
        self.cookie = str(reply.headers["Set-Cookie"]).partition(";")[0].partition("=")[2]

    async def watch(self, topics: str) -> None:
        reply = await self.ask("GET", "/dashboard/api/stream", query=f"topics={topics}")
        assert isinstance(reply, StreamResponse), reply.body
        self._chunks = reply.chunks

    async def next(self) -> JSONObject | str:
        """The next change; a comment as it is."""
        while True:
            while b"\n\n" not in self._rest:
                self._rest += await anext(self._chunks)
            block, _, self._rest = self._rest.partition(b"\n\n")
            if block.startswith(b":"):
                return block.decode()
            for line in block.split(b"\n"):
                if line.startswith(b"data: "):
                    found: JSONObject = orjson.loads(line[6:])
                    return found


class World:
    """The control plane, its dashboard, and tokens."""

    def __init__(self, plane: ControlPlane) -> None:
        assert plane.dashboard is not None
        self.hub: Client = plane.client
        self.dashboard = plane.dashboard

    async def tab(self, name: str = "ann") -> Tab:
        await self.hub.resource(ACCOUNTS).create({"metadata": {"name": name, "namespace": "default"}})
        await self.hub.resource(ROLES).create({"metadata": {"name": name}, "rules": [READING]})
        binding = {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
        }
        await self.hub.resource(WIDE).create(binding)
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 86400}}
        made = await self.hub.resource(ACCOUNTS).submit(name, "token", asked, "default")
        return Tab(self.dashboard, made["status"]["token"])

    async def scale(self, replicas: int) -> None:
        await self.hub.resource(DEPLOYMENTS).patch("nginx", {"spec": {"replicas": replicas}}, "default")


def virtually(body: Callable[[World], Awaitable[None]]) -> None:
    async def main() -> None:
        options = ControlPlaneOptions(clock=VirtualClock(), dashboard=True)
        async with ControlPlane(options) as plane:
            world = World(plane)
            await world.hub.resource(DEPLOYMENTS).create(deployment())
            await body(world)

    run_virtual(main)


def test_many_changes_become_few_messages() -> None:
    async def body(world: World) -> None:
        tab = await world.tab()
        await tab.watch("workloads")
        assert isinstance(await tab.next(), dict)
        heard: list[JSONObject] = []

        async def listen() -> None:
            while True:
                found = await tab.next()
                if isinstance(found, dict):
                    heard.append(found)

        listening = asyncio.ensure_future(listen())
        for number in range(80):
            await world.scale(number + 3)
            await asyncio.sleep(0.025)
        await asyncio.sleep(1)
        listening.cancel()
        assert 4 <= len(heard) <= 10  # Two seconds, four messages a second.
        assert heard[-1]["rows"][0]["desired"] == 82

    virtually(body)


def test_a_silent_stream_shows_that_it_lives() -> None:
    async def body(world: World) -> None:
        tab = await world.tab()
        await tab.watch("workloads")
        await tab.next()
        begun = asyncio.get_running_loop().time()
        assert await tab.next() == ": still here"
        assert asyncio.get_running_loop().time() - begun == 15.0

    virtually(body)


def test_a_stream_ends_with_its_session() -> None:
    async def body(world: World) -> None:
        tab = await world.tab()
        await tab.login()
        await tab.watch("workloads")
        await tab.next()
        world.dashboard.sessions.close(tab.cookie)
        begun = asyncio.get_running_loop().time()
        with pytest.raises(StopAsyncIteration):
            await tab.next()
        assert asyncio.get_running_loop().time() - begun == 15.0

    virtually(body)


def test_a_stream_ends_when_rights_or_tokens_are_taken_away() -> None:
    async def body(world: World) -> None:
        for name, end in (("ann", "right"), ("bob", "token")):
            tab = await world.tab(name)
            await tab.watch("overview")
            await tab.next()
            begun = asyncio.get_running_loop().time()
            if end == "right":
                await world.hub.resource(WIDE).delete(name)
            else:
                await world.hub.resource(ACCOUNTS).delete(name, "default")
            try:
                while True:
                    await tab.next()
            except StopAsyncIteration:
                pass
            assert asyncio.get_running_loop().time() - begun <= 20
            reply = await tab.ask("GET", "/dashboard/api/overview")
            assert reply.status == (403 if end == "right" else 401)

    virtually(body)


def test_a_reader_that_falls_behind_starts_again_with_a_snapshot() -> None:
    async def body(world: World) -> None:
        tab = await world.tab()
        await tab.watch("workloads")
        await tab.next()
        for number in range(QUEUE + 10):
            await world.scale(number + 3)
            await asyncio.sleep(0.3)
        found = await tab.next()
        assert isinstance(found, dict)
        assert found["snapshot"]
        assert found["rows"][0]["desired"] == QUEUE + 12

    virtually(body)


def test_tabs_of_one_user_share_watches_and_users_do_not() -> None:
    async def body(world: World) -> None:
        ann, bob = await world.tab("ann"), await world.tab("bob")
        for _ in range(3):
            await ann.watch("overview")
        await bob.watch("overview")
        desks = world.dashboard.desks
        assert len(desks._desks) == 2
        assert sorted(len(desk._boards) for desk in desks._desks.values()) == [1, 1]

    virtually(body)
