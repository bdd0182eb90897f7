"""The world of a test: one with two members, nothing started yet. The stage below needs programs that Go builds."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from .world import Engine

collect_ignore = [] if os.environ.get("KARMADA_ENGINE") else ["stage"]
"""`make test-engine` runs the stage, and nothing else does: it takes a machine of its own."""


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    async with Engine(tmp_path) as made:
        for name in ("member1", "member2"):
            await made.add_member(name)
        yield made
