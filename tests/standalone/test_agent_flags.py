"""What the agents of a local federation are started with."""

import pytest

from karmada.standalone.federation import flags_among


@pytest.mark.parametrize(
    ("flags", "passed"),
    [
        (["--feature-gates=MultiClusterService=true", "--controllers=*"], ["--feature-gates=MultiClusterService=true"]),
        (["--feature-gates", "AllAlpha=true"], ["--feature-gates=AllAlpha=true"]),
        (["--controllers=*"], []),
    ],
)
def test_agents_run_with_the_feature_gates_of_their_control_plane(flags: list[str], passed: list[str]) -> None:
    assert flags_among("--feature-gates", flags) == passed
