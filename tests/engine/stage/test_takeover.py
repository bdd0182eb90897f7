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

from .conftest import DEPLOYMENTS, POLICIES, PULLED, PUSHED, QUICK
from .steps import PATIENCE, arrive, copies, create, holder, lease, policy

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
