"""String and list functions of expressions."""

import re
from itertools import pairwise
from typing import Any

from karmada.apiserver.schema.regexes import compiled

_MOST_NUMBERS = 100_000
"""In a range: more would cost what no rule may."""


def char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise ValueError(f"index out of range: {index}")
    return text[index : index + 1]


def index_of(text: Any, part: Any) -> int:
    if isinstance(text, str):
        return text.find(part)
    return next((index for index, item in enumerate(text) if item == part), -1)


def index_from(text: str, part: str, offset: int) -> int:
    if not 0 <= offset <= len(text):
        raise ValueError(f"index out of range: {offset}")
    return text.find(part, offset)


def last_index_of(text: Any, part: Any) -> int:
    if isinstance(text, str):
        return text.rfind(part)
    return max((index for index, item in enumerate(text) if item == part), default=-1)


def last_index_before(text: str, part: str, at: int) -> int:
    """The last place of a part that begins at a place or before it."""
    if at < 0 or at >= len(text):
        raise ValueError(f"index out of range: {at}")
    return text.rfind(part, 0, at + len(part))


def numbers_below(end: int) -> list[int]:
    """The numbers from 0 on; no more than an object could hold."""
    if end > _MOST_NUMBERS:
        raise ValueError("the range is too long")
    return list(range(end))


def lower_ascii(text: str) -> str:
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


def upper_ascii(text: str) -> str:
    return "".join(letter.upper() if letter.isascii() else letter for letter in text)


def replace(text: str, old: str, new: str, limit: int = -1) -> str:
    return text.replace(old, new, limit)


def split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    letters = list(text)
    return letters if limit < 0 or limit >= len(letters) else [*letters[: limit - 1], "".join(letters[limit - 1 :])]


def substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if not 0 <= start <= stop <= len(text):
        raise ValueError(f"index out of range: {start if not 0 <= start <= len(text) else stop}")
    return text[start:stop]


def trim(text: str) -> str:
    return text.strip()


def quote(text: str) -> str:
    escapes = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
    body = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(escapes.get(letter, letter) for letter in body) + '"'


def join(parts: list[str], separator: str = "") -> str:
    return separator.join(parts)


_CLAUSE = re.compile(r"%(?:%|(?:\.(\d+))?([a-zA-Z]))")


def format_text(template: str, values: list[Any]) -> str:
    """`'%s of %d'.format([a, b])` with the verbs s, d, f, e, x, X, b and o."""
    rest = iter(values)

    def one(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        try:
            value = next(rest)
        except StopIteration:
            raise ValueError("index out of range: not enough arguments for the format string") from None
        return _formatted(match[2], value, int(match[1]) if match[1] else 6)

    return _CLAUSE.sub(one, template)


def _formatted(verb: str, value: Any, precision: int) -> str:
    match verb:
        case "s":
            return _shown(value)
        case "d":
            return str(int(value))
        case "f":
            return f"{float(value):.{precision}f}"
        case "e":
            return f"{float(value):.{precision}e}"
        case "b":
            return format(int(value), "b")
        case "o":
            return format(int(value), "o")
        case "x" | "X":
            text = value.encode().hex() if isinstance(value, str) else format(value, "x")
            return text.upper() if verb == "X" else text
    raise ValueError(f"could not parse formatting clause: unrecognized formatting clause {verb!r}")


def _shown(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case float():
            return str(int(value)) if value.is_integer() else repr(value)
        case list():
            return "[" + ", ".join(map(_shown, value)) + "]"
        case dict():
            return "{" + ", ".join(f"{_shown(k)}: {_shown(v)}" for k, v in sorted(value.items())) + "}"
    return str(value)


def find(text: str, pattern: str) -> str:
    match = compiled(pattern).search(text)
    return str(match[0]) if match else ""


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = [str(match[0]) for match in compiled(pattern).finditer(text)]
    return found if limit < 0 else found[:limit]


def is_sorted(items: list[Any]) -> bool:
    return all(a <= b for a, b in pairwise(items))


def total(items: list[Any]) -> Any:
    return sum(items)


def smallest(items: list[Any]) -> Any:
    if not items:
        raise ValueError("min called on empty list")
    return min(items)


def largest(items: list[Any]) -> Any:
    if not items:
        raise ValueError("max called on empty list")
    return max(items)


def frozen(value: Any) -> Any:
    """What equals the frozen form of every equal value, and can be looked up among many."""
    if isinstance(value, dict):
        return frozenset((key, frozen(item)) for key, item in value.items())
    return tuple(map(frozen, value)) if isinstance(value, list | tuple) else value


def distinct(items: list[Any]) -> list[Any]:
    first: dict[Any, Any] = {}
    for item in items:
        first.setdefault(frozen(item), item)
    return list(first.values())


def part_of(items: list[Any], start: int, end: int) -> list[Any]:
    if not 0 <= start <= end <= len(items):
        raise ValueError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def flatten(items: list[Any]) -> list[Any]:
    return [inner for item in items for inner in (item if isinstance(item, list) else [item])]


def reverse(value: Any) -> Any:
    return value[::-1]


def sorted_list(items: list[Any]) -> list[Any]:
    return sorted(items)


def contains_all(left: list[Any], right: list[Any]) -> bool:
    return {*map(frozen, right)} <= {*map(frozen, left)}


def equivalent(left: list[Any], right: list[Any]) -> bool:
    return contains_all(left, right) and contains_all(right, left)


def intersects(left: list[Any], right: list[Any]) -> bool:
    return not {*map(frozen, left)}.isdisjoint(map(frozen, right))
