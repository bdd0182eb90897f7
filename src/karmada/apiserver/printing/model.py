"""What a printed kind consists of: its columns and a function from an object to the cells of its row."""

from collections.abc import Callable
from typing import Any, NamedTuple

from karmada.apiserver.printing import cells
from karmada.apiserver.resources import Column

JSONObject = dict[str, Any]
Row = Callable[[JSONObject, float], list[Any]]
"""Cells of an object at a point in time (seconds since the epoch)."""


def _unconditional(obj: JSONObject) -> list[JSONObject]:
    return []


class Printer(NamedTuple):
    """How one kind is printed.

    `conditions` are those of the row, e.g. that the object is completed; `order` sorts rows other than by name;
    `hidden` is an annotation that rows do not show.
    """

    columns: tuple[Column, ...]
    row: Row
    conditions: Callable[[JSONObject], list[JSONObject]] = _unconditional
    order: Callable[[JSONObject], Any] | None = None
    hidden: str = ""


Printers = dict[tuple[str, str], Printer]
"""Printers by group and plural name."""


def columns(*specs: str) -> tuple[Column, ...]:
    """Columns from `Title`, `Title:type` or `Title:type:format`; `+` marks those of wide output only."""
    made = []
    for spec in specs:
        name, kind, form, *_ = [*spec.removeprefix("+").split(":"), "", ""]
        form = form or ("name" if name == "Name" else "")
        made.append(Column(name, kind or "string", form, priority=1 if spec.startswith("+") else 0))
    return tuple(made)


Cell = str | tuple[str, str | Callable[[JSONObject], Any]] | tuple[str, str, str]
"""A column with what its cells show: a function of the object, or the value at a path and, where it is absent or empty,
another text. Name and Age show what every object has."""


def table(*specs: Cell, order: Callable[[JSONObject], Any] | None = None, hidden: str = "") -> Printer:
    """A printer by a table of columns and their cells."""
    rows = [(spec,) if isinstance(spec, str) else spec for spec in specs]
    made = columns(*(row[0] for row in rows))
    readers = [_reader(column, *row[1:]) for column, row in zip(made, rows, strict=True)]
    return Printer(made, lambda obj, now: [read(obj, now) for read in readers], order=order, hidden=hidden)


def _reader(column: Column, shown: str | Callable[[JSONObject], Any] = "", absent: str = "") -> Callable[..., Any]:
    if callable(shown):
        function = shown
        return lambda obj, now: function(obj)
    if not shown:
        return cells.age if column.name == "Age" else lambda obj, now: cells.name_of(obj)
    *above, last = shown.split(".")
    if column.type == "integer":
        return lambda obj, now: cells.count(cells.part(obj, *above), last)
    if column.type == "boolean":
        return lambda obj, now: bool(cells.part(obj, *above).get(last))

    def read(obj: JSONObject, now: float) -> Any:
        value = cells.part(obj, *above).get(last)
        return absent if value is None or value == "" else value

    return read
