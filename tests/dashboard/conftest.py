"""Fixtures of the dashboard's tests."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from tests.dashboard.world import Dashboards
from tests.membership.world import QUICK, World
from tests.planes import stored

from karmada.machinery.options import Options
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions


@pytest.fixture
async def dashboards() -> AsyncIterator[Dashboards]:
    """A listening control plane without members."""
    async with AsyncExitStack() as stack:
        options = ControlPlaneOptions(storage=stored(), options=Options(QUICK), dashboard=True)
        plane = await stack.enter_async_context(ControlPlane(options))
        world = World(plane, stack)
        world.endpoint = await plane.listen()
        yield Dashboards(world, stack)


@pytest.fixture
async def federation(dashboards: Dashboards) -> Dashboards:
    """The same with two simulated members."""
    for name in ("member1", "member2"):
        await dashboards.member(name)
    return dashboards
