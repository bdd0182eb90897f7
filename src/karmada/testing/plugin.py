"""The pytest plugin of the distribution: fixtures that give a test an API server or a federation in its own process.

Importing this module costs nothing: pytest loads it in every run of every project that has the distribution
installed, so each fixture imports what it needs when it is first used. pytest would compile all modules of a
distribution with a plugin anew, with asserts that explain themselves; for a thousand modules without asserts that takes
many seconds, so only `karmada.testing` is left to it.

    async def test_my_controller(apiserver):
        async with apiserver() as server:
            client = Client(server.direct())

    async def test_my_policy(federation):
        async with federation(members=3) as world:
            await world.apply(Path("policy.yaml"), Path("deployment.yaml"))
            await world.eventually(lambda: world.placement("Deployment", "nginx"))

    def test_my_controller_under_faults(explore):
        explore(my_scenario, seed=7)
"""

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from karmada.testing.collection import no_collection

if TYPE_CHECKING:
    from karmada.apiserver.server import ApiServer
    from karmada.testing.federation import Federation


class AsInstalled:
    """Finds the modules of this distribution as any program does, before pytest does."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Where a module is, or None for those that others may find."""
        if not name.startswith("karmada.") or name.startswith("karmada.testing."):
            return None
        return PathFinder.find_spec(name, path, target)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Before anything of a project is imported."""
    for index, finder in enumerate(sys.meta_path):
        if type(finder).__name__ == "AssertionRewritingHook":
            sys.meta_path.insert(index, AsInstalled)
            return


def pytest_unconfigure() -> None:
    """At the end of a run."""
    if AsInstalled in sys.meta_path:
        sys.meta_path.remove(AsInstalled)


@pytest.fixture
def apiserver() -> "Callable[[], ApiServer]":
    """Makes API servers in memory: `async with apiserver() as server`; works with any plugin for async tests."""
    with no_collection():
        from karmada.apiserver.server import ApiServer

    return ApiServer


@pytest.fixture
def explore() -> Callable[..., list[str]]:
    """Runs a scenario in a simulated world: virtual time, seeded order, injected faults."""
    from karmada.testing.world import explore

    return explore


@pytest.fixture
def federation() -> "type[Federation]":
    """Makes federations in memory: `async with federation(members=3) as world`; see docs/testing-policies.md."""
    with no_collection():
        from karmada.testing.federation import Federation

    return Federation
