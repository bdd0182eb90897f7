"""The tool for mutation tests: what it changes, and that it reports who notices."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from karmada.testing.mutants.__main__ import SOURCES, equivalent, near_first, own_tests
from karmada.testing.mutants.edits import mutants_of
from karmada.testing.mutants.forks import Observed
from karmada.testing.mutants.laboratory import Laboratory
from karmada.testing.mutants.swapping import Place

MODULE = '''"""A module."""

from dataclasses import dataclass

LIMIT: int = 3


def fits(size: int, strict: bool = False) -> bool:
    """Whether it fits."""
    if strict and not size:
        raise ValueError(size)
    return size < LIMIT


@dataclass(frozen=True, order=True)
class Box:
    """A box."""

    size: int = 0
'''
TESTED = """from sizes import fits


def test_small_sizes_fit():
    assert fits(2) is True
    assert fits(3) is False
"""
UNNOTICED = [
    "fits: `False` becomes `True`",
    "fits: `not size` becomes `not not size`",
    "fits: `raise ValueError(size)` left out",
    "fits: `strict and (not size)` becomes `strict or not size`",
]
NOTICED = ["fits: `return size < LIMIT` becomes `return None`", "fits: `size < LIMIT` becomes `size <= LIMIT`"]
CONSTANTS = ["Box: `0` becomes `1`", "Box: `True` becomes `False` (2)", "module: `3` becomes `4`"]


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "src" / "sizes.py"
    path.parent.mkdir()
    path.write_text(MODULE)
    return path


def sizes_are_right(sources: Path, tests: Sequence[str]) -> bool:
    """The tests of the module."""
    names: dict[str, Any] = {"__name__": "sizes"}
    exec((sources / "sizes.py").read_text(), names)
    try:
        return names["fits"](2) is True and names["fits"](3) is False
    except ValueError:
        return False


def test_every_comparison_connective_constant_result_and_statement_is_changed_once(module: Path) -> None:
    assert sorted(mutant.change for mutant in mutants_of(module)) == sorted(
        [
            *UNNOTICED,
            *CONSTANTS,
            "Box: `True` becomes `False`",
            *NOTICED,
        ]
    )
    assert all(compile(mutant.source(), "sizes", "exec") for mutant in mutants_of(module))


def test_a_flag_of_a_class_that_the_type_checker_holds_is_equivalent_and_one_that_orders_is_not(module: Path) -> None:
    assert [mutant.change for mutant in mutants_of(module) if mutant.structural] == ["Box: `True` becomes `False`"]
    [frozen] = [mutant for mutant in mutants_of(module) if mutant.structural]
    assert "@dataclass(frozen=False, order=True)" in frozen.source()


def test_lengths_that_are_equal_sizes_of_caches_and_no_instead_of_none_change_nothing(module: Path) -> None:
    text = "@lru_cache(maxsize=8)\ndef same(a, b):\n    for x, y in zip(a, b, strict=True):\n        return False\n"
    module.write_text(text)
    assert [(mutant.change, mutant.structural) for mutant in mutants_of(module)] == [
        ("same: `8` becomes `9`", True),
        ("same: `True` becomes `False`", True),
        ("same: `False` becomes `True`", False),
    ]


def test_what_tests_do_not_notice_survives_and_sources_stay_as_they_are(module: Path, tmp_path: Path) -> None:
    laboratory = Laboratory(module.parent, tmp_path / "copy", sizes_are_right)
    survivors = [mutant.change for mutant in mutants_of(module) if not laboratory.kills(mutant, ())]
    flags = ["Box: `0` becomes `1`", "Box: `True` becomes `False`", "Box: `True` becomes `False` (2)"]
    assert sorted(survivors) == sorted(UNNOTICED + flags)
    assert module.read_text() == (tmp_path / "copy" / "src" / "sizes.py").read_text() == MODULE


FORKED = """import sys
from pathlib import Path
from karmada.testing.mutants import forks
from karmada.testing.mutants.edits import mutants_of

module, tests = map(Path, sys.argv[1:])
sys.path.insert(0, str(module.parent))
verdicts = []
arguments = [str(tests), "--rootdir", str(tests.parent)]
forks.run(arguments, mutants_of(module), module.parent, lambda *one: verdicts.append(one))
for mutant, killed in verdicts:
    print(f"{killed}|{mutant.change}")
