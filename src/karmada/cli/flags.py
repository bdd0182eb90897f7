"""Flags as kubectl's users know them, which is not what argparse parses.

`--name value` and `--name=value`; `-n value`, `-nvalue` and `-n=value`; switches together (`-it`) and switched off
(`--wait=false`); flags whose value may be left out take it only after `=` (`--dry-run`, `--dry-run=client`), so that
they never swallow an argument; flags and arguments in any order; nothing after `--` is a flag. Errors are in the words
scripts look for.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple, TextIO

from karmada.cli.failures import UsageError

_TRUE, _FALSE = ("1", "t", "T", "true", "TRUE", "True"), ("0", "f", "F", "false", "FALSE", "False")


class Values(SimpleNamespace):
    """The flags of a command line by their names (`dry_run`), with `arguments` and those `after_dashes`."""

    arguments: list[str]
    after_dashes: list[str]
    given: frozenset[str]
    """Names of the flags that were spelled out."""
    input: TextIO
    """What `-f -` reads."""
    environment: Mapping[str, str]


class Flag(NamedTuple):
    """One flag. The default's type decides what a value may be: a list is comma-separated and may be repeated."""

    name: str
    default: Any
    help: str
    short: str = ""
    bare: str | None = None
    """The value when none is given; None: there must be one. Switches have `true`."""
    check: Callable[[str], Any] | None = None
    """Turns the text into the value; raises ValueError with the reason."""
    repeated: bool = False
    """Whether a list takes one element per flag, commas and all."""
    shown: str = ""
    """The default as help shows it, where it is not the value itself."""

    @property
    def attribute(self) -> str:
        """Its name in `Values`."""
        return self.name.replace("-", "_")

    @property
    def spelled(self) -> str:
        """As messages name it."""
        return f"-{self.short}, --{self.name}" if self.short else f"--{self.name}"

    @property
    def optional(self) -> str | None:
        """The value of the flag without one."""
        return "true" if isinstance(self.default, bool) else self.bare

    @property
    def shown_default(self) -> str:
        """The default in help."""
        if self.shown:
            return self.shown
        match self.default:
            case bool():
                return "true" if self.default else "false"
            case str():
                return f"'{self.default}'"
            case list():
                return f"[{','.join(self.default)}]"
        return str(self.default)

    def value(self, text: str) -> Any:
        """What a text means; raises ValueError."""
        if self.check is not None:
            return self.check(text)
        match self.default:
            case bool():
                if text not in (*_TRUE, *_FALSE):
                    raise ValueError(f'strconv.ParseBool: parsing "{text}": invalid syntax')
                return text in _TRUE
            case int():
                try:
                    return int(text)
                except ValueError:
                    raise ValueError(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None
            case list():
                return [text] if self.repeated else [part for part in text.split(",") if part]
        return text


def one_of(kind: str, *allowed: str) -> Callable[[str], str]:
    """A check for flags with a few possible values."""

    def check(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"{kind}: {text}" if kind else f"must be one of {', '.join(allowed)}")
        return text

    return check


def between(least: int, most: int) -> Callable[[str], int]:
    """A check for numbers of which not all make sense."""

    def check(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise ValueError(f"write a number from {least} to {most}")
        return int(text)

    return check


def duration(text: str) -> float:
    """A check for spans of time (`90s`, `1h30m`); a bare number is seconds."""
    from karmada.api.duration import DurationError, seconds

    try:
        return float(text) if text.replace(".", "", 1).isdigit() else seconds(text)
    except DurationError as error:
        raise ValueError(str(error)) from error


def parse(words: Sequence[str], flags: Iterable[Flag], command: str = "") -> Values:
    """Read a command line; raises `UsageError`."""
    return _Parser(list(flags), command).parse(words)


class _Parser:
    def __init__(self, flags: list[Flag], command: str) -> None:
        self._command = command
        self._by_name = {flag.name: flag for flag in flags}
        self._by_short = {flag.short: flag for flag in flags if flag.short}
        self._given: set[str] = set()
        self._values: dict[str, Any] = {
            flag.attribute: list(flag.default) if isinstance(flag.default, list) else flag.default for flag in flags
        }

    def parse(self, words: Sequence[str]) -> Values:
        arguments: list[str] = []
        after: list[str] = []
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if word == "--":
                after = rest
                break
            if word.startswith("--"):
                self._long(word, rest)
            elif word.startswith("-") and word != "-":
                self._short(word, rest)
            else:
                arguments.append(word)
        return Values(arguments=arguments, after_dashes=after, given=frozenset(self._given), **self._values)

    def _long(self, word: str, rest: list[str]) -> None:
        name, equals, text = word[2:].partition("=")
        flag = self._by_name.get(name)
        if flag is None:
            raise self._error(f"unknown flag: --{name}{_hint(name, self._by_name)}")
        if equals:
            self._set(flag, text)
        elif flag.optional is not None:
            self._set(flag, flag.optional)
        elif rest:
            self._set(flag, rest.pop(0))
        else:
            raise self._error(f"flag needs an argument: --{name}")

    def _short(self, word: str, rest: list[str]) -> None:
        letters = word[1:]
        while letters:
            letter, letters = letters[0], letters[1:]
            flag = self._by_short.get(letter)
            if flag is None:
                raise self._error(f"unknown shorthand flag: '{letter}' in {word}")
            if letters.startswith("="):
                self._set(flag, letters[1:])
                return
            if flag.optional is not None:
                self._set(flag, flag.optional)
                continue
            if not letters and not rest:
                raise self._error(f"flag needs an argument: '{letter}' in {word}")
            self._set(flag, letters or rest.pop(0))
            return

    def _set(self, flag: Flag, text: str) -> None:
        try:
            value = flag.value(text)
        except ValueError as error:
            raise self._error(f'invalid argument "{text}" for "{flag.spelled}" flag: {error}') from None
        if isinstance(value, list) and flag.name in self._given:
            value = [*self._values[flag.attribute], *value]
        self._values[flag.attribute] = value
        self._given.add(flag.name)

    def _error(self, message: str) -> UsageError:
        return UsageError(message, self._command)


def _hint(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), 1)
    return f" (did you mean --{close[0]}?)" if close else ""
