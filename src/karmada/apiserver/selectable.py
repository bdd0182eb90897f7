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
    return {path: ValueAt(path) for path in paths}


class ValueAt:
    """Reads what is at a dotted path; `absent` is what counts where nothing is."""

    __slots__ = ("absent", "parts")

    def __init__(self, path: str, absent: str = "") -> None:
        self.parts = tuple(path.split("."))
        self.absent = absent

    def __call__(self, obj: JSONObject) -> str:
        """The value of the field in an object."""
        return _text(dig(obj, self.parts)) or self.absent


def together(readers: Iterable[Reader]) -> Callable[[JSONObject], tuple[str, ...]]:
    """Reads several fields in one go: events have eleven, seven of them in one part, and there are many events."""
    own: list[tuple[int, str, str]] = []
    parts: dict[str, list[tuple[int, str, str]]] = {}
    others: list[tuple[int, Reader]] = []
    for position, reader in enumerate(readers):
        if isinstance(reader, ValueAt) and len(reader.parts) == 1:
            own.append((position, reader.parts[0], reader.absent))
        elif isinstance(reader, ValueAt) and len(reader.parts) == 2:
            parts.setdefault(reader.parts[0], []).append((position, reader.parts[1], reader.absent))
        else:
            others.append((position, reader))
    parts_of = tuple(parts.items())
    blank = [""] * (len(own) + sum(map(len, parts.values())) + len(others))

    def read_into(values: list[str], part: JSONObject, fields: list[tuple[int, str, str]]) -> None:
        for position, key, absent in fields:
            value = part.get(key)
            if value.__class__ is not str:
                value = "" if value is None else _text(value)
            values[position] = value or absent

    def read(obj: JSONObject) -> tuple[str, ...]:
        values = blank[:]
        if own:
            read_into(values, obj, own)
        for first, fields in parts_of:
            part = obj.get(first)
            read_into(values, part if part.__class__ is dict else _NOTHING, fields)
        for position, reader in others:
            values[position] = reader(obj)
        return tuple(values)

    return read


_NOTHING: JSONObject = {}


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
