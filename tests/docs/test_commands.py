"""The commands that the documentation asks its readers to type, typed; and its links, followed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
FILE = re.compile(r"^```\w+ file=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"^ *```console run\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+\.md)(?:#[^)]*)?\)")
PATIENCE = 400
"""Seconds a document's commands may take: half a minute on an idle machine, many times that on a crowded one."""


@pytest.mark.tools
@pytest.mark.parametrize(
    "document",
    [
        "quick-start.md",
        "how-a-deployment-travels.md",
        "autoscaling-and-quota.md",
        "dashboard.md",
        "failover.md",
        "gateway.md",
        "metrics.md",
        "operations.md",
        "python.md",
        "search.md",
        "services.md",
        "tools.md",
    ],
)
def test_the_commands_of_a_document_work_in_order(document: str, tmp_path: Path) -> None:
    text = (DOCS / document).read_text()
    for name, content in FILE.findall(text):
        (tmp_path / name).write_text(content)
    lines = [line for block in COMMANDS.findall(text) for line in block.splitlines()]
    script = "\n".join(["set -eo pipefail", *(line.strip().removeprefix("$ ") for line in lines)])
    programs = Path(sys.executable).parent
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "KARMADA_HOME": str(tmp_path / "home"),
        "PATH": f"{programs}:{os.environ['PATH']}",
    }
    transcript = tmp_path / "transcript"
    try:
        with transcript.open("w") as output:
            command = ["timeout", "--kill-after=5", str(PATIENCE), "bash", "-xc", script]
            outcome = subprocess.run(command, cwd=tmp_path, env=environment, stdout=output, stderr=output, check=False)
        assert outcome.returncode == 0, transcript.read_text()
    finally:
        for folder in ("home", "restored"):
            subprocess.run(
                [sys.executable, "-m", "karmada.standalone.main", "down", "--data", str(tmp_path / folder)],
                capture_output=True,
                timeout=60,
                check=False,
            )


@pytest.mark.parametrize(
    "document",
    [DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))],
    ids=lambda path: str(path.relative_to(DOCS.parent)),
)
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    for target in LINK.findall(document.read_text()):
        assert (document.parent / target).exists(), target


def test_every_page_is_in_the_index() -> None:
    listed = set(LINK.findall((DOCS / "README.md").read_text()))
    assert {path.name for path in DOCS.glob("*.md")} - {"README.md"} <= listed
