"""Installing from a checkout: what goes wrong is one sentence, and what a package says about itself is complete."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from karmada.api.version import VERSION

ROOT = Path(__file__).parents[2]
NEEDED = ("Makefile", "requirements.lock", "pyproject.toml", "README.md", "LICENSE")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in NEEDED:
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def make(folder: Path, *words: str, **environment: str) -> tuple[int, list[str]]:
    """How make ended, and what it said of its own accord."""
    usual = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "MAKE", "MFLAGS"))}
    done = subprocess.run(
        ["make", *words], cwd=folder, env=usual | environment, capture_output=True, text=True, timeout=300, check=False
    )
    output = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("make: ***")]
    return done.returncode, output


def test_a_python_that_is_too_old_is_one_sentence_and_leaves_nothing(checkout: Path) -> None:
    old = checkout / "python3.9"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    code, output = make(checkout, "demo", f"PYTHON={old}")
    assert (code, output) == (2, ["Python 3.11 or newer is needed: make PYTHON=python3.12 ..."])
    assert not (checkout / ".venv").exists()


def test_no_network_is_one_sentence_and_the_next_attempt_goes_on(checkout: Path) -> None:
    offline = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    code, output = make(checkout, "demo", f"PYTHON={sys.executable}", **offline)
    sentence = "the dependencies could not be installed: is the package index reachable? .venv/pip.log says more"
    assert (code, output) == (2, ["installing dependencies into .venv ...", sentence])
    assert "No matching distribution" in (checkout / ".venv/pip.log").read_text()
    assert not (checkout / ".venv/.run").exists()


def test_the_package_says_who_made_it_and_what_changed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {"name", "version", "description", "readme", "license", "authors", "urls", "keywords"} <= project.keys()
    assert project["version"] == VERSION
    changes = (ROOT / "CHANGELOG.md").read_text()
    assert changes.startswith("# Changelog\n\nVersions are `MAJOR.MINOR.PATCH`.")
    assert "\n## Unreleased\n" in changes or f"\n## {VERSION}" in changes
