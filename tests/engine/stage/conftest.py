"""One stage for all tests of this folder: two members in push mode, a third that its agent keeps.

Tests share it one after the other, so each cleans up after itself, and mends what it breaks.
"""

import asyncio
import os
from collections.abc import AsyncIterator

import pytest
from tests.federation.conftest import Federation

from karmada.machinery.client import Client
from karmada.machinery.errors import NotFound
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource
from karmada.testing.stage.federation import CONTROLLERS, SCHEDULER, WEBHOOK, Stage, StageOptions, eventually

collect_ignore = [] if os.environ.get("KARMADA_WALK") else ["test_production_page.py"]
"""`make walk` runs it: it takes some four minutes of two cores, twice that with as many replicas as the page says."""
GATES = "--feature-gates=PropagationPolicyPreemption=true"
QUICK = ("--cluster-status-update-frequency=2s", "--cluster-success-threshold=0s", "--cluster-failure-threshold=0s")
PUSHED, PULLED = ("member1", "member2"), "member3"
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
POLICIES = GroupVersionResource("policy.karmada.io", "v1alpha1", "propagationpolicies")
TEMPLATES = (CONFIG_MAPS, DEPLOYMENTS)
PATIENCE = 120.0
KUBERNETES_OWN = "kube-root-ca.crt"


@pytest.fixture(scope="session")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    flags = {CONTROLLERS: [GATES, *QUICK], SCHEDULER: [GATES], WEBHOOK: [GATES]}
    async with Stage(StageOptions(tmp_path_factory.mktemp("stage"), flags=flags)) as made:
        for name in PUSHED:
            await made.join(name)
        for program in (CONTROLLERS, SCHEDULER):
            await made.start(program)
        await made.register(PULLED, *QUICK)
        await made.ready()
        yield made


@pytest.fixture(scope="session")
async def members(stage: Stage) -> AsyncIterator[dict[str, Client]]:
    made = {name: server.client() for name, server in stage.members.items()}
    yield made
    for client in made.values():
        await client.close()


@pytest.fixture
async def federation(stage: Stage, members: dict[str, Client]) -> AsyncIterator[Federation]:
    """What the tests of the embedded way are given."""
    made = Federation(stage.client, {name: members[name] for name in PUSHED})
    yield made
    await clean(stage.client, members)


@pytest.fixture
def preempting_federation(federation: Federation) -> Federation:
    """The gate is on for all."""
    return federation


@pytest.fixture
def road(federation: Federation) -> tuple[Client, dict[str, Client]]:
    return federation.hub, federation.members


async def clean(hub: Client, members: dict[str, Client]) -> None:
    """Remove everything that a test made in the namespace `default`, here and there."""
    for type_ in (POLICIES, *TEMPLATES):
        await _remove_all(hub, type_)
    for member in members.values():
        for type_ in TEMPLATES:
            await _remove_all(member, type_)

    async def gone() -> bool:
        left = [await _names(client, type_) for client in (hub, *members.values()) for type_ in TEMPLATES]
        return not any(left) and not await _names(hub, POLICIES)

    await eventually(gone, PATIENCE)


async def _remove_all(client: Client, type_: GroupVersionResource) -> None:
    for name in await _names(client, type_):
        try:
            await client.resource(type_).delete(name, "default")
        except NotFound:
            await asyncio.sleep(0)


async def _names(client: Client, type_: GroupVersionResource) -> list[str]:
    found = (await client.resource(type_).list(Scope("default"))).items
    return [obj["metadata"]["name"] for obj in found if obj["metadata"]["name"] != KUBERNETES_OWN]
