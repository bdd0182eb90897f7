"""When conditions change: the recorded rules of clusters that go down and come back, in virtual time."""

from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import pytest
from tests.membership.test_cluster_api import cluster

from karmada.agent.options import AgentOptions
from karmada.api import conditions, names
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.meta import Condition
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.server import ADMIN, ApiServer
from karmada.machinery.client import Client
from karmada.machinery.leader import LEASES
from karmada.machinery.transport import Transport
from karmada.membership import objects, token
from karmada.membership.certificate import obtain_certificate
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions
from karmada.testing.faults import CALM, FaultyTransport
from karmada.testing.loop import VirtualClock, run_virtual

CLOCK = VirtualClock()
AUTHENTICATED = "system:authenticated"


def ready_of(found: Cluster) -> Condition | None:
    return next((c for c in found.status.conditions if c.type == conditions.READY), None)


async def until(check: Callable[[], Awaitable[Any]], seconds: float = 300.0, pause: float = 0.01) -> float:
    """Seconds until something holds."""
    begin = CLOCK.monotonic()
    while not await check():
        assert CLOCK.monotonic() - begin < seconds, "did not happen"
        await CLOCK.sleep(pause)
    return CLOCK.monotonic() - begin


def state(hub: Client, status: str, taints: list[str]) -> Callable[[], Awaitable[bool]]:
    async def holds() -> bool:
        found = await hub.of(Cluster).get("m1")
        ready = ready_of(found)
        return ready is not None and ready.status == status and [t.key for t in found.spec.taints] == taints

    return holds


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_push_cluster_that_goes_down_and_comes_back(seed: int) -> None:
    async def scenario() -> tuple[float, float, float]:
        async with ApiServer() as member:
            link = FaultyTransport(member.direct(ADMIN), lambda: CALM, Random(seed))

            async def open_member(_: Cluster) -> Transport:
                return link

            async with ControlPlane(ControlPlaneOptions(clock=CLOCK), open_member) as plane:
                hub = plane.client
                await hub.resource(objects.CLUSTERS).create(cluster("m1"))
                first = await until(state(hub, "True", []))
                link.partitioned = True
                down = await until(state(hub, "False", ["cluster.karmada.io/not-ready"]))
                found = ready_of(await hub.of(Cluster).get("m1"))
                assert found is not None
                assert found.reason == conditions.REASON_CLUSTER_NOT_REACHABLE
                link.partitioned = False
                up = await until(state(hub, "True", []))
                return first, down, up

    first, down, up = run_virtual(scenario, seed)
    assert first < 1.0
    assert 30.0 <= down <= 61.0
    assert 30.0 <= up <= 61.0


def test_one_missed_probe_moves_nothing() -> None:
    async def scenario() -> None:
        async with ApiServer() as member:
            link = FaultyTransport(member.direct(ADMIN), lambda: CALM, Random(1))

            async def open_member(_: Cluster) -> Transport:
                return link

            async with ControlPlane(ControlPlaneOptions(clock=CLOCK), open_member) as plane:
                hub = plane.client
                await hub.resource(objects.CLUSTERS).create(cluster("m1"))
                await until(state(hub, "True", []))
                before = ready_of(await hub.of(Cluster).get("m1"))
                link.partitioned = True
                await CLOCK.sleep(15)
                link.partitioned = False
                await CLOCK.sleep(60)
                assert ready_of(await hub.of(Cluster).get("m1")) == before

    run_virtual(scenario, 1)


def test_a_pull_cluster_whose_agent_falls_silent_becomes_unknown() -> None:
    async def scenario() -> float:
        async with ApiServer() as member, ControlPlane(ControlPlaneOptions(clock=CLOCK)) as plane:
            hub = plane.client
            await plane.pull(member.direct(ADMIN), AgentOptions("m1", "https://m1"))
            await until(state(hub, "True", []))
            await CLOCK.sleep(120)
            assert await state(hub, "True", [])()
            await plane.agents["m1"].stop()
            silent = await until(state(hub, "Unknown", ["cluster.karmada.io/unreachable"]))
            found = ready_of(await hub.of(Cluster).get("m1"))
            assert found is not None
            assert found.message == "Cluster status controller stopped posting cluster status."
            return silent

    assert 29.0 <= run_virtual(scenario, 1) <= 50.0


def test_an_agent_whose_clock_is_wrong_is_as_alive_as_any_other() -> None:
    class Late(VirtualClock):
        def now(self) -> float:
            return super().now() - 3600.0

    async def scenario() -> None:
        async with ApiServer() as member, ControlPlane(ControlPlaneOptions(clock=CLOCK)) as plane:
            hub = plane.client
            await plane.pull(member.direct(ADMIN), AgentOptions("m1", "https://m1"), clock=Late())
            await until(state(hub, "True", []))
            await CLOCK.sleep(300)
            assert await state(hub, "True", [])()
            lease = await hub.resource(LEASES).get("m1", "karmada-cluster")
            assert lease["spec"]["leaseDurationSeconds"] == 40

    run_virtual(scenario, 1)


def test_a_pull_cluster_that_never_reports_is_said_to_be_unknown() -> None:
    async def scenario() -> float:
        async with ControlPlane(ControlPlaneOptions(clock=CLOCK)) as plane:
            await plane.client.resource(objects.CLUSTERS).create(cluster("m1", syncMode="Pull"))
            seconds = await until(state(plane.client, "Unknown", ["cluster.karmada.io/unreachable"]))
            found = ready_of(await plane.client.of(Cluster).get("m1"))
            assert found is not None
            assert found.reason == conditions.REASON_STATUS_NEVER_UPDATED
            return seconds

    assert 60.0 <= run_virtual(scenario, 1) <= 70.0


def test_the_roles_of_a_registration_that_led_nowhere_are_taken_back_in_time() -> None:
    async def scenario() -> float:
        async with ControlPlane(ControlPlaneOptions(clock=CLOCK)) as plane:
            await token.create(plane.client, token.Token("abcdef", "0123456789abcdef"), clock=CLOCK)
            user = UserInfo("system:bootstrap:abcdef", ("system:bootstrappers", names.BOOTSTRAP_GROUP, AUTHENTICATED))
            bootstrap = Client(plane.server.direct(user))
            await obtain_certificate(bootstrap, "m1", "m1-abcde", seconds=3600, clock=CLOCK)
            roles = plane.client.resource(objects.CLUSTER_ROLES)
            assert await roles.get("system:karmada:m1:agent")

            async def gone() -> bool:
                return "system:karmada:m1:agent" not in [r["metadata"]["name"] for r in (await roles.list()).items]

            seconds = await until(gone, 4000.0, 5.0)
            spaces = (await plane.client.resource(objects.NAMESPACES).list()).items
            assert "karmada-es-m1" not in [space["metadata"]["name"] for space in spaces]
            return seconds

    assert 3590.0 <= run_virtual(scenario, 1) <= 3610.0
