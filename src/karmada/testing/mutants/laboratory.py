"""Runs tests against a mutant in a process of its own, on a copy of the sources: right for every mutant, and slow."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from karmada.testing.mutants.edits import Mutant

LIMIT = 600.0
"""Seconds after which a mutant that does not end counts as killed."""

Passes = Callable[[Path, Sequence[str]], bool]
"""Whether tests pass on the sources in a folder."""


def pytest_passes(sources: Path, tests: Sequence[str]) -> bool:
    """Run tests of this checkout on other sources."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(sources), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ended = subprocess.run(command, env=environment, capture_output=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return False
    return ended.returncode == 0


class Laboratory:
    """A copy of the sources in which mutants live, one after the other."""

    def __init__(self, sources: Path, folder: Path, passes: Passes = pytest_passes) -> None:
        self._copy = folder / "src"
        self._sources = sources
        self._passes = passes
        shutil.copytree(sources, self._copy, ignore=shutil.ignore_patterns("__pycache__"))

    def kills(self, mutant: Mutant, tests: Sequence[str]) -> bool:
        """Whether a test notices."""
        target = self._copy / mutant.module.relative_to(self._sources)
        original = target.read_text()
        target.write_text(mutant.source())
        try:
            return not self._passes(self._copy, tests)
        finally:
            target.write_text(original)
