"""The tests that the table of known holes names exist, so that each class stays covered."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FILE = re.compile(r"`((?:tests/[a-z_/]+/)?test_[a-z_]+\.py)`")
_CELL = re.compile(r"`((?:tests/[a-z_/]+/)?test_[a-z_]+\.py)`:((?:,? ?`test_[a-z_]+`)+)")


def test_every_class_of_holes_has_tests_that_exist() -> None:
    page = (ROOT / "docs" / "dashboard.md").read_text(encoding="utf-8")
    table = page.partition("### Holes that others have had")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if "CVE-" in line]
    assert len(rows) >= 9
    for row in rows:
        named = _CELL.findall(row)
        assert len(named) == len(_FILE.findall(row)) > 0, row
        for file, tests in named:
            path = ROOT / file if "/" in file else ROOT / "tests" / "dashboard" / file
            source = path.read_text(encoding="utf-8")
            for name in re.findall(r"\w+", tests):
                assert f"def {name}(" in source, name
