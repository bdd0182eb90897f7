"""When a recorded and an actual outcome are the same.

Null, an absent key and an empty list are the same; so are 1 and 1.0, but not 1 and true. The tokens `<uuid>`, `<now>`
and `<ptr>` in a recorded string stand for text of that kind, also inside a longer string.
"""

import re
from typing import Any

_TOKENS = {
    "<uuid>": r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    "<now>": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)",
    "<ptr>": r"0x[0-9a-fA-F]+",
}
_ANY_TOKEN = re.compile("(" + "|".join(_TOKENS) + ")")


def first_difference(expected: Any, actual: Any, path: str = "$") -> str | None:
    """Where and how the two differ first, or None when they are the same."""
    if _is_nothing(expected) and _is_nothing(actual):
        return None
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted(expected.keys() | actual.keys(), key=str):
            difference = first_difference(expected.get(key), actual.get(key), f"{path}.{key}")
            if difference:
                return difference
        return None
    if isinstance(expected, list) and isinstance(actual, list | tuple):
        if len(expected) != len(actual):
            return f"{path}: expected {len(expected)} items {shorten(expected)}, got {len(actual)} {shorten(actual)}"
        for index, pair in enumerate(zip(expected, actual, strict=True)):
            difference = first_difference(*pair, f"{path}[{index}]")
            if difference:
                return difference
        return None
    if _same_scalar(expected, actual):
        return None
    return f"{path}: expected {shorten(expected)}, got {shorten(actual)}"


def shorten(value: Any, limit: int = 300) -> str:
    """The value in one line of bounded length."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, list | tuple) and not value)


def _same_scalar(expected: Any, actual: Any) -> bool:
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, str) and isinstance(actual, str):
        return expected == actual or ("<" in expected and _matches_tokens(expected, actual))
    if isinstance(expected, int | float) and isinstance(actual, int | float):
        return expected == actual
    return False


def _matches_tokens(expected: str, actual: str) -> bool:
    pieces = _ANY_TOKEN.split(expected)
    pattern = "".join(_TOKENS.get(piece) or re.escape(piece) for piece in pieces)
    return re.fullmatch(pattern, actual) is not None
