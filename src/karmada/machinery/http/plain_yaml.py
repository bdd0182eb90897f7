"""The plainest YAML, as most kubeconfigs are: block mappings and lists of one-line texts.

PyYAML takes longer to import than a whole read of a server. Whatever could mean anything else than a text (numbers,
flow style, anchors, tags, comments, text over several lines) makes the answer None, and the caller asks PyYAML.
"""

from typing import Any

_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@+=")
_OTHER_MEANINGS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))


class _NotPlain(Exception):
    """The document needs a whole YAML parser."""


def read(content: bytes) -> dict[str, Any] | None:
    """The mapping that a document holds; None where it is not plain."""
    try:
        lines = [_line(text) for text in content.decode("ascii").split("\n") if text.strip(" ")]
        value, end = _block(lines, 0, 0)
    except (_NotPlain, UnicodeDecodeError, RecursionError):
        return None
    return value if end == len(lines) and isinstance(value, dict) else None


def _line(text: str) -> tuple[int, str]:
    if not text.isprintable():
        raise _NotPlain
    stripped = text.lstrip(" ")
    return len(text) - len(stripped), stripped.rstrip(" ")


def _block(lines: list[tuple[int, str]], at: int, indent: int) -> tuple[Any, int]:
    """The mapping or list that starts at a line, and the first line after it."""
    if at < len(lines) and lines[at][0] == indent and lines[at][1].startswith("- "):
        return _items(lines, at, indent)
    found: dict[str, Any] = {}
    while at < len(lines) and lines[at][0] == indent and not lines[at][1].startswith("- "):
        key, colon, rest = lines[at][1].partition(":")
        if not colon or (rest and rest[0] != " ") or _text(key) in found:
            raise _NotPlain
        at += 1
        if rest:
            found[key] = _scalar(rest.strip(" "))
            continue
        # The items of a list may stand as far left as the key that they belong to.
        inner = lines[at][0] if at < len(lines) else -1
        if inner < indent or (inner == indent and not lines[at][1].startswith("- ")):
            raise _NotPlain
        found[key], at = _block(lines, at, inner)
    if not found or (at < len(lines) and lines[at][0] > indent):
        raise _NotPlain
    return found, at


def _items(lines: list[tuple[int, str]], at: int, indent: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    while at < len(lines) and lines[at][0] == indent and lines[at][1].startswith("- "):
        inside = lines[at][1][2:].lstrip(" ")
        if ":" in inside and inside[0] not in "\"'":
            # A mapping in a list begins behind the dash.
            lines[at] = (indent + len(lines[at][1]) - len(inside), inside)
            value, at = _block(lines, at, lines[at][0])
        else:
            value, at = _scalar(inside), at + 1
        found.append(value)
    if at < len(lines) and lines[at][0] > indent:
        raise _NotPlain
    return found, at


def _scalar(text: str) -> Any:
    if len(text) > 1 and text[0] in "\"'" and text[-1] == text[0]:
        inside = text[1:-1]
        if text[0] in inside or "\\" in inside:
            raise _NotPlain
        return inside
    match text:
        case "true" | "false":
            return text == "true"
        case "null":
            return None
        case "{}":
            return {}
        case "[]":
            return []
    return _text(text)


def _text(text: str) -> str:
    """An unquoted text that is nothing else."""
    plain = text[:1].isalpha() and text[-1] != ":" and _SAFE.issuperset(text)
    if not plain or text.lower() in _OTHER_MEANINGS:
        raise _NotPlain
    return text
