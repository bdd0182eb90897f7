"""What an edit of one ingress costs the gateway, which carries the requests of everybody meanwhile, and what holds
while the table is older than the ingresses."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import msgspec
from tests.controllers.plane import HUB, NAMESPACES, Plane, make_hub, on_a_plane
from tests.gateway.test_routes import ingress, path
from tests.growth import Work, excess, grows, work

from karmada.api.networking.v1alpha1 import MultiClusterIngress
from karmada.gateway.making import NOTHING, Made, made
from karmada.gateway.reconcilers import REREAD_SECONDS, ROUTES, GatewayReconcilers
from karmada.gateway.routes import IngressKey, Problem
from karmada.gateway.status import StatusWriter
from karmada.machinery.client import type_of
from karmada.machinery.clock import REAL
from karmada.machinery.controller import DONE, RequeueAfter
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import JSONObject, Request
from karmada.membership import objects


def of_host(number: int, service: str = "s", generation: int = 1) -> MultiClusterIngress:
    tls = [{"secretName": f"c{number}"}]
    found = ingress((f"h{number}", [path("/", f"{service}{number}")]), name=f"w{number}", age=number % 60, tls=tls)
    return msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, generation=generation))


def key(name: str) -> IngressKey:
    return IngressKey("default", name)


def test_an_edit_concerns_the_ingress_its_services_and_those_it_takes_a_host_from_or_gives_one_to() -> None:
    before = made([of_host(number) for number in range(5)], "", [], NOTHING)
    assert (len(before.touched), len(before.stale), len(before.certified)) == (5, 5, 5)
    edited = [of_host(0), of_host(1, "other", 2), of_host(2, generation=2), *map(of_host, (3, 4))]
    after = made(edited, "", [], before)
    assert after.touched == [key("w1"), key("w2")]
    assert set(after.stale) == {("default", "s1"), ("default", "other1")}
    thief = ingress(("h3", [path("/", "thief")]), name="thief", age=0)
    robbed = made([thief, *edited], "", [], after)
    assert set(robbed.touched) == {key("thief"), key("w3")}
    assert set(made(edited, "", [], robbed).touched) == {key("thief"), key("w3")}
    assert made(edited, "", [], after) == Made(*after[:5], [], [])


def test_what_a_table_needs_is_found_without_comparing_all_with_all() -> None:
    def measured(count: int) -> Work:
        ingresses = [of_host(number) for number in range(count)]
        before = made(ingresses, "", [], NOTHING)
        return work(lambda: len(made([*ingresses[1:], of_host(0, "other", 2)], "", [], before).stale))

    assert not grows(excess(measured) or Work(0, 0, 0))


def test_a_large_table_is_made_beside_the_requests_and_not_again_at_once() -> None:
    async def scenario() -> None:
        async with make_hub(HUB.storage(), REAL) as hub, Supervisor(REAL) as supervisor:
            plane: Any = Plane(hub, supervisor, REAL)
            rules = [
                {"host": f"h{n}", "http": {"paths": [{"pathType": "Prefix", **path(f"/{m}", "s")} for m in range(50)]}}
                for n in range(50)
            ]
            tree = {"metadata": {"name": "large", "namespace": "default"}, "spec": {"rules": rules}}
            await plane.client.resource(type_of(MultiClusterIngress)).create(tree)
            unused = cast(Any, SimpleNamespace(replace=lambda contexts: None))
            reported: list[IngressKey] = []
            informers = plane.context.informers
            gateway = GatewayReconcilers(plane.client, informers, unused, unused, reported.append, clock=REAL)
            gateway.api.known = True
            await gateway.ingresses.synced()
            making = asyncio.create_task(gateway.reconcile_routes(ROUTES))
            turns = 0
            while not making.done():
                await asyncio.sleep(0)
                turns += 1
            assert (await making, turns > 10) == (DONE, True)
            assert gateway.table.match("h7", "/7") is not None
            assert key("large") in reported
            assert isinstance(await gateway.reconcile_routes(ROUTES), RequeueAfter)

    HUB.prepare()
    asyncio.run(scenario())


def tree_of(host: str, namespace: str = "default") -> JSONObject:
    rule = {"host": host, "http": {"paths": [path("/", "s")]}}
    spec = {"rules": [rule], "tls": [{"hosts": [host], "secretName": "c"}]}
    return {"metadata": {"name": "web", "namespace": namespace}, "spec": spec}


def gateway_on(plane: Any) -> tuple[GatewayReconcilers, StatusWriter]:
    """A gateway of which nothing runs yet."""
    client, informers, clock = plane.context.client, plane.context.informers, plane.clock
    writer = StatusWriter(client, ["192.0.2.1"], clock)
    unused = cast(Any, SimpleNamespace(replace=lambda contexts: None))
    gateway = GatewayReconcilers(client, informers, unused, unused, writer.controller.enqueue, clock=clock)
    writer.reconcilers = gateway
    gateway.api.known = True
    return gateway, writer


def test_a_certificate_whose_ingress_went_while_it_was_read_is_read_when_one_wants_it_again() -> None:
    async def story(plane: Any) -> None:
        gateway, _ = gateway_on(plane)
        reading, gone = asyncio.Event(), asyncio.Event()

        async def held(request: Request) -> None:
            if request.resource == objects.SECRETS:
                reading.set()
                await gone.wait()

        plane.transport.before = held
        ingresses, secrets = plane.client.resource(type_of(MultiClusterIngress)), plane.client.resource(objects.SECRETS)
        plane.start(gateway.routes)
        plane.start(gateway.certificates)
        await ingresses.create(tree_of("h"))
        await reading.wait()
        await ingresses.delete("web", "default")
        await plane.clock.sleep(1)
        gone.set()
        await plane.clock.sleep(REREAD_SECONDS + 1)
        await secrets.create({"metadata": {"name": "c", "namespace": "default"}})
        await ingresses.create(tree_of("h"))
        await plane.clock.sleep(1)
        found = gateway.secrets[("default", "c")]
        assert isinstance(found, Problem)
        assert found.reason == "BadCertificate"

    on_a_plane(story)


def test_an_edit_is_reported_on_once_the_table_is_made_of_it() -> None:
    async def story(plane: Any) -> None:
        gateway, writer = gateway_on(plane)
        plane.start(writer.controller)
        await plane.client.resource(NAMESPACES).create({"metadata": {"name": "other"}})
        ingresses = plane.client.resource(type_of(MultiClusterIngress))

        async def accepted() -> tuple[str, int]:
            await plane.clock.sleep(2)
            status = (await ingresses.get("web", "default"))["status"]
            return next(
                (each["status"], each["observedGeneration"])
                for each in status["conditions"]
                if each["type"] == "RoutesAccepted"
            )

        await ingresses.create(tree_of("taken", "other"))
        await plane.clock.sleep(2)
        await ingresses.create(tree_of("free"))
        await plane.clock.sleep(2)
        await gateway.reconcile_routes(ROUTES)
        assert await accepted() == ("True", 1)
        await ingresses.patch("web", {"spec": tree_of("taken")["spec"]}, "default")
        assert await accepted() == ("True", 1)
        await gateway.reconcile_routes(ROUTES)
        assert await accepted() == ("False", 2)

    on_a_plane(story)
