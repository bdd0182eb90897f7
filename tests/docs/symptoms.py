"""The table of docs/operations.md for whoever sees a symptom, and where each of its commands is typed in tests."""

import re
from pathlib import Path
from typing import NamedTuple

from tests.docs.production import CHART, INIT, OPERATOR

DOCS = Path(__file__).parents[2] / "docs"
TABLE = re.compile(r"^\| symptom \| command \| what it means \|\n\|[-|]+\|\n((?:\|.*\n)+)", re.MULTILINE)
COMMAND = re.compile(r"`((?:karmada|karmadactl|kubectl) [^`]+)`")
ON_A_HOST = {
    "kubectl -n karmada-system logs deployment/karmada-scheduler": CHART,
    "kubectl -n karmada-system logs deployment/karmada-dashboard": INIT,
    "kubectl -n karmada-system describe networkpolicies": INIT,
    "karmadactl certs check": INIT,
    "kubectl -n karmada-system describe karmada NAME": OPERATOR,
}
"""About pods and Secrets of a host cluster: typed in the walk through docs/production.md, on the host that has them."""
VALUES = {
    "deployment/NAME": "deployment/web",
    "cluster NAME": "cluster member1",
    "agent-NAME": "agent-member2",
    "karmada NAME": "karmada karmada-demo",
    "NAMESPACE/BINDING": "default/web-deployment",
    "backup FILE": "backup backup.tar.gz",
    "seconds=10": "seconds=1",
    r"\|": "|",
}
"""What stands for the words in capitals, and is quicker."""


class Row(NamedTuple):
    """A symptom, and what to do about it."""

    symptom: str
    commands: list[str]
    meaning: str


def rows() -> list[Row]:
    """The lines of the table."""
    found = TABLE.search((DOCS / "operations.md").read_text())
    assert found is not None
    cells = ([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in found[1].splitlines())
    return [Row(symptom, COMMAND.findall(commands), meaning) for symptom, commands, meaning in cells]


def typed(command: str) -> str:
    """A command with its words in capitals replaced."""
    for word, value in VALUES.items():
        command = command.replace(word, value)
    return command


def of_host(host: str) -> list[str]:
    """The commands that are typed on a host cluster."""
    return [typed(command) for command, where in ON_A_HOST.items() if where == host]
