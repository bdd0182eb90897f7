"""Informers for kinds that come and go."""

import asyncio
from random import Random

from karmada.machinery.client import Client
from karmada.machinery.errors import Unavailable
from karmada.machinery.informers.dynamic import PERIOD, DynamicInformers
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.rest_mapper import RESTMapper
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource
from karmada.testing.loop import VirtualClock, run_virtual

EMPTY = {"items": []}


def discovery(*plurals, verbs=("get", "list", "watch"), freshness="Current"):
    resources = [
        {"resource": plural, "responseKind": {"kind": plural.title()}, "scope": "Namespaced", "verbs": list(verbs)}
        for plural in plurals
    ]
    versions = [{"version": "v1", "freshness": freshness, "resources": resources}]
    return {"/api": {"items": [{"metadata": {"name": ""}, "versions": versions}]}, "/apis": EMPTY}


def of(*plurals):
    return [GroupVersionResource("", "v1", plural) for plural in plurals]


class Setting:
    """Dynamic informers for everything but secrets, with a diary."""

    def __init__(self, server, supervisor):
        clock = VirtualClock()
        factory = InformerFactory(Client(server), supervisor, clock=clock, random=Random(1))
        self.diary = []
        self.dynamic = DynamicInformers(
            factory,
            RESTMapper(server, clock),
            lambda resource: resource.type.resource != "leases",
            lambda resource, informer: self.diary.append(f"+{resource.type.resource}"),
            lambda resource: self.diary.append(f"-{resource.type.resource}"),
            clock=clock,
        )
        supervisor.start("dynamic", self.dynamic.run)


def simulate(server, story):
    async def main():
        async with Supervisor(VirtualClock(), Random(1)) as supervisor:
            await story(Setting(server, supervisor))

    run_virtual(main)


def test_kinds_come_and_go_with_discovery(server):
    async def story(setting):
        server.discovery = discovery("configmaps", "leases")
        await asyncio.sleep(1)
        await setting.dynamic.synced()
        assert list(setting.dynamic.informers) == of("configmaps")
        server.discovery = discovery("works")
        setting.dynamic.wake()
        await asyncio.sleep(1)
        assert list(setting.dynamic.informers) == of("works")
        assert setting.diary == ["+configmaps", "-configmaps", "+works"]
        assert [request.resource.resource for request, _ in server.streams] == ["works"]

    server.discovery = discovery("configmaps")
    simulate(server, story)


def test_discovery_is_asked_again_after_a_while(server):
    async def story(setting):
        await asyncio.sleep(1)
        server.discovery = discovery("configmaps", "works")
        await asyncio.sleep(PERIOD)
        assert list(setting.dynamic.informers) == of("configmaps", "works")

    server.discovery = discovery("configmaps")
    simulate(server, story)


def test_a_failing_or_incomplete_discovery_stops_nothing(server):
    async def story(setting):
        await asyncio.sleep(1)
        server.failures = [Unavailable("down")]
        setting.dynamic.wake()
        await asyncio.sleep(1)
        server.discovery = discovery(freshness="Stale")
        setting.dynamic.wake()
        await asyncio.sleep(1)
        assert setting.diary == ["+configmaps"]

    server.discovery = discovery("configmaps")
    simulate(server, story)


def test_kinds_that_cannot_be_watched_are_left_out(server):
    async def story(setting):
        await asyncio.sleep(1)
        assert setting.diary == []

    server.discovery = discovery("configmaps", verbs=("create",))
    simulate(server, story)


def test_a_kind_that_comes_back_is_loaded_anew(server):
    async def story(setting):
        [config_maps] = of("configmaps")
        await asyncio.sleep(1)
        first = setting.dynamic.informers[config_maps]
        server.discovery = discovery()
        await setting.dynamic.refresh()
        server.put(config_maps, {"metadata": {"name": "a", "namespace": "default"}})
        server.discovery = discovery("configmaps")
        await setting.dynamic.refresh()
        second = setting.dynamic.informers[config_maps]
        await second.synced()
        assert second is not first
        assert len(second) == 1

    server.discovery = discovery("configmaps")
    simulate(server, story)
