"""A member that attacks its control plane is cut off and named; others notice nothing, and it may come back."""

import logging
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from tests.membership.test_unjoin import CONFIG_MAPS, WORKS, work
from tests.membership.world import World, eventually

from karmada.controllers.cluster_status import StatusOptions
from karmada.machinery.options import Options
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource
from karmada.membership import objects
from karmada.membership.join import join
from karmada.membership.registration import Description
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions
from karmada.testing.hostile import (
    Attack,
    HostileMember,
    HurriedClock,
    LoopMeter,
    deep_json,
    endless_line,
    garbage,
    header_flood,
    huge_body,
    wrong_type,
)

EVENTS = GroupVersionResource("", "v1", "events")
SLOW = re.compile(r" took [0-9.]+ s for ")
"""Said of reconciles by a clock that is in a hurry, the more the busier the machine is."""
STATUS = StatusOptions(period=1.0, success_threshold=0.0, failure_threshold=0.0, probe_timeout=2.0, count_timeout=2.0)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        options = ControlPlaneOptions(options=Options(STATUS), clock=HurriedClock(20))
        yield World(await stack.enter_async_context(ControlPlane(options)), stack)


def watches(method: str, path: str) -> bool:
    return "watch=true" in path


def anything(method: str, path: str) -> bool:
    return True


def all_but_health(method: str, path: str) -> bool:
    return path != "/readyz"


def discovery(method: str, path: str) -> bool:
    return path == "/apis"


async def readiness(world: World, name: str) -> Any:
    found = await world.hub.resource(objects.CLUSTERS).get(name)
    return next(c for c in found["status"]["conditions"] if c["type"] == "Ready")


@pytest.mark.parametrize(
    ("attack", "concerns"),
    [
        (endless_line, watches),
        (garbage, all_but_health),
        (huge_body, anything),
        (deep_json, discovery),
        (wrong_type, watches),
        (header_flood, anything),
    ],
    ids=["endless lines", "garbage", "huge bodies", "deep discovery", "pages for watches", "floods of headers"],
)
async def test_a_hostile_member_is_cut_off_and_named_and_comes_back(
    world: World, caplog: pytest.LogCaptureFixture, attack: Attack, concerns: Any
) -> None:
    fine = await world.member("fine")
    await join(fine.client, world.hub, fine.describe())
    await world.ready("fine")
    member = await world.member("bad")
    with HostileMember(int(member.endpoint.rpartition(":")[2])) as hostile:
        hostile.attack, hostile.concerns = attack, concerns
        caplog.set_level(logging.WARNING, "karmada")
        async with LoopMeter().running() as meter:
            await join(member.client, world.hub, Description("bad", hostile.endpoint))

            async def cut_off() -> bool:
                ready = await readiness(world, "bad")
                return bool(ready["status"] == "False" and ready["reason"] == "ClusterMisbehaving")

            await eventually(cut_off)
            for number in range(20):
                made = work("fine")
                made["metadata"]["name"] = f"w{number}"
                made["spec"]["workload"]["manifests"][0]["metadata"] |= {"name": f"c{number}"}
                await world.hub.resource(WORKS).create(made)
            await eventually(lambda: fine.client.resource(CONFIG_MAPS).get("c19", "default"))
        assert meter.longest < 0.5
        assert sum(not SLOW.search(record.message) for record in caplog.records) < 30

        async def reported() -> bool:
            found = (await world.hub.resource(EVENTS).list(Scope("default"))).items
            return any(e["reason"] == "ClusterMisbehaving" and e["involvedObject"]["name"] == "bad" for e in found)

        await eventually(reported)
        hostile.attack = None
        await world.hub.resource(WORKS).create(work("bad"))
        await eventually(lambda: member.client.resource(CONFIG_MAPS).get("a", "default"), attempts=6000)
        assert (await readiness(world, "bad"))["status"] == "True"
