"""The real controllers and the real scheduler in a simulated world: nothing breaks, and a seed repeats itself."""

import pytest

from karmada.testing.scenarios.federation import SERVERS, scenario
from karmada.testing.world import explore


@pytest.mark.parametrize("seed", range(4))
def test_members_end_up_with_what_templates_say(seed):
    explore(scenario, seed, SERVERS)


def test_the_same_seed_takes_the_same_steps():
    assert explore(scenario, 9, SERVERS) == explore(scenario, 9, SERVERS)
