"""Components that are killed under load: another leads soon, servers come back, and nothing is done twice or lost."""

import os
import signal
import time

import pytest
from tests.engine.world import Counting, deployment
from tests.federation.conftest import Federation

from karmada.api import names
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.controllers.clusters import is_ready
from karmada.machinery.client import Client
from karmada.machinery.clock import parse_rfc3339
from karmada.machinery.transport import GroupVersionResource
from karmada.testing.stage.federation import (
    AGENT,
    AGGREGATED,
    CONTROLLERS,
    DESCHEDULER,
    SCHEDULER,
    WEBHOOK,
    Stage,
    eventually,
)

from .conftest import BINDINGS, DEPLOYMENTS, POLICIES, PULLED, PUSHED, QUICK
from .steps import PATIENCE, arrive, copies, create, holder, lease, policy

WORKS = GroupVersionResource("work.karmada.io", "v1alpha1", "works")
TAKEOVER = 20.0
"""Seconds from a leader's death until another leads, with the lease as it is by default."""


@pytest.mark.parametrize("program", [CONTROLLERS, SCHEDULER, DESCHEDULER, AGENT])
async def test_another_takes_over_from_a_killed_leader_under_load_and_repeats_nothing(
    stage: Stage, federation: Federation, members: dict[str, Client], program: str
) -> None:
    hub = federation.hub
    # An agent's lease is in its member, and what it is loaded with goes there.
    elected, called = (members[PULLED], names.agent_lease(PULLED)) if program == AGENT else (hub, program)
    targets = {name: members[name] for name in ((PULLED,) if program == AGENT else PUSHED)}
    leader = stage.components.get(program) or await stage.start(program)
    before = await eventually(lambda: holder(elected, called), PATIENCE)
    successor = await (stage.start_agent(PULLED, *QUICK) if program == AGENT else stage.start(program))
    await hub.resource(POLICIES).create(policy(*targets))
    apps = [f"app-{number}" for number in range(30)]
    async with Counting(next(iter(targets.values())), DEPLOYMENTS) as counting:
        for name in apps[:15]:
            await hub.resource(DEPLOYMENTS).create(deployment(name))
        await eventually(lambda: copies(targets, apps[0]), PATIENCE)
        await leader.end(signal.SIGKILL)
        killed = time.time()
        for name in apps[15:]:
            await hub.resource(DEPLOYMENTS).create(deployment(name))

        async def another() -> bool:
            return await holder(elected, called) not in ("", before)

        await eventually(another, PATIENCE)
        assert parse_rfc3339((await lease(elected, called))["acquireTime"]) - killed < TAKEOVER
        await arrive(targets, *apps)
        assert counting.comings == {("ADDED", f"default/{name}"): 1 for name in apps}
        assert set(counting.generations.values()) == {1}
    stage.components[program] = successor


async def generations(hub: Client) -> dict[str, int]:
    """How often what the control plane decided was changed, by uid."""
    found = [one for type_ in (BINDINGS, WORKS) for one in (await hub.resource(type_).list()).items]
    return {one["metadata"]["uid"]: one["metadata"]["generation"] for one in found}


@pytest.mark.parametrize("program", [CONTROLLERS, SCHEDULER])
async def test_a_frozen_leader_wakes_up_deposed_and_no_write_of_it_lands(
    stage: Stage, federation: Federation, program: str
) -> None:
    """It wakes up with work in its hands and everything that happened meanwhile in its sockets, and ends."""
    hub, leader = federation.hub, stage.components[program]
    before = await eventually(lambda: holder(hub, program), PATIENCE)
    pid, restarts = leader.pid, leader.restarts
    assert pid is not None
    assert f"_{pid}_" in before
    successor = await stage.start(program)
    await hub.resource(POLICIES).create(policy(*PUSHED))
    apps = [f"app-{number}" for number in range(10)]
    async with Counting(federation.members["member1"], DEPLOYMENTS) as counting:
        await hub.resource(DEPLOYMENTS).create(deployment(apps[0]))
        await arrive(federation.members, apps[0])
        os.kill(pid, signal.SIGSTOP)
        try:
            for name in apps[1:]:
                await hub.resource(DEPLOYMENTS).create(deployment(name))

            async def another() -> bool:
                return await holder(hub, program) not in ("", before)

            await eventually(another, PATIENCE)
            await arrive(federation.members, *apps)
            decided = await generations(hub)
        finally:
            os.kill(pid, signal.SIGCONT)

        async def ended() -> bool:
            return leader.restarts > restarts

        await eventually(ended, PATIENCE)
        assert await holder(hub, program) not in ("", before)
        assert await generations(hub) == decided
        assert counting.comings == {("ADDED", f"default/{name}"): 1 for name in apps}
        assert set(counting.generations.values()) == {1}
    await leader.end()
    stage.components[program] = successor


@pytest.mark.parametrize("program", [WEBHOOK, AGGREGATED])
async def test_a_server_that_is_killed_under_load_comes_back_and_nothing_is_lost(
    stage: Stage, federation: Federation, program: str
) -> None:
    """There is only one replica of each here: the API server asks nobody else meanwhile."""
    server = stage.components[program]
    restarts, pid = server.restarts, server.pid
    assert pid is not None
    await federation.hub.resource(POLICIES).create(policy(*PUSHED))
    apps = [f"app-{number}" for number in range(20)]
    async with Counting(federation.members["member1"], DEPLOYMENTS) as counting:
        for name in apps[:10]:
            await create(federation.hub, name)
        os.kill(pid, signal.SIGKILL)
        for name in apps[10:]:
            await create(federation.hub, name)
        await arrive(federation.members, *apps)
        assert counting.comings == {("ADDED", f"default/{name}"): 1 for name in apps}
        assert set(counting.generations.values()) == {1}

    async def back() -> bool:
        clusters = (await federation.hub.of(Cluster).list()).items
        return server.restarts == restarts + 1 and all(map(is_ready, clusters))

    await eventually(back, PATIENCE)
