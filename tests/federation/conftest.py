"""A control plane and two members in the test's own process."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from tests.planes import stored

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.feature_gates import DEFAULTS, FeatureGates
from karmada.apiserver.server import ADMIN, ApiServer
from karmada.controllers.clusters import is_ready
from karmada.machinery.client import Client
from karmada.machinery.errors import NotFound
from karmada.machinery.tracing import Spans
from karmada.machinery.transport import GroupVersionResource, Transport
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions

MEMBERS = ("member1", "member2")
CLUSTERS = GroupVersionResource("cluster.karmada.io", "v1alpha1", "clusters")


async def eventually(check: Callable[[], Awaitable[Any]], attempts: int = 1500) -> Any:
    """What a check gives once it gives something; the control plane goes on in between."""
    last: Exception | None = None
    for _ in range(attempts):
        try:
            if found := await check():
                return found
        except (NotFound, LookupError, ValueError, AssertionError) as error:
            last = error
        await asyncio.sleep(0.01)
    raise AssertionError(f"did not happen; last: {last!r}")


@dataclass
class Federation:
    """The hub and the members, with short words for what tests do."""

    hub: Client
    members: dict[str, Client]

    async def apply(self, *trees: dict[str, Any]) -> None:
        """Create objects on the hub."""
        for tree in trees:
            served = await self.hub.mapper.of_kind(tree["apiVersion"], tree["kind"])
            await self.hub.resource(served.type).create(tree)

    async def copy(self, member: str, type_: GroupVersionResource, name: str) -> dict[str, Any] | None:
        """A member's object."""
        try:
            return await self.members[member].resource(type_).get(name, "default")
        except NotFound:
            return None

    async def arrives(self, member: str, type_: GroupVersionResource, name: str) -> dict[str, Any]:
        """Wait for a member's object."""
        found: dict[str, Any] = await eventually(lambda: self.copy(member, type_, name))
        return found

    async def leaves(self, member: str, type_: GroupVersionResource, name: str) -> None:
        """Wait until a member's object is gone."""

        async def gone() -> bool:
            return await self.copy(member, type_, name) is None

        await eventually(gone)

    async def happens(self, check: Callable[[], Awaitable[Any]]) -> Any:
        """Wait for something."""
        return await eventually(check)


@asynccontextmanager
async def federated(gates: FeatureGates = DEFAULTS, spans: Spans | None = None) -> AsyncIterator[Federation]:
    """A federation with other feature gates, or one that is traced."""
    async with AsyncExitStack() as stack:
        servers = {name: await stack.enter_async_context(ApiServer()) for name in MEMBERS}

        async def open_member(cluster: Cluster) -> Transport:
            return servers[cluster.metadata.name].direct(ADMIN)

        options = ControlPlaneOptions(storage=stored(), gates=gates, spans=spans)
        plane = await stack.enter_async_context(ControlPlane(options, open_member))
        for name in MEMBERS:
            await plane.client.resource(CLUSTERS).create({"metadata": {"name": name}, "spec": {"syncMode": "Push"}})

        async def ready() -> bool:
            return all(is_ready(cluster) for cluster in (await plane.client.of(Cluster).list()).items)

        await eventually(ready)
        yield Federation(plane.client, {name: Client(server.direct(ADMIN)) for name, server in servers.items()})


@pytest.fixture
async def federation() -> AsyncIterator[Federation]:
    async with federated() as made:
        yield made


@pytest.fixture
async def preempting_federation() -> AsyncIterator[Federation]:
    async with federated(DEFAULTS.with_overrides({"PropagationPolicyPreemption": True})) as made:
        yield made
