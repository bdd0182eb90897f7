"""The flags of every command against those recorded from the reference, and how command lines are read."""

import json
from pathlib import Path
from typing import Any

import pytest

from karmada.api.version import IMAGE
from karmada.cli import catalog
from karmada.cli.command import Command
from karmada.cli.failures import UsageError
from karmada.cli.flags import Flag, duration, parse
from karmada.cli.help import command_help

RECORDED = Path(__file__).parents[3] / "shared" / "golden" / "cli" / "flags.json"

OTHER_DEFAULTS = {
    ("register", "enable-cert-rotation"): "true",
    ("register", "karmada-agent-image"): f"'{IMAGE}'",
}
"""Defaults that differ on purpose: an agent that does not renew its certificate is lost after a year; and there is one
image for all programs."""


OTHER_SHORTHANDS = {("exec", "cluster"): "C", ("attach", "cluster"): "C"}
"""-C names a cluster in every command."""


def recorded() -> dict[str, Any]:
    if not RECORDED.is_file():
        return {}
    found: dict[str, Any] = json.loads(RECORDED.read_text())
    return {key.removeprefix("{karmadactl}").removesuffix("--help").strip(): value for key, value in found.items()}


def command(words: str) -> Command:
    first, *rest = words.split()
    found = catalog.load(first)
    for word in rest:
        found = next(sub for sub in found.subcommands if sub.name.rpartition(" ")[2] == word)
    return found


@pytest.mark.parametrize("words", [words for words in recorded() if words])
def test_every_recorded_flag_exists_with_its_shorthand_and_default(words: str) -> None:
    ours = {flag.name: flag for flag in command(words).flags}
    for name, theirs in recorded()[words]["flags"].items():
        assert name in ours, f"{words} lacks --{name}"
        expected = OTHER_SHORTHANDS.get((words, name), theirs.get("short", ""))
        assert ours[name].short == expected, f"{words} --{name}: shorthand"
        if theirs["default"] != "<age>":
            expected = OTHER_DEFAULTS.get((words, name), theirs["default"])
            assert ours[name].shown_default == expected, f"{words} --{name}: default"


@pytest.mark.parametrize("words", [words for words in recorded() if words])
def test_every_recorded_subcommand_exists(words: str) -> None:
    ours = {sub.name.rpartition(" ")[2] for sub in command(words).subcommands}
    assert set(recorded()[words]["subcommands"]) <= ours


def test_every_recorded_command_exists() -> None:
    for entry in recorded().get("", {}).get("subcommands", ()):
        assert entry in catalog.NAMES


@pytest.mark.parametrize("name", catalog.NAMES)
def test_commands_are_well_formed(name: str) -> None:
    found = catalog.load(name)
    assert found.name == name
    for one in (found, *found.subcommands):
        names = [flag.name for flag in one.flags]
        shorts = [flag.short for flag in one.flags if flag.short]
        assert len(names) == len(set(names))
        assert len(shorts) == len(set(shorts))
        assert one.run or one.subcommands
        assert "Usage:" in command_help("karmadactl", one)


FLAGS = (
    Flag("namespace", "", "", "n"),
    Flag("stdin", False, "", "i"),
    Flag("tty", False, "", "t"),
    Flag("tail", -1, ""),
    Flag("dry-run", "none", "", bare="unchanged"),
    Flag("clusters", [], "", "C"),
    Flag("wait", 60.0, "", check=duration),
)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-n", "x"], {"namespace": "x"}),
        (["-nx"], {"namespace": "x"}),
        (["-n=x"], {"namespace": "x"}),
        (["--namespace=x"], {"namespace": "x"}),
        (["-it", "pod"], {"stdin": True, "tty": True, "arguments": ["pod"]}),
        (["--stdin=false"], {"stdin": False}),
        (["--tail", "-1"], {"tail": -1}),
        (["--dry-run", "x"], {"dry_run": "unchanged", "arguments": ["x"]}),
        (["--dry-run=client"], {"dry_run": "client"}),
        (["-C", "a,b", "-C", "c"], {"clusters": ["a", "b", "c"]}),
        (["--wait", "1m30s"], {"wait": 90.0}),
        (["a", "-n", "x", "b", "--", "-n", "c"], {"arguments": ["a", "b"], "after_dashes": ["-n", "c"]}),
        (["-"], {"arguments": ["-"]}),
    ],
)
def test_command_lines_are_read_as_kubectl_reads_them(words: list[str], expected: dict[str, Any]) -> None:
    values = vars(parse(words, FLAGS))
    assert {name: values[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--nope"], "unknown flag: --nope"),
        (["--namespac", "x"], "unknown flag: --namespac (did you mean --namespace?)"),
        (["-x"], "unknown shorthand flag: 'x' in -x"),
        (["-ix"], "unknown shorthand flag: 'x' in -ix"),
        (["--namespace"], "flag needs an argument: --namespace"),
        (["-n"], "flag needs an argument: 'n' in -n"),
        (["--tail=x"], 'invalid argument "x" for "--tail" flag: strconv.ParseInt: parsing "x": invalid syntax'),
        (["--stdin=x"], 'invalid argument "x" for "-i, --stdin" flag: strconv.ParseBool: parsing "x": invalid syntax'),
    ],
)
def test_what_cannot_be_read_is_said_as_scripts_know_it(words: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(words, FLAGS)
    assert str(caught.value) == message
