"""Components of one process share caches, and each shows that it may read what it shares."""

from collections.abc import Callable
from typing import Any

from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.server import ADMIN, ApiServer
from karmada.machinery.client import Client
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.resource import Scope
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource, Request
from karmada.membership import objects
from karmada.testing.loop import VirtualClock, run_virtual

CONFIG_MAPS, SECRETS = objects.CONFIG_MAPS, objects.SECRETS
BORROWER = UserInfo("borrower", ("system:authenticated",))


class Recording:
    """A transport that writes down what is asked of it."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.requests: list[tuple[str, str]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def send(self, request: Request) -> bytes:
        self.requests.append((request.verb.value, request.resource.resource))
        return bytes(await self._inner.send(request))

    def watch(self, request: Request) -> Any:
        self.requests.append((request.verb.value, request.resource.resource))
        return self._inner.watch(request)


def lending(verbs: list[str], story: Callable[[InformerFactory, InformerFactory, Recording, Supervisor], Any]) -> None:
    """Run a lender that watches ConfigMaps and a borrower who may use these verbs on them."""

    async def main() -> None:
        clock = VirtualClock()
        async with ApiServer() as server, Supervisor(clock) as supervisor:
            hub = Client(server.direct(ADMIN))
            rule = {"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": verbs}
            await hub.resource(objects.CLUSTER_ROLES).create(objects.cluster_role("borrower", [rule]))
            subject = objects.user_subject("borrower")
            await hub.resource(objects.CLUSTER_ROLE_BINDINGS).create(objects.cluster_role_binding("borrower", subject))
            lender = InformerFactory(hub, supervisor, clock=clock)
            await lender.resource(CONFIG_MAPS).synced()
            recorded = Recording(server.direct(BORROWER))
            client = Client(recorded, field_manager="borrower")
            await story(lender, InformerFactory(client, supervisor, clock=clock, lender=lender), recorded, supervisor)

    run_virtual(main)


def test_what_the_lender_follows_is_shared_after_one_look_of_ones_own() -> None:
    async def story(lender: InformerFactory, own: InformerFactory, recorded: Recording, supervisor: Supervisor) -> None:
        assert own.resource(CONFIG_MAPS) is lender.resource(CONFIG_MAPS)
        assert own.resource(CONFIG_MAPS) is lender.resource(CONFIG_MAPS)
        await VirtualClock().sleep(60)
        assert recorded.requests == [("list", "configmaps"), ("watch", "configmaps")]
        assert not supervisor.restarts

    lending(["list", "watch"], story)


def test_what_the_lender_does_not_follow_is_followed_by_oneself() -> None:
    async def story(lender: InformerFactory, own: InformerFactory, recorded: Recording, supervisor: Supervisor) -> None:
        kinds: list[tuple[GroupVersionResource, Scope]] = [(SECRETS, Scope()), (CONFIG_MAPS, Scope("default"))]
        for type_, scope in kinds:
            mine = own.resource(type_, scope)
            await mine.synced()
            assert mine is not lender.resource(type_, scope)
            assert mine is own.resource(type_, scope)
        assert ("watch", "secrets") in recorded.requests

    lending(["list", "watch"], story)


def test_who_may_not_follow_it_does_not_go_unnoticed(failures) -> None:
    async def story(lender: InformerFactory, own: InformerFactory, recorded: Recording, supervisor: Supervisor) -> None:
        own.resource(CONFIG_MAPS)
        await VirtualClock().sleep(1)
        assert [name for name in supervisor.restarts if name.startswith("proof of")]

    lending(["list"], story)
