"""Options as frozen dataclasses whose fields carry the flags that set them: a name, a default and a help text once.

    @dataclass(frozen=True, slots=True)
    class MonitorOptions:
        period: float = flag(5.0, seconds, "How often leases are checked.", "--cluster-monitor-period")

`add_options` puts the flags of such a class on a parser, `read_options` makes an instance of what was given.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, cast

from karmada.machinery.flags import add_truth

T = TypeVar("T")
_FLAG = "flag"


@dataclass(frozen=True, slots=True)
class Flag:
    """The command-line form of one option; of several names the largest value given counts."""

    names: tuple[str, ...]
    parse: Callable[[str], Any]
    help: str
    choices: Sequence[str] | None = None

    @property
    def attributes(self) -> tuple[str, ...]:
        """Where a parser keeps the values."""
        return tuple(name.lstrip("-").replace("-", "_") for name in self.names)


def flag(
    default: Any, parse: Callable[[str], Any], help: str, *names: str, choices: Sequence[str] | None = None
) -> Any:
    """A dataclass field with a default that the named flags set."""
    return field(default=default, metadata={_FLAG: Flag(names, parse, help, choices)})


def add_options(parser: ArgumentParser, kind: type[Any]) -> None:
    """Put the flags of an options class on a parser."""
    for _, declared, default in _flags(kind):
        for name in declared.names:
            if isinstance(default, bool):
                add_truth(parser, name, default, declared.help)
            else:
                parser.add_argument(
                    name, type=declared.parse, default=default, choices=declared.choices, help=declared.help
                )


def read_options(kind: type[T], given: Namespace) -> T:
    """The options that the given flags ask for."""
    values = {}
    for name, declared, _ in _flags(kind):
        found = [getattr(given, attribute) for attribute in declared.attributes]
        values[name] = found[0] if len(found) == 1 else max(found)
    return kind(**values)


def given_flags(kind: type[Any], given: Namespace) -> list[str]:
    """The flags of an options class whose value is not the default."""
    return [
        name
        for _, declared, default in _flags(kind)
        for name, attribute in zip(declared.names, declared.attributes, strict=True)
        if getattr(given, attribute) != default
    ]


class Options:
    """One instance of each options class that was given; the defaults of every other."""

    def __init__(self, *given: object) -> None:
        self._given = {type(options): options for options in given}

    def of(self, kind: type[T]) -> T:
        """The options of a class."""
        return cast(T, self._given[kind]) if kind in self._given else kind()


def _flags(kind: type[Any]) -> Iterator[tuple[str, Flag, Any]]:
    for option in fields(kind):
        if _FLAG in option.metadata:
            yield option.name, option.metadata[_FLAG], option.default
