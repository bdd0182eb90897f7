"""The table of docs/operations.md for whoever sees a symptom: every row has a command that there is, and a meaning."""

import re
import shlex
from pathlib import Path

import pytest

from karmada.standalone.main import parser

DOCS = Path(__file__).parents[2] / "docs"
TABLE = re.compile(r"^\| symptom \| command \| what it means \|\n\|[-|]+\|\n((?:\|.*\n)+)", re.MULTILINE)
COMMAND = re.compile(r"`((?:karmada|karmadactl|kubectl) [^`]+)`")
NAMESPACE = ("-n", "karmada-system")
WITHOUT_COMMAND = {"an alert fires"}
"""The alert itself names one."""


def rows() -> list[list[str]]:
    """Symptoms, commands and meanings."""
    found = TABLE.search((DOCS / "operations.md").read_text())
    assert found is not None
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in found[1].splitlines()]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_a_symptom_leads_to_a_command_that_there_is_and_to_its_meaning(row: list[str]) -> None:
    symptom, commands, meaning = row
    assert meaning
    found = COMMAND.findall(commands)
    assert found or symptom in WITHOUT_COMMAND
    for command in found:
        program, *words = shlex.split(command.split(r" \| ")[0])
        if program == "karmada":
            parser().parse_args(words)
            continue
        if tuple(words[:2]) == NAMESPACE:
            words = words[2:]
        assert (DOCS / "cli" / f"{words[0]}.md").exists(), command


@pytest.mark.parametrize(
    "part",
    ["search", "adapter", "dashboard", "descheduler", "estimator", "agent", "Karmada object", "Ingress", "shards"],
)
def test_every_component_that_may_be_missing_something_has_a_symptom(part: str) -> None:
    assert [row for row in rows() if any(part in cell for cell in row)]
