"""`kill -9` of either process at random moments under load; `make soak` does it a hundred times."""

import pytest

from karmada.testing.killing import KILLS, scenario


@pytest.mark.tools
def test_nothing_acknowledged_is_lost_when_processes_are_killed() -> None:
    trace = scenario(seed=11)
    assert len(trace) == KILLS + 1
    assert trace[-1].endswith("acknowledged objects everywhere")
