"""Fields by which clients select objects: how their values are read from an object, as text.

Kubernetes selects by the values of its Go structs: a number or a switch that is absent counts as `0` or `false`.
"""

from collections.abc import Callable, Iterable
from typing import Any

JSONObject = dict[str, Any]
Reader = Callable[[JSONObject], str]
"""Reads the value of one selectable field."""


def fields(*paths: str) -> dict[str, Reader]:
    """Fields that are called by their paths and have no value when they are absent."""
    return {path: value_at(path) for path in paths}


def value_at(path: str, absent: str = "") -> Reader:
    """Reads what is at a dotted path; `absent` is what counts where nothing is."""
    parts = tuple(path.split("."))

    def read(obj: JSONObject) -> str:
        return _text(dig(obj, parts)) or absent

    def read_pair(obj: JSONObject) -> str:
        """The same for a field of a part of the object, as most are: events have eleven, and there are many events."""
        part = obj.get(first)
        value = part.get(second) if part.__class__ is dict else None
        return (value if value.__class__ is str else _text(value)) or absent

    if len(parts) != 2:
        return read
    first, second = parts
    return read_pair


def dig(obj: JSONObject, parts: Iterable[str]) -> Any:
    """The value at a path, None where there is none."""
    value: Any = obj
    for part in parts:
        if value.__class__ is not dict:
            return None
        value = value.get(part)
    return value


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
