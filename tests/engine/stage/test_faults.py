"""What breaks in production, on the real thing: leaders, servers, a member's network, certificates that end."""

import asyncio
import contextlib
import os
import signal
import time
from collections import Counter
from typing import Any

import pytest
from tests.engine.world import deployment
from tests.federation.conftest import Federation

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.cli.deploy.rights import user_of
from karmada.controllers.clusters import is_ready
from karmada.machinery.client import Client
from karmada.machinery.errors import AlreadyExists
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource
from karmada.testing.stage.federation import CONTROLLERS, SCHEDULER, Stage, eventually

from .conftest import DEPLOYMENTS, POLICIES

LEASES = GroupVersionResource("coordination.k8s.io", "v1", "leases")
TAKEOVER = 20.0
"""Seconds from a leader's death until another leads, with the lease as it is by default."""
PATIENCE = 120.0
ALL = ("member1", "member2", "member3")


def policy(*clusters: str) -> dict[str, Any]:
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": "everything", "namespace": "default"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
            "placement": {"clusterAffinity": {"clusterNames": list(clusters or ALL)}},
        },
    }


async def copies(members: dict[str, Client], name: str) -> bool:
    """Whether a Deployment is in the given members."""
    for member in members.values():
        await member.resource(DEPLOYMENTS).get(name, "default")
    return True


async def arrive(members: dict[str, Client], *names: str) -> None:
    for name in names:
        await eventually(lambda name=name: copies(members, name), PATIENCE)


async def create(hub: Client, name: str) -> None:
    """Create a Deployment on a server that comes back; an attempt without an answer may have succeeded."""

    async def there() -> bool:
        with contextlib.suppress(AlreadyExists):
            await hub.resource(DEPLOYMENTS).create(deployment(name))
        return True

    await eventually(there, PATIENCE)


async def holder(stage: Stage, lease: str) -> str:
    found = await stage.client.resource(LEASES).get(lease, "karmada-system")
    return str(found["spec"].get("holderIdentity") or "")


class Watching:
    """Follows the Deployments of a member: how often each was made, removed, or given another specification."""

    def __init__(self, member: Client) -> None:
        self._resource = member.resource(DEPLOYMENTS)
        self.seen: Counter[tuple[str, str]] = Counter()
        self.generations: dict[str, int] = {}
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Watching":
        version = (await self._resource.list()).resource_version
        self._task = asyncio.create_task(self._follow(version))
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _follow(self, version: str) -> None:
        async with self._resource.watch(resource_version=version) as stream:
            async for batch in stream:
                for change in batch:
                    metadata = change.object["metadata"]
                    if change.type != "MODIFIED":
                        self.seen[change.type, metadata["name"]] += 1
                    self.generations[metadata["name"]] = metadata["generation"]


@pytest.mark.parametrize("program", [CONTROLLERS, SCHEDULER])
async def test_another_takes_over_from_a_killed_leader_under_load_and_repeats_nothing(
    stage: Stage, federation: Federation, program: str
) -> None:
    leader = stage.components[program]
    before = await holder(stage, program)
    successor = await stage.start(program)
    await federation.hub.resource(POLICIES).create(policy("member1", "member2"))
    names = [f"app-{number}" for number in range(30)]
    async with Watching(federation.members["member1"]) as watching:
        for name in names[:15]:
            await federation.hub.resource(DEPLOYMENTS).create(deployment(name))
        await eventually(lambda: copies(federation.members, names[0]))
        await leader.end(signal.SIGKILL)
        killed = time.monotonic()
        for name in names[15:]:
            await federation.hub.resource(DEPLOYMENTS).create(deployment(name))

        async def another() -> bool:
            return await holder(stage, program) not in ("", before)

        await eventually(another, TAKEOVER * 2)
        assert time.monotonic() - killed < TAKEOVER
        await arrive(federation.members, *names)
        assert watching.seen == {("ADDED", name): 1 for name in names}
        assert set(watching.generations.values()) == {1}
    stage.components[program] = successor


async def test_etcd_and_api_server_may_be_away_for_a_while(stage: Stage, federation: Federation) -> None:
    await federation.hub.resource(POLICIES).create(policy("member1", "member2"))
    await federation.hub.resource(DEPLOYMENTS).create(deployment("before"))
    await arrive(federation.members, "before")
    async with Watching(federation.members["member1"]) as watching:
        await stage.hub.kill()
        await stage.hub.start()
        await create(federation.hub, "after-api-server")
        await arrive(federation.members, "after-api-server")
        assert watching.seen == {("ADDED", "after-api-server"): 1}

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


async def test_certificates_are_rotated_without_a_restart(stage: Stage, federation: Federation) -> None:
    """Client certificates that are about to end, and the API server's own, are replaced in their files."""
    await federation.hub.resource(POLICIES).create(policy("member1", "member2"))
    serial = await _served_serial(stage)
    for program in (CONTROLLERS, SCHEDULER):
        stage.hub.rotatable_access(stage.components[program].access, user_of(program))
    stage.hub.renew_serving()

    async def new_certificate() -> bool:
        return await _served_serial(stage) != serial

    await eventually(new_certificate, PATIENCE)
    # Connections that are open keep what they began with: after the server's restart there are only new ones.
    await stage.hub.stop()
    await stage.hub.start()
    await create(federation.hub, "rotated")
    await arrive(federation.members, "rotated")


async def _served_serial(stage: Stage) -> int:
    import ssl

    from cryptography import x509

    pem = await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", stage.hub.port))
    return x509.load_pem_x509_certificate(pem.encode()).serial_number
