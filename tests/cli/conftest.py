"""One federation for all tests of the command line that run in a process."""

from collections.abc import Iterator

import pytest
from tests.cli.world import World


@pytest.fixture(scope="session")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    world = World(tmp_path_factory.mktemp("federation"))
    world.start()
    yield world
    world.stop()
