"""The tool for mutation tests: what it changes, and that it tells who notices."""

from pathlib import Path
from typing import Any

import pytest

from karmada.testing.mutants import Laboratory, mutants_of

MODULE = '''"""A module."""

LIMIT: int = 3


def fits(size: int, strict: bool = False) -> bool:
    """Whether it fits."""
    if strict and not size:
        raise ValueError(size)
    return size < LIMIT
'''


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "src" / "sizes.py"
    path.parent.mkdir()
    path.write_text(MODULE)
    return path


def sizes_are_right(sources: Path, limit: float | None) -> bool:
    """The tests of the module."""
    names: dict[str, Any] = {}
    exec((sources / "sizes.py").read_text(), names)
    try:
        return names["fits"](2) is True and names["fits"](3) is False
    except ValueError:
        return False


def test_every_comparison_connective_constant_result_and_statement_is_changed_once(module: Path) -> None:
    assert sorted(mutant.change for mutant in mutants_of(module)) == [
        "line 10: `return size < LIMIT` becomes `return None`",
        "line 10: `size < LIMIT` becomes `size <= LIMIT`",
        "line 3: `3` becomes `4`",
        "line 6: `False` becomes `True`",
        "line 8: `not size` becomes `not not size`",
        "line 8: `strict and (not size)` becomes `strict or not size`",
        "line 9: `raise ValueError(size)` left out",
    ]
    assert all(compile(mutant.source, "sizes", "exec") for mutant in mutants_of(module))


def test_what_tests_do_not_notice_survives_and_sources_stay_as_they_are(module: Path, tmp_path: Path) -> None:
    laboratory = Laboratory(module.parent, tmp_path / "copy", sizes_are_right)
    survivors = [mutant.change for mutant in mutants_of(module) if not laboratory.kills(mutant)]
    assert sorted(survivors) == [
        "line 6: `False` becomes `True`",
        "line 8: `not size` becomes `not not size`",
        "line 8: `strict and (not size)` becomes `strict or not size`",
        "line 9: `raise ValueError(size)` left out",
    ]
    assert module.read_text() == (tmp_path / "copy" / "src" / "sizes.py").read_text() == MODULE


def test_tests_that_fail_anyway_are_told(module: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="fail without any mutant"):
        Laboratory(module.parent, tmp_path / "copy", lambda sources, limit: False)
