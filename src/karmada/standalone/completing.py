"""What can follow on a `karmada` command line: commands, flags and the values of those that have a few."""

import argparse
from collections.abc import Sequence


def script(shell: str) -> str:
    """The completion script of a shell; it asks `karmada __complete`."""
    from karmada.cli.commands.completion import SCRIPTS

    return SCRIPTS[shell].format(program="karmada", name="karmada")


def candidates(parser: argparse.ArgumentParser, words: Sequence[str]) -> list[str]:
    """The words that can stand in the place of the last one, which is begun."""
    *before, begun = words or ("",)
    for word in before:
        parser = _below(parser, word) or parser
    if begun.startswith("-"):
        found = [flag for action in parser._actions for flag in action.option_strings if flag.startswith("--")]
    else:
        found = _values(parser, before)
    return sorted(word for word in found if word.startswith(begun))


def _below(parser: argparse.ArgumentParser, word: str) -> argparse.ArgumentParser | None:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction) and word in action.choices:
            if word == "sim":
                from karmada.simulator.command import parser as simulator

                return simulator()
            found: argparse.ArgumentParser = action.choices[word]
            return found
    return None


def _values(parser: argparse.ArgumentParser, before: Sequence[str]) -> list[str]:
    """The choices of the flag before, or else of the first argument that has some."""
    for action in parser._actions:
        if before and before[-1] in action.option_strings:
            return [str(choice) for choice in action.choices or ()]
    for action in parser._actions:
        if not action.option_strings and action.choices:
            return [str(choice) for choice in action.choices]
    return []
