"""Locks: what runs is pinned to the same versions that were tested."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def pins(name: str) -> dict[str, str]:
    return dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / name).read_text(), re.MULTILINE))


def test_what_runs_is_pinned_to_the_versions_that_are_tested():
    tested, run, production = (pins(f"requirements{kind}.lock") for kind in ("-dev", "", "-production"))
    assert run.items() <= tested.items()
    assert production.items() <= tested.items()


def test_running_needs_no_development_tools_and_no_packages_of_production():
    assert not pins("requirements.lock").keys() & {"pytest", "mypy", "ruff", "numpy", "grpcio", "aiohttp", "protobuf"}


def test_no_lock_names_an_index():
    for lock in ROOT.glob("requirements*.lock"):
        assert not re.search(r"://|--(extra-)?index-url", lock.read_text()), lock.name
