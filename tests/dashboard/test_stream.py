"""Streams over virtual time: the server, the dashboard and its readers in one loop without sockets."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import orjson
import pytest
from tests.dashboard.world import ACCOUNTS, NAMESPACES, ROLES, WIDE, deployment, policy

from karmada.dashboard.feed import QUEUE
from karmada.dashboard.kinds import CLUSTERS, EVENTS, POLICIES, WORKS
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

    async def tab(self, name: str = "ann", rule: JSONObject = READING) -> Tab:
        await self.hub.resource(ACCOUNTS).create({"metadata": {"name": name, "namespace": "default"}})
        await self.hub.resource(ROLES).create({"metadata": {"name": name}, "rules": [rule]})
        binding = {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
        }
        await self.hub.resource(WIDE).create(binding)
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": 86400},
        }
        made = await self.hub.resource(ACCOUNTS).submit(name, "token", request, "default")
        return Tab(self.dashboard, made["status"]["token"])

    async def cluster(self, name: str) -> None:
        spec = {"syncMode": "Pull"}
        made = {
            "apiVersion": "cluster.karmada.io/v1alpha1",
            "kind": "Cluster",
            "metadata": {"name": name},
            "spec": spec,
        }
        await self.hub.resource(CLUSTERS).create(made)

    async def policy(self) -> None:
        await self.hub.resource(POLICIES).create(policy("other"))

    async def event(self) -> None:
        about = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "nginx"}
        made = {"metadata": {"name": "one", "namespace": "default"}, "involvedObject": about, "reason": "Tested"}
        await self.hub.resource(EVENTS).create(made)

    async def work(self) -> None:
        await self.hub.resource(NAMESPACES).create({"metadata": {"name": "karmada-es-member1"}})
        made = {
            "apiVersion": "work.karmada.io/v1alpha1",
            "kind": "Work",
            "metadata": {"name": "copy", "namespace": "karmada-es-member1"},
            "spec": {"workload": {"manifests": [deployment("copy")]}},
        }
        await self.hub.resource(WORKS).create(made)

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
        received: list[JSONObject] = []

        async def listen() -> None:
            while True:
                found = await tab.next()
                if isinstance(found, dict):
                    received.append(found)

        listening = asyncio.ensure_future(listen())
        for number in range(80):
            await world.scale(number + 3)
            await asyncio.sleep(0.025)
        await asyncio.sleep(1)
        listening.cancel()
        assert 4 <= len(received) <= 10  # Two seconds, four messages a second.
        assert received[-1]["rows"][0]["desired"] == 82

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


async def _received(tab: Tab) -> list[JSONObject]:
    """Changes of a topic up to its end."""
    found = []
    try:
        while True:
            if isinstance(message := await tab.next(), dict):
                found.append(message)
    except StopAsyncIteration:
        return found


def test_users_with_the_same_rights_share_watches_and_others_do_not() -> None:
    async def body(world: World) -> None:
        ann, bob = await world.tab("ann"), await world.tab("bob")
        fewer = {**READING, "resources": ["clusters", "resourcebindings"]}
        cid = await world.tab("cid", fewer)
        for tab in (ann, ann, bob, cid):
            await tab.watch("overview")
        contexts = world.dashboard.contexts
        assert len(contexts._contexts) == 3
        assert sorted(len(board.relay) for board in contexts.boards._boards.values()) == [1, 2]

    virtually(body)


def test_a_user_who_loses_a_right_loses_the_stream_and_others_keep_theirs() -> None:
    async def body(world: World) -> None:
        ann, bob = await world.tab("ann"), await world.tab("bob")
        for tab in (ann, bob):
            await tab.watch("workloads")
            await tab.next()
        await world.hub.resource(WIDE).delete("ann")
        async with asyncio.timeout(20):
            assert await _received(ann) == []
        await world.scale(7)  # whose watches were ann's goes on with bob's
        found = await bob.next()
        while isinstance(found, str):
            found = await bob.next()
        assert not found.get("snapshot")
        assert found["rows"][0]["desired"] == 7
        assert (await ann.ask("GET", "/dashboard/api/workloads")).status == 403

    virtually(body)


def test_a_board_ends_with_the_last_who_may_read_it() -> None:
    async def body(world: World) -> None:
        ann, bob = await world.tab("ann"), await world.tab("bob")
        for tab in (ann, bob):
            await tab.watch("overview")
            await tab.next()
        for name in ("ann", "bob"):
            await world.hub.resource(ACCOUNTS).delete(name, "default")
        await asyncio.gather(_received(ann), _received(bob))
        assert len(world.dashboard.contexts.boards) == 0

    virtually(body)


def test_the_overview_sends_what_changed_and_no_more() -> None:
    async def body(world: World) -> None:
        await world.cluster("member1")
        await world.cluster("member2")
        tab = await world.tab()
        await tab.watch("overview")
        whole = await tab.next()
        assert isinstance(whole, dict)
        assert [row["name"] for row in whole["rows"][0]["clusters"]] == ["member1", "member2"]
        assert whole["rows"][0]["workloads"] == {"total": 1, "healthy": 0, "progressing": 0, "unhealthy": 1}
        await world.hub.resource(CLUSTERS).patch("member2", {"spec": {"region": "north"}})
        changed = await tab.next()
        assert isinstance(changed, dict)
        assert [row["region"] for row in changed["rows"][0]["clusters"]] == ["north"]
        assert "moves" not in changed["rows"][0]
        await world.hub.resource(DEPLOYMENTS).delete("nginx", "default")
        after = await tab.next()
        assert isinstance(after, dict)
        assert after["rows"][0]["clusters"] == []
        assert after["rows"][0]["workloads"]["total"] == 0
        assert [one["object"]["kind"] for one in after["rows"][0]["problems"]] == ["Cluster", "Cluster"]

    virtually(body)


def test_policies_events_and_drift_are_streamed_as_they_happen() -> None:
    async def body(world: World) -> None:
        tab = await world.tab()
        for topic, make in (("policies", world.policy), ("events", world.event), ("drift", world.work)):
            await tab.watch(topic)
            first = await tab.next()
            assert isinstance(first, dict)
            assert first["snapshot"]
            await asyncio.sleep(1)
            await make()
            message = await tab.next()
            assert isinstance(message, dict)
            assert message["topic"] == topic
            if topic == "events":
                assert [row["reason"] for row in message["rows"]] == ["Tested"]
            else:
                assert message["refetch"]

    virtually(body)


def test_topics_need_the_right_to_what_they_show() -> None:
    async def body(world: World) -> None:
        tab = await world.tab("ann", {**READING, "resources": ["clusters", "resourcebindings"]})
        for topic in ("policies", "events", "drift"):
            reply = await tab.ask("GET", "/dashboard/api/stream", query=f"topics=overview,{topic}")
            assert reply.status == 403, topic

    virtually(body)
