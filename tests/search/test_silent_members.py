"""Changes through the global API while members do not say what a user may do. In virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.controllers.plane import MEMBER, Interfering
from tests.search.world import PODS, pod

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.requests.model import Answer, Call
from karmada.apiserver.server import ADMIN
from karmada.machinery.client import Client
from karmada.machinery.clock import Clock
from karmada.machinery.discovery import ApiResource
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.httpserver.model import HttpRequest
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import Request
from karmada.membership import objects
from karmada.search.access import REVIEWS, MemberAccess
from karmada.search.caches import Caches
from karmada.search.kinds import Kinds
from karmada.search.names import GROUP, PROXY, PROXYING, TEMPLATES, VERSION
from karmada.search.plan import KindRef, Part
from karmada.search.proxy import GlobalProxy
from karmada.search.sources import Finder
from karmada.search.templates_view import TemplatesView
from karmada.testing.loop import VirtualClock, run_virtual

POD = ApiResource(PODS, "Pod", True)
DEV = UserInfo("dev")


async def hangs(request: Request) -> None:
    if request.resource == REVIEWS:
        await asyncio.Event().wait()


class World:
    """The clusters a and b with what the global API knows of them, and the clusters that changes were passed on to."""

    def __init__(self, clock: Clock, supervisor: Supervisor) -> None:
        self.clock = clock
        self.transports: dict[str, Interfering] = {}
        self.clients: dict[str, Client] = {}
        members = cast(Any, SimpleNamespace(connect=self._connect))
        self.caches = Caches(members, Kinds(), supervisor, clock)
        self.caches.register([POD], {PODS})
        finder = Finder(self.caches, MemberAccess(clock))
        templates = cast(Any, SimpleNamespace(loaded=self._loaded, uid=lambda named, cluster: ""))
        view = TemplatesView(self.caches, finder, templates)
        self.proxy = GlobalProxy(self.caches, finder, self._pass_on, cast(Any, None), view)
        self.passed: list[str] = []

    async def member(self, name: str, server: Any, *pods: str) -> None:
        self.transports[name] = Interfering(server.direct(ADMIN), self.clock)
        self.clients[name] = Client(cast(Any, self.transports[name]))
        for each in pods:
            await self.clients[name].resource(PODS).create(pod(each))
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        cluster = from_tree({"metadata": {"name": name}, "status": ready}, Cluster)
        await self.caches.apply(cluster, {KindRef("v1", "Pod"): Part()})
        (mirror,) = (mirror for mirror in self.caches.mirrors(PODS) if mirror.cluster == name)
        await mirror.loaded.wait()

    async def allow(self, member: str, verb: str) -> None:
        """Let dev do something with pods in a member."""
        rule = {"apiGroups": [""], "resources": ["pods"], "verbs": [verb]}
        client, subject = self.clients[member], objects.user_subject("dev")
        await client.resource(objects.CLUSTER_ROLES).create(objects.cluster_role("dev", [rule], {}))
        await client.resource(objects.CLUSTER_ROLE_BINDINGS).create(objects.cluster_role_binding("dev", subject, {}))

    def silence(self, *members: str) -> None:
        for name in members:
            self.transports[name].before = hangs

    async def delete(self, name: str, view: str = "karmada") -> str:
        """Delete a pod as dev: the cluster that was asked, or the refusal."""
        return await self.change("DELETE", name, view)

    async def change(self, method: str, name: str, view: str = "karmada", body: bytes = b"", media: str = "") -> str:
        """Change a pod as dev: the cluster that was asked, or the refusal."""
        path = f"/apis/{GROUP}/{VERSION}/{PROXYING}/{view}/{PROXY}/api/v1/namespaces/default/pods/{name}"
        request = HttpRequest(method, path, "", {"content-type": media}, body, ("127.0.0.1", 1), None)
        call = Call(method.lower(), cast(Any, None), DEV, name=view, subresource=PROXY, http=request)
        try:
            await self.proxy(cast(Any, None), call)
        except Failure as failure:
            return str(failure.status())
        return self.passed.pop()

    async def _connect(self, cluster: Cluster) -> Any:
        return SimpleNamespace(client=self.clients[cluster.metadata.name])

    async def _pass_on(self, cluster: Cluster, request: HttpRequest, path: str, user: UserInfo) -> Answer:
        self.passed.append(cluster.metadata.name)
        return Answer(200, b"")

    async def _loaded(self) -> None:
        """The bindings are known."""


def in_a_world(test: Callable[[World], Awaitable[None]]) -> None:
    async def scenario() -> None:
        clock = VirtualClock()
        async with MEMBER.server() as a, MEMBER.server() as b, Supervisor(clock) as supervisor:
            world = World(clock, supervisor)
            await world.member("a", a, "both", "only-a")
            await world.member("b", b, "both", "only-b")
            await test(world)

    MEMBER.prepare()
    run_virtual(scenario)


def test_a_change_goes_to_the_cluster_where_one_may_make_it_whatever_a_silent_one_has() -> None:
    async def story(world: World) -> None:
        await world.allow("a", "delete")
        world.silence("b")
        assert [await world.delete(name) for name in ("both", "only-a")] == ["a", "a"]

    in_a_world(story)


@pytest.mark.parametrize("silent", ["b", "ab"])
@pytest.mark.parametrize("verb", ["get", "delete"])
def test_a_change_that_only_a_silent_cluster_could_take_is_a_503_whether_or_not_there_is_the_object(
    verb: str, silent: str
) -> None:
    async def story(world: World) -> None:
        await world.allow("a", verb)
        world.silence(*silent)
        answers = {await world.delete(name) for name in ("only-b", "nosuch")}
        answers |= {await world.delete(name, TEMPLATES) for name in ("only-b.b", "nosuch.b")}
        (answer,) = answers
        assert "'code': 503" in answer
        assert not any(name in answer for name in ("only-b", "nosuch", "cluster b", "[b]"))

    in_a_world(story)


def test_who_may_make_a_change_nowhere_is_refused_once_all_clusters_have_said_so() -> None:
    async def story(world: World) -> None:
        world.silence("b")
        assert "'code': 503" in await world.delete("only-a")
        world.transports["b"].before = None
        await world.clock.sleep(10)
        assert "'code': 403" in await world.delete("only-a")

    in_a_world(story)
