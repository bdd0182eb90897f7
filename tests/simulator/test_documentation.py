"""The fleet file of the documentation is one that works."""

import re
from pathlib import Path

from karmada.api import yaml
from karmada.simulator.command import parser
from karmada.simulator.spec import parse

PAGE = (Path(__file__).parents[2] / "docs" / "simulated-members.md").read_text()


def test_the_documented_fleet_is_valid():
    [text] = re.findall(r"```yaml file=fleet.yaml\n(.*?)```", PAGE, re.DOTALL)
    [member] = parse(yaml.load(text)).each()
    assert member.faults.webhooks[0].reject == "not on a Friday"


def test_the_documented_commands_are_known():
    import shlex

    commands = re.findall(r"`karmada sim ([^`]+)`", PAGE)
    assert len(commands) >= 8
    for command in commands:
        parser().parse_args(shlex.split(command))
