"""No two leaders write at the same time, and a leader that never looks at its lease is found out."""

import contextlib

import pytest

from karmada.machinery.errors import ApiError
from karmada.testing.scenarios.leadership import CONFIG_MAPS, Candidate, scenario
from karmada.testing.world import Broken, explore


@pytest.mark.parametrize("first", range(0, 40, 20), ids="seeds from {}".format)
def test_only_the_leader_writes(first):
    for seed in range(first, first + 20):
        explore(scenario(), seed)


class Sleeper(Candidate):
    """Wins the lease, falls asleep, and writes when it wakes up."""

    async def run(self):
        journal = self._around.client.resource(CONFIG_MAPS)
        while True:
            while not await self._elector._try_hold():
                await self._around.clock.sleep(2)
            await self._around.clock.sleep(self._around.random.random() * 40)
            with contextlib.suppress(ApiError):
                await journal.patch("journal", {"data": {"writer": self._name}}, "default")
                await journal.patch("journal", {"data": {"writer": None}}, "default")


def first_broken():
    for seed in range(1000):
        try:
            explore(scenario(Sleeper), seed)
        except Broken as broken:
            return str(broken)
    return ""


def test_a_leader_that_does_not_look_at_its_lease_is_found_out():
    assert "only the leader writes" in first_broken()
