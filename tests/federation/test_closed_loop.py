"""Replicas follow a load over three clusters, also while one does not answer; the documentation shows this run."""

from pathlib import Path

import pytest
from tests.federation.closed_loop import BACK, LOST, Look, closed_loop, drawn

PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "autoscaling.svg"
RISES, HOLDS, GROWS, FALLS = [8] * 6 + [12, 16, 19], [22] * 14, [26] * 12, [23, 13] + [7] * 8
"""Every 15 seconds. A load of 1050m asks for 21 replicas at half of 100m each, and what each pod uses is rounded up.
The highest recommendation of a minute holds, so replicas fall a minute after the load."""


@pytest.fixture(scope="module")
def looks() -> list[Look]:
    return closed_loop()


def test_replicas_follow_the_load_and_a_lost_cluster_does_not_lower_the_total(looks: list[Look]) -> None:
    assert [one.replicas for one in looks] == RISES + HOLDS + GROWS + FALLS
    lost = [one.replicas for one in looks if LOST <= one.seconds <= BACK]
    assert lost == sorted(lost)


def test_all_clusters_run_their_share_and_a_lost_one_keeps_its_pods(looks: list[Look]) -> None:
    for one in looks:
        running = one.running
        if LOST < one.seconds <= BACK:
            assert running["member1"] == 13
        else:
            assert sum(running.values()) == one.replicas
            assert running["member1"] > running["member2"] > running["member3"] >= 1


def test_the_picture_in_the_documentation_shows_this_run(looks: list[Look]) -> None:
    assert drawn(looks) == PICTURE.read_text(), "stale: make docs"
