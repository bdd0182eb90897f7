"""Every recorded case that a topic supports passes. Beside the repository all of them, else the copies kept here.

Those of interpreters are among the interpreter's own tests.
"""

from pathlib import Path

import pytest
from tests.golden.recordings import SHARED, files

from karmada.testing.golden.run import run
from karmada.testing.golden.topics import TOPICS

COPIES = Path(__file__).parent / "data"


@pytest.mark.golden
@pytest.mark.parametrize("file", files(COPIES, interpreters=False) + files(SHARED, interpreters=False))
def test_recorded_cases_pass(file: Path) -> None:
    report = run(file, TOPICS)
    assert not [f"{failure.id}: {failure.reason}" for failure in report.failures]
    assert report.has_run or report.unsupported or report.excused
