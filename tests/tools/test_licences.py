"""What runs in production may be used in any product, and the wheel is the same wherever it is built."""

import hashlib
import os
import runpy
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "licences.py"))


def test_everything_in_production_has_a_permissive_licence() -> None:
    found = TOOL["packages"]()
    assert len(found) > 10
    assert {package["name"]: TOOL["verdict"](package) for package in found if TOOL["verdict"](package)} == {}


@pytest.mark.parametrize(
    ("declared", "permitted"),
    [
        (["MIT"], True),
        (["GPL-3.0-only", "BSD License"], True),
        (["GPL-3.0-only OR MIT"], True),
        (["GPL-3.0-only AND MIT"], False),
        (["AGPL-3.0"], False),
        ([], False),
    ],
)
def test_a_licence_must_be_known_to_be_permissive(declared: list[str], permitted: bool) -> None:
    package = {"licenses": [{"license": {"name": name}} for name in declared]}
    assert (TOOL["verdict"](package) == "") == permitted


def test_two_builds_of_the_wheel_are_the_same_byte_by_byte(tmp_path: Path) -> None:
    from hatchling.builders.wheel import WheelBuilder

    digests = []
    for place, (moment, mode) in {"here": (1_600_000_000, 0o644), "there": (1_700_000_000, 0o600)}.items():
        tree = tmp_path / place / "tree"
        shutil.copytree(ROOT / "src", tree / "src", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, tree)
        for path in tree.rglob("*"):
            os.chmod(path, 0o755 if path.is_dir() else mode)
            os.utime(path, (moment, moment))
        (built,) = WheelBuilder(str(tree)).build(directory=str(tmp_path / place / "dist"), versions=["standard"])
        digests.append(hashlib.sha256(Path(built).read_bytes()).hexdigest())
    assert digests[0] == digests[1]
