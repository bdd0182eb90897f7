"""Replays the recorded requests of a real kube-apiserver, suite by suite, with the tool that recorded them.

A case that is not in `KNOWN` must pass; one that is must fail, so that the list stays true. Reasons are in
docs/kubernetes-compatibility.md. Needs ../shared.
"""

from pathlib import Path

import pytest

from karmada.testing.golden.kube import KNOWN, SUITES, replay, tool

RECORDED = Path(__file__).resolve().parents[2].parent / "shared" / "golden" / "kube"

pytestmark = [pytest.mark.golden, pytest.mark.tools]


@pytest.mark.parametrize("suite", SUITES)
async def test_a_recorded_suite(suite, tmp_path):
    if not tool(RECORDED).exists():
        pytest.skip("needs ../shared/golden/kube")
    results, output = await replay(RECORDED, suite, tmp_path)
    failed = {result["case"] for result in results if not result["ok"]}
    assert failed == set(KNOWN.get(suite, {})), output[-8000:]
    assert results
