"""Every recorded case that a topic supports passes. Beside the repository all of them, else the copies kept here."""

from pathlib import Path

import pytest

from karmada.testing.golden.run import case_files, run
from karmada.testing.golden.topics import TOPICS

SHARED = Path(__file__).parents[3] / "shared" / "golden"
COPIES = Path(__file__).parent / "data"
SUPPORTED = {topic.name for topic in TOPICS}


def files(root: Path) -> list[object]:
    return [
        pytest.param(file, id=f"{root.parent.name}-{file.relative_to(root).with_suffix('')}")
        for file in case_files(root)
        if SUPPORTED & set(file.relative_to(root).parts[:-1])
    ]


@pytest.mark.golden
@pytest.mark.parametrize("file", files(COPIES) + (files(SHARED) if SHARED.is_dir() else []))
def test_recorded_cases_pass(file: Path) -> None:
    report = run(file, TOPICS)
    assert not [f"{failure.id}: {failure.reason}" for failure in report.failures]
    assert report.has_run or report.unsupported or report.excused
