"""Fixtures of the membership tests."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.apiserver.storage.conftest import Etcd
from tests.membership.world import QUICK, World
from tests.planes import stored

from karmada.aggregated.server import ClusterServer, Trust
from karmada.apiserver.server import ADMIN, ApiServer
from karmada.apiserver.storage.etcd import EtcdStorage
from karmada.machinery.client import Client
from karmada.machinery.options import Options
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        plane = await stack.enter_async_context(
            ControlPlane(ControlPlaneOptions(storage=stored(), options=Options(QUICK)))
        )
        yield World(plane, stack)


@pytest.fixture
async def replicas(tmp_path: Path) -> AsyncIterator[list[ClusterServer]]:
    """Two aggregated API servers on one etcd."""
    etcd = Etcd(tmp_path / "etcd")
    etcd.start()
    try:
        async with AsyncExitStack() as stack:
            front = await stack.enter_async_context(ApiServer())
            hub = Client(front.direct(ADMIN))
            yield [
                await stack.enter_async_context(ClusterServer(EtcdStorage((etcd.endpoint,), "/registry"), hub, Trust()))
                for _ in range(2)
            ]
    finally:
        etcd.kill()
