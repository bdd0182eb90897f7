"""The world of a test: one with two members, nothing started yet."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from .world import Engine


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    async with Engine(tmp_path) as made:
        for name in ("member1", "member2"):
            await made.add_member(name)
        yield made
