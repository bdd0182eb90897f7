"""Recorded cases of native and bundled kinds, and of scripts: all of them beside the repository, and copies kept here
that take every way through the rules of native kinds twice.
"""

from pathlib import Path

import pytest
from tests.golden.recordings import SHARED, files

from karmada.testing.golden.run import case_files, run
from karmada.testing.golden.topics import TOPICS

RECORDED = Path(__file__).parent / "data" / "recorded"
COPIES = Path(__file__).parents[1] / "golden" / "data"


@pytest.mark.golden
@pytest.mark.parametrize("file", case_files(RECORDED), ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_every_rule_of_a_kind_does_what_was_recorded(file: Path) -> None:
    report = run(file, TOPICS)
    assert not [f"{failure.id}: {failure.reason}" for failure in report.failures]
    assert report.passed


@pytest.mark.golden
@pytest.mark.parametrize("file", files(COPIES, interpreters=True) + files(SHARED, interpreters=True))
def test_interpreters_answer_as_recorded(file: Path) -> None:
    report = run(file, TOPICS)
    assert not [f"{failure.id}: {failure.reason}" for failure in report.failures]
    assert report.has_run or report.unsupported or report.excused
