"""Fixtures of the membership tests."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from tests.membership.world import QUICK, World

from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        plane = await stack.enter_async_context(ControlPlane(ControlPlaneOptions(status=QUICK)))
        yield World(plane, stack)
