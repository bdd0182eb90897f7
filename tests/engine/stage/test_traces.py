"""The recorded scenarios of the reference, on the engine it was recorded on."""

from pathlib import Path

import pytest

from karmada.testing.traces.__main__ import run
from karmada.testing.traces.running import Tool, engine
from karmada.testing.traces.scenarios import NOT_YET, find

SHARED = Path(__file__).parents[4] / "shared"
PARALLEL = 6
"""Scenarios at a time: they wait most of theirs."""
NOT_YET_ON_ENGINE = NOT_YET | {"failover", "multicluster-service", "quota", "rebalancer"}
"""Areas whose scenarios have been compared on simulated members only."""
TRACES, TOOL = SHARED / "golden" / "traces", SHARED / "tools" / "karmada_trace.py"


@pytest.mark.skipif(not TRACES.is_dir(), reason="needs ../shared/golden/traces")
async def test_recorded_scenarios_go_as_they_went_on_the_reference(tmp_path: Path) -> None:
    scenarios = [one for one in find(TRACES) if one.area not in NOT_YET_ON_ENGINE and not one.stops_members]
    verdict = await run(Tool(TOOL), scenarios, tmp_path, PARALLEL, engine)
    assert {name: [str(each) for each in found] for name, found in verdict.unexplained.items()} == {}
    assert len(verdict.same) == len(scenarios)
