"""What breaks around the components, on the real thing: their servers, and a member's network."""

import os
import signal

from tests.engine.world import Counting, deployment
from tests.federation.conftest import Federation

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.controllers.clusters import is_ready
from karmada.machinery.client import Client
from karmada.machinery.resource import Scope
from karmada.testing.stage.federation import Stage, eventually

from .conftest import DEPLOYMENTS, POLICIES
from .steps import PATIENCE, arrive, create, policy


async def test_etcd_and_api_server_may_be_away_for_a_while(stage: Stage, federation: Federation) -> None:
    await federation.hub.resource(POLICIES).create(policy("member1", "member2"))
    await federation.hub.resource(DEPLOYMENTS).create(deployment("before"))
    await arrive(federation.members, "before")
    async with Counting(federation.members["member1"], DEPLOYMENTS) as counting:
        await stage.hub.kill()
        await stage.hub.start()
        await create(federation.hub, "after-api-server")
        await arrive(federation.members, "after-api-server")
        assert counting.comings == {("ADDED", "default/after-api-server"): 1}

    await stage.etcd.kill()
    await stage.etcd.start()

    await create(federation.hub, "after-etcd")
    await arrive(federation.members, "after-etcd")
    for member in federation.members.values():
        found = (await member.resource(DEPLOYMENTS).list(Scope("default"))).items
        assert {obj["metadata"]["name"]: obj["metadata"]["generation"] for obj in found} == {
            "before": 1,
            "after-api-server": 1,
            "after-etcd": 1,
        }


async def test_a_member_that_does_not_answer_delays_nobody_and_catches_up(
    stage: Stage, federation: Federation, members: dict[str, Client]
) -> None:
    """Its API server is stopped, not ended: connections stay open and nothing comes back, as behind a cut line."""
    await federation.hub.resource(POLICIES).create(policy("member1", "member2"))
    await federation.hub.resource(DEPLOYMENTS).create(deployment("before"))
    await arrive(federation.members, "before")
    pid = stage.members["member2"].daemon.pid
    assert pid is not None

    async def ready(expected: bool) -> bool:
        cluster = await federation.hub.of(Cluster).get("member2")
        return is_ready(cluster) is expected

    os.kill(pid, signal.SIGSTOP)
    try:
        await federation.hub.resource(DEPLOYMENTS).create(deployment("meanwhile"))
        await arrive({"member1": members["member1"]}, "meanwhile")
        await eventually(lambda: ready(False), PATIENCE)
    finally:
        os.kill(pid, signal.SIGCONT)
    await eventually(lambda: ready(True), PATIENCE)
    await arrive(federation.members, "meanwhile")
