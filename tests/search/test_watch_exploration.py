"""Watches of the global API under faults: nothing is lost or out of order in many seeds, and planted bugs are found."""

import pytest

from karmada.apiserver.storage.base import Snapshot
from karmada.testing.scenarios.search import Member, explore
from karmada.testing.world import Broken

SEEDS = 15


@pytest.mark.parametrize("first", range(0, 60, SEEDS), ids="seeds from {}".format)
def test_clients_that_follow_the_protocol_miss_nothing(first: int) -> None:
    for seed in range(first, first + SEEDS):
        explore(seed)


class RunsAhead(Member):
    """Keeps a revision that what it kept has not reached: revision and objects were not written together."""

    def keep(self) -> None:
        super().keep()
        if self.kept is not None:
            self.kept = Snapshot(self.kept.records, self.revision)


class Repeats(Member):
    """Keeps objects that are newer than the revision."""

    def keep(self) -> None:
        before = self.kept
        super().keep()
        if self.kept is not None and before is not None:
            self.kept = Snapshot(self.kept.records, before.revision)


@pytest.mark.parametrize("planted", [RunsAhead, Repeats])
def test_a_planted_bug_is_found(planted: type[Member]) -> None:
    assert any(_breaks(seed, planted) for seed in range(100))


def _breaks(seed: int, planted: type[Member]) -> bool:
    try:
        explore(seed, planted)
    except Broken:
        return True
    return False
