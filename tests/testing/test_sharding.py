"""Replicas divide keys: no two work on one at a time, none is forgotten, and replicas that break either rule are found
out."""

import pytest

from karmada.testing.scenarios import federation, propagation, replicas
from karmada.testing.scenarios.sharding import Replica, scenario
from karmada.testing.world import Broken, explore


@pytest.mark.parametrize("first", range(0, 6, 3), ids="seeds from {}".format)
def test_every_key_has_one_holder_at_a_time_and_none_is_lost(first):
    for seed in range(first, first + 3):
        explore(scenario(), seed)


class Unfenced(Replica):
    """Writes whether or not it holds the shard."""

    transport = staticmethod(lambda transport: transport)


class Forgetful(Replica):
    """Takes shards without looking at their keys."""

    def divide(self, controller):
        controller.divide(self.ownership, lambda key: key, list)


def first_broken(replica, first=0):
    """What breaks first; seeds before `first` take their time and find nothing."""
    for seed in range(first, first + 200):
        try:
            explore(scenario(replica), seed)
        except Broken as broken:
            return str(broken)
    return ""


def test_a_replica_that_writes_without_the_fence_is_found_out():
    assert "only the holder of a shard writes its keys" in first_broken(Unfenced, 34)


def test_a_replica_that_takes_a_shard_without_looking_at_its_keys_is_found_out():
    assert "nothing is lost" in first_broken(Forgetful)


@pytest.mark.parametrize("seed", range(2), ids="seed {}".format)
def test_two_controller_managers_and_two_schedulers_bring_everything_where_one_of_each_does(seed):
    explore(propagation.scenario(start=replicas.start), seed, federation.SERVERS)
