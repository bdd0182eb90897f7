"""The check at the end of a run: only of the whole suite, with what all workers saw."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
USE = """
from karmada.apiserver.auth.model import Attributes
from karmada.apiserver.auth.model import UserInfo
from tests.conftest import RIGHTS

def test_use():
    attributes = Attributes("list", "cluster.karmada.io", "v1alpha1", "clusters")
    RIGHTS(UserInfo("system:karmada:scheduler"), attributes, {})
"""
REPORT, USED = "roles allow what nothing used", "system:karmada:scheduler list clusters.cluster.karmada.io"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = suite\n")
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "conftest.py").write_text("from tests.conftest import *\n")
    return tmp_path


def run(project: Path, allowed: bool, *arguments: str) -> tuple[int, str]:
    (project / "suite" / "test_use.py").write_text(USE.format(allowed))
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    ended = subprocess.run(command, cwd=project, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    return ended.returncode, ended.stdout + ended.stderr


def test_a_whole_run_fails_for_rights_that_no_worker_used(project: Path) -> None:
    code, output = run(project, True, "-n", "1")
    assert code == 1, output
    assert "1 passed" in output
    assert REPORT in output
    assert USED not in output


def test_a_run_of_a_part_is_no_judgement(project: Path) -> None:
    code, output = run(project, True, "-n", "0", "-k", "use")
    assert code == 0, output
    assert REPORT not in output


def test_a_refused_component_fails_the_test(project: Path) -> None:
    code, output = run(project, False, "-n", "0", "suite/test_use.py")
    assert code == 1, output
    assert f"components were refused: {USED}" in output
