"""Fixtures of the search tests."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from tests.membership.world import QUICK, World
from tests.planes import stored
from tests.search.world import Searched

from karmada.machinery.options import Options
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions


@pytest.fixture
async def searched() -> AsyncIterator[Searched]:
    """A listening control plane with two members."""
    async with AsyncExitStack() as stack:
        plane = await stack.enter_async_context(
            ControlPlane(ControlPlaneOptions(storage=stored(), options=Options(QUICK)))
        )
        world = Searched(World(plane, stack))
        await world.start("member1", "member2")
        yield world
