"""Literals in expressions that can be judged before anything is evaluated: patterns, times and durations."""

import re
from datetime import datetime, timedelta

from karmada.apiserver.cel.syntax import Constant, Invocation
from karmada.apiserver.schema.regexes import BadExpression, compiled

_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}

_CLAUSE = re.compile(r"%(%|(?:\.\d+)?(.)?)", re.DOTALL)
_WRITABLE = frozenset(
    ("string", "bool", "bytes", "int", "uint", "double", "map", "list", "type", "duration", "timestamp", "null_type")
)
_CLAUSES = {
    "s": _WRITABLE,
    "d": frozenset(("int", "uint")),
    "f": frozenset(("double", "string")),
    "e": frozenset(("double", "string")),
    "b": frozenset(("int", "uint", "bool")),
    "x": frozenset(("int", "uint", "string", "bytes")),
    "X": frozenset(("int", "uint", "string", "bytes")),
    "o": frozenset(("int", "uint")),
}
"""What each clause of a format can write."""


def read_duration(text: str) -> timedelta:
    """A duration such as `1h30m`. Raises `ValueError`."""
    sign, amount = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    parts = _PART.findall(amount)
    if amount != "0" and (not parts or "".join(map("".join, parts)) != amount):
        raise ValueError(f"{text!r} is no duration")
    try:
        return sign * timedelta(seconds=sum(float(number) * _SECONDS[unit] for number, unit in parts))
    except OverflowError:
        raise ValueError(f"{text!r} is too long") from None


def read_time(text: str) -> datetime:
    """A time with its zone. Raises `ValueError`."""
    made = datetime.fromisoformat(text)
    if "T" not in text or made.tzinfo is None:
        raise ValueError(f"{text!r} is no time with a zone")
    return made


def problem(node: Invocation) -> str:
    """What is wrong with the literal in a call, if anything."""
    if not node.arguments or not isinstance(node.arguments[-1], Constant) or node.arguments[-1].kind != "string":
        return ""
    literal = node.arguments[-1].value
    try:
        match node.function, len(node.arguments):
            case "matches", 2:
                compiled(literal)
            case "timestamp", 1:
                read_time(literal)
            case "duration", 1:
                read_duration(literal)
    except (BadExpression, ValueError):
        return f"invalid {node.function} argument"
    return ""


def misfit(text: str, types: list[str]) -> str:
    """Why values of these types cannot be written as a format says, if they cannot."""
    wanted = [found[2] or "" for found in _CLAUSE.finditer(text) if found[1] != "%"]
    for clause in wanted:
        if clause not in _CLAUSES:
            return f'could not parse formatting clause: unrecognized formatting clause "{clause}"'
    if len(wanted) > len(types):
        return f"index {len(types)} out of range"
    if len(wanted) < len(types):
        return f"too many arguments supplied to string.format (expected {len(wanted)}, got {len(types)})"
    for clause, kind in zip(wanted, types, strict=True):
        if kind not in _CLAUSES[clause] and kind not in ("dyn", "free"):
            return f"error during formatting: a clause %{clause} cannot be used on {kind}"
    return ""
