"""Recorded cases of native and bundled kinds, which take every way through their rules twice, and of scripts."""

from pathlib import Path

import pytest

from karmada.testing.golden.run import case_files, run
from karmada.testing.golden.topics import TOPICS

RECORDED = Path(__file__).parent / "data" / "recorded"
SCRIPTS = Path(__file__).parents[1] / "golden" / "data" / "interpreter" / "lua"
BUNDLED = Path(__file__).parents[3] / "shared" / "golden" / "interpreter" / "thirdparty"
CHOSEN = [line.split() for line in (RECORDED / "bundled.txt").read_text().splitlines() if BUNDLED.is_dir()]
"""Recordings of bundled kinds to run; they are not kept here. File, ids without their numbers, numbers."""


def check(file: Path) -> None:
    report = run(file, TOPICS)
    assert not [f"{failure.id}: {failure.reason}" for failure in report.failures]
    assert report.passed


@pytest.mark.golden
@pytest.mark.parametrize(
    "file", [*case_files(RECORDED), *case_files(SCRIPTS)], ids=lambda file: f"{file.parent.name}-{file.stem}"
)
def test_every_rule_of_a_kind_does_what_was_recorded(file: Path) -> None:
    check(file)


@pytest.mark.golden
def test_every_rule_of_a_bundled_kind_does_what_was_recorded(tmp_path: Path) -> None:
    folder = tmp_path / "interpreter" / "thirdparty"
    folder.mkdir(parents=True)
    for name, beginning, *numbers in CHOSEN:
        wanted = tuple(f'{{"id":"{beginning}-{number}",' for number in numbers)
        lines = [line for line in (BUNDLED / name).read_text().splitlines() if line.startswith(wanted)]
        assert len(lines) == len(numbers)
        (folder / name).write_text("\n".join(lines))
        check(folder / name)