"""


def forked(module: Path, tests: Path) -> subprocess.CompletedProcess[str]:
    """Try the mutants in forks of a process of its own: this one has threads and loops."""
    command = [sys.executable, "-c", FORKED, str(module), str(tests)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_forks_report_what_tests_notice_in_functions_and_leave_constants_to_others(
    module: Path, tmp_path: Path
) -> None:
    (tmp_path / "test_sizes.py").write_text(TESTED)
    output = forked(module, tmp_path / "test_sizes.py").stdout.splitlines()
    found: dict[str, list[str]] = {"True": [], "False": [], "None": []}
    for line in output:
        killed, bar, change = line.partition("|")
        if bar:
            found[killed].append(change)
    assert sorted(found["True"]) == NOTICED
    assert sorted(found["False"]) == UNNOTICED[1:]
    assert sorted(found["None"]) == sorted([UNNOTICED[0], *CONSTANTS, "Box: `True` becomes `False`"])


def test_a_function_whose_assertions_pytest_rewrites_is_changed_too(module: Path, tmp_path: Path) -> None:
    text = "def half(size: int) -> int:\n    assert size is not None\n    return size // 2\n"
    module.write_text(text)
    (tmp_path / "conftest.py").write_text('import pytest\npytest.register_assert_rewrite("sizes")\n')
    (tmp_path / "test_sizes.py").write_text("from sizes import half\n\ndef test_half():\n    assert half(5) == 2\n")
    output = forked(module, tmp_path / "test_sizes.py").stdout.splitlines()
    assert sorted(line for line in output if "|" in line) == [
        "True|half: `2` becomes `3`",
        "True|half: `return size // 2` becomes `return None`",
        "True|half: `size is not None` becomes `size is None`",
    ]


def test_a_function_that_no_test_calls_survives_all_that_is_done_to_it(module: Path, tmp_path: Path) -> None:
    (tmp_path / "test_sizes.py").write_text("import sizes\n\ndef test_names():\n    assert sizes.LIMIT\n")
    output = forked(module, tmp_path / "test_sizes.py").stdout.splitlines()
    assert {line for line in output if "True|" in line} == set()
    assert f"False|{NOTICED[0]}" in output


def test_a_mutant_meets_only_tests_that_run_its_lines(module: Path, tmp_path: Path) -> None:
    module.write_text("def sign(size):\n    if size < 0:\n        return 'minus'\n    return 'plus'\n")
    looking = "def test_plus():\n    assert sign(1) == 'plus' and 'minus' in sign.__code__.co_consts\n"
    (tmp_path / "test_sizes.py").write_text(f"from sizes import sign\n\n{looking}")
    (tmp_path / "test_signs.py").write_text("from sizes import sign\n\ndef test_minus():\n    sign(-1)\n")
    output = forked(module, tmp_path).stdout.splitlines()
    assert "False|sign: `return 'minus'` becomes `return None`" in output
    assert "True|sign: `return 'plus'` becomes `return None`" in output


def test_what_only_processes_of_a_test_run_is_tried_on_the_files_that_import_it(module: Path, tmp_path: Path) -> None:
    module.write_text("def size():\n    return 7\n")
    forking = """import os
from sizes import size

def test_in_another_process():
    child = os.fork()
    if child == 0:
        os._exit(size() or 0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""
    (tmp_path / "test_sizes.py").write_text(forking)
    output = forked(module, tmp_path / "test_sizes.py").stdout.splitlines()
    assert {line for line in output if "|" in line} == {
        "True|size: `7` becomes `8`",
        "True|size: `return 7` becomes `return None`",
    }


def test_functions_that_the_collection_froze_are_changed_too(module: Path, tmp_path: Path) -> None:
    frozen = "import gc\n\ndef pytest_collection_finish():\n    gc.collect()\n    gc.freeze()\n"
    (tmp_path / "conftest.py").write_text(frozen)
    (tmp_path / "test_sizes.py").write_text(TESTED)
    output = forked(module, tmp_path / "test_sizes.py").stdout.splitlines()
    assert {f"True|{change}" for change in NOTICED} <= set(output)


def test_a_mutant_that_never_ends_is_killed(module: Path, tmp_path: Path) -> None:
    module.write_text("def down(size):\n    while size > 0:\n        size -= 1\n    return True\n")
    (tmp_path / "test_sizes.py").write_text("from sizes import down\n\ndef test_it_ends():\n    assert down(2)\n")
    output = forked(module, tmp_path / "test_sizes.py").stdout.splitlines()
    assert "True|down: `size -= 1` left out" in output


def test_tests_that_call_a_module_come_first_and_quick_ones_before_slow_ones() -> None:
    near, far = {Place("/src/sizes.py", 8, "fits")}, {Place("/src/colours.py", 1, "mix")}
    observed = {"slow": Observed(2, near), "far": Observed(0, far), "quick": Observed(1, near)}
    assert near_first(observed, "/src/sizes.py") == ["quick", "slow", "far"]


def test_tests_that_fail_anyway_are_reported(module: Path, tmp_path: Path) -> None:
    (tmp_path / "test_sizes.py").write_text("def test_nothing_fits():\n    assert False\n")
    ended = forked(module, tmp_path / "test_sizes.py")
    assert ended.returncode
    assert "fail without any mutant" in ended.stdout + ended.stderr


def test_the_tests_of_a_part_are_those_of_the_nearest_folder() -> None:
    assert own_tests("apiserver/storage/sqlite") == "tests/apiserver/storage"
    assert own_tests("scheduler/core") == "tests/scheduler"
    assert own_tests("works/build.py") == "tests/works"


def test_every_mutant_that_is_said_to_be_equivalent_exists() -> None:
    known = equivalent()
    modules = {Path(name.partition(": ")[0]) for name in known}
    assert all(module.is_relative_to(SOURCES) for module in modules)
    assert set(known) <= {str(mutant) for module in modules for mutant in mutants_of(module)}


def test_only_what_survived_an_earlier_run_is_tried_again(tmp_path: Path) -> None:
    earlier = tmp_path / "earlier.txt"
    earlier.write_text("survived src/karmada/works/none.py: f: `1` becomes `2`\nworks: 1 of 2 mutants killed\n")
    command = [sys.executable, "-m", "karmada.testing.mutants", "works/prune.py", "--again", str(earlier)]
    test = ["--least", "0", "--tests", "tests/works/test_owner.py"]
    ended = subprocess.run([*command, *test], capture_output=True, text=True, check=False, timeout=120)
    assert "works/prune.py: 0 of 0 mutants killed" in ended.stdout
