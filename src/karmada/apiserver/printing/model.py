"""What a printed kind consists of: its columns and a function from an object to the cells of its row."""

from collections.abc import Callable
from typing import Any, NamedTuple

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
