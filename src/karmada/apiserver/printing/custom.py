"""Rows of custom resources: the name and the columns their definition declares, found by JSONPath."""

from collections.abc import Callable
from itertools import takewhile
from typing import Any

from karmada.api import jsonpath, timestamps
from karmada.apiserver.printing import cells
from karmada.apiserver.printing.model import JSONObject, Printer
from karmada.apiserver.resources import Column

NAME = Column("Name", "string", "name")
_INTEGERS = range(-(2**63), 2**63)
"""What an answer can carry."""
AGE = Column("Age", "date", path=".metadata.creationTimestamp")


def printer(declared: tuple[Column, ...]) -> Printer:
    """The printer for declared columns, up to one whose path cannot be read; without any, the age is shown."""
    shown = tuple(takewhile(_readable, declared)) if declared else (AGE,)
    readers = [_reader(column) for column in shown]

    def row(obj: JSONObject, now: float) -> list[Any]:
        return [cells.name_of(obj), *(read(obj, now) for read in readers)]

    return Printer((NAME, *shown), row)


def _readable(column: Column) -> bool:
    try:
        jsonpath.parse_path(column.path)
    except jsonpath.JSONPathError:
        return False
    return True


def _reader(column: Column) -> Callable[[JSONObject, float], Any]:
    path = jsonpath.parse_path(column.path)

    def read(obj: JSONObject, now: float) -> Any:
        try:
            found = path.find(obj)
        except jsonpath.JSONPathError:
            return None
        return _cell(column.type, found[0], now) if found else None

    return read


def _cell(kind: str, value: Any, now: float) -> Any:
    """A value as a cell of its column's type; null where it is of another one."""
    match kind, value:
        case "string", None:
            return "<no value>"
        case "string", _:
            return jsonpath.print_value(value)
        case "boolean", bool():
            return value
        case "integer" | "number", bool():
            return None
        case "integer", int() | float():
            return int(value) if int(value) in _INTEGERS else None
        case "number", int() | float():
            return value
        case "date", "" | "0001-01-01T00:00:00Z":
            return cells.UNKNOWN
        case "date", str():
            try:
                return cells.since(timestamps.to_time(timestamps.parse(value)), now)
            except timestamps.TimestampError:
                return "<invalid>"
        case _:
            return None
