"""How much work an expression may become: a rule must not be able to hold the server.

The engine runs an expression to its end. What can make that long are macros inside macros, each of which goes through
a list, a map or the pieces of a string: at worst the largest of them to the power of the nesting. That number is
bounded before an expression is evaluated. Without nesting the work grows with the object, whose size is limited;
then nothing is counted. Variables of variables that double a value, and maps that double a type, are bounded when an
expression is compiled.
"""

import re
from itertools import pairwise
from typing import Any

LIMIT = 1_000_000
"""Rounds of innermost macros in one evaluation: some tenths of a second."""
BINDINGS = 8
"""Bindings inside bindings; each may double the value of the one around it."""
COMPUTED = 8
"""Maps of an expression with a key that is no literal: the type of each may be twice as large as any before."""

_LITERAL = re.compile(r"""[rRbB]{0,2}(?:'''.*?'''|\"\"\".*?\"\"\"|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")""", re.DOTALL)
_OPENING = re.compile(r"(\w*)\s*\(|\)")
_MACROS = frozenset(
    [
        "all",
        "exists",
        "exists_one",
        "existsOne",
        "map",
        "filter",
        "transformList",
        "transformMap",
        "transformMapEntry",
        "sortBy",
    ]
)
_TOKEN = re.compile(r"''|\w+|\S")
_BINDING = re.compile(r"\bcel\s*\.\s*bind\s*\(")
_CUTTING = re.compile(r"\b(split|findAll)\s*\(")


def binds(expression: str) -> bool:
    """Whether an expression names values itself, which the API server's language cannot."""
    return _BINDING.search(_LITERAL.sub("''", expression)) is not None


def nesting(expression: str, names: frozenset[str] = _MACROS) -> int:
    """How deep calls of these names stand inside each other."""
    depth = deepest = 0
    open_calls: list[bool] = []
    for found in _OPENING.finditer(_LITERAL.sub("''", expression)):
        if found[0] == ")":
            depth -= open_calls.pop() if open_calls else False
        else:
            counts = found[1] in names
            open_calls.append(counts)
            depth += counts
            deepest = max(deepest, depth)
    return deepest


def bindings(expression: str) -> int:
    """How deep bindings stand inside each other."""
    return nesting(expression, frozenset({"bind"}))


class _Open:
    """A bracket that is open."""

    __slots__ = ("is_computed", "is_map", "is_next")

    def __init__(self, is_map: bool) -> None:
        self.is_map = self.is_next = is_map
        self.is_computed = False


def computed_maps(expression: str) -> int:
    """How many maps are written with a key that is no literal; braces of messages are no maps."""
    tokens = [*_TOKEN.findall(_LITERAL.sub("''", expression)), ""]
    counted, before = 0, ""
    opened: list[_Open] = []
    for token, following in pairwise(tokens):
        inner = opened[-1] if opened else None
        if inner is not None and inner.is_next and token not in ("?", "}"):
            inner.is_next = False
            is_literal = token in ("''", "true", "false") or token.isdecimal()
            if not inner.is_computed and not (is_literal and following == ":"):
                inner.is_computed = True
                counted += 1
        if token in ("(", "[", "{"):
            opened.append(_Open(token == "{" and (before == "in" or not before.isidentifier())))
        elif token in (")", "]", "}") and opened:
            opened.pop()
        elif token == "," and inner is not None:
            inner.is_next = inner.is_map
        before = token
    return counted


def cuts_strings(expression: str) -> bool:
    """Whether strings become lists in it."""
    return _CUTTING.search(expression) is not None


def rounds(value: Any, depth: int, strings: bool) -> int:
    """The most rounds that macros nested this deep can take on a value."""
    largest = 1
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            if strings:
                largest = max(largest, len(part))
        elif isinstance(part, dict):
            largest = max(largest, len(part))
            waiting.extend(part.values())
        elif isinstance(part, list | tuple):
            largest = max(largest, len(part))
            waiting.extend(part)
    return int(largest**depth)
