"""Recorded cases of native and bundled kinds, which take every way through their rules twice, and of scripts."""

from pathlib import Path

import pytest

from karmada.testing.golden.run import case_files, run
from karmada.testing.golden.topics import TOPICS

RECORDED = Path(__file__).parent / "data" / "recorded"
SCRIPTS = Path(__file__).parents[1] / "golden" / "data" / "interpreter" / "lua"


@pytest.mark.golden
@pytest.mark.parametrize(
    "file", [*case_files(RECORDED), *case_files(SCRIPTS)], ids=lambda file: f"{file.parent.name}-{file.stem}"
)
def test_every_rule_of_a_kind_does_what_was_recorded(file: Path) -> None:
    report = run(file, TOPICS)
    assert not [f"{failure.id}: {failure.reason}" for failure in report.failures]
    assert report.passed
