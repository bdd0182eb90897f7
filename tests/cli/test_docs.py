"""The pages about commands are those the commands make."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from karmada.cli.catalog import NAMES, load
from karmada.cli.command import Command
from karmada.cli.docs import pages
from karmada.cli.help import command_help

FOLDER = Path(__file__).parents[2] / "docs" / "cli"


@pytest.mark.parametrize("name", sorted(pages()))
def test_a_page_is_up_to_date(name: str) -> None:
    written = (FOLDER / name).read_text() if (FOLDER / name).exists() else ""
    assert written == pages()[name], "run python -m karmada.cli.docs"


def _below(command: Command) -> Iterator[Command]:
    yield command
    for one in command.subcommands:
        yield from _below(one)


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"options"}))
def test_every_command_shows_in_an_example_how_it_is_used(name: str) -> None:
    for command in _below(load(name)):
        _, _, shown = command_help("karmadactl", command).partition("\nExamples:\n")
        assert f"  karmadactl {command.name}" in shown.partition("\n\n")[0], command.name


def test_no_page_is_left_over() -> None:
    assert {path.name for path in FOLDER.glob("*.md")} == set(pages())
