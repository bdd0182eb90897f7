"""The table of docs/operations.md for whoever sees a symptom: every row has a meaning, and a command that runs."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.docs.production import files
from tests.docs.symptoms import DOCS, ON_A_HOST, Row, rows, typed

WITHOUT_COMMAND = {"an alert fires"}
"""The alert itself names one."""
PATIENCE = 400
SPREAD = "kubectl wait deployment/web --for=jsonpath='{.status.readyReplicas}'=4 --timeout=5m"


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.symptom)
def test_a_symptom_leads_to_a_command_and_to_its_meaning(row: Row) -> None:
    assert row.meaning
    assert row.commands or row.symptom in WITHOUT_COMMAND


@pytest.mark.parametrize(
    "part",
    ["search", "adapter", "dashboard", "descheduler", "estimator", "agent", "Karmada object", "Ingress", "shards"],
)
def test_every_component_that_may_be_missing_something_has_a_symptom(part: str) -> None:
    assert [row for row in rows() if any(part in text for text in (row.symptom, *row.commands, row.meaning))]


@contextmanager
def federation(folder: Path) -> Iterator[dict[str, str]]:
    """A federation with a member of each mode and a Deployment in both; the environment of a shell beside it."""
    environment = {
        **os.environ,
        "HOME": str(folder),
        "KARMADA_HOME": str(folder / "home"),
        "KUBECONFIG": str(folder / "home" / "kubeconfig"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(DOCS.parent / "src"),
    }
    (folder / "web.yaml").write_text(files()["web.yaml"])
    try:
        said(folder, environment, "karmada up --detach --members 2 --pull member2 --addons metrics-adapter")
        said(folder, environment, f"kubectl apply -f web.yaml && {SPREAD}")
        said(folder, environment, "until kubectl top pods -A; do sleep 1; done")  # Figures come a little later.
        yield environment
    finally:
        down = [sys.executable, "-m", "karmada.standalone.main", "down"]
        subprocess.run(down, cwd=folder, env=environment, capture_output=True, timeout=PATIENCE, check=False)


def said(folder: Path, environment: dict[str, str], command: str) -> str:
    words = ["timeout", "--kill-after=5", str(PATIENCE), "bash", "-o", "pipefail", "-c", command]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.tools
def test_the_commands_of_the_table_run(tmp_path: Path) -> None:
    every = {command for row in rows() for command in row.commands}
    assert ON_A_HOST.keys() <= every
    with federation(tmp_path) as environment:
        for command in sorted(every - ON_A_HOST.keys()):
            said(tmp_path, environment, typed(command))
