"""Tables as servers make them, those of several clusters put together.

The second column is the cluster; the last one whether Karmada manages the object there (Y, N, or - in the control
plane itself). Pods are never managed by Karmada, so their tables lack it.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from karmada.api.labels import MANAGED, TRUE
from karmada.cli.session import HUB
from karmada.machinery.discovery import ApiResource

JSONObject = dict[str, Any]
ACCEPT = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
NONE = "<none>"
_BREAK = re.compile(r"[\f\n\r]")
"""Where kubectl cuts what does not fit one line."""


class Style(NamedTuple):
    """How tables are shown."""

    wide: bool = False
    headers: bool = True
    namespaces: bool = False
    kinds: bool = False
    labels: bool = False
    label_columns: Sequence[str] = ()
    event: bool = False
    """Whether rows are events of a watch, and begin with their type."""


class Listing:
    """The objects of one kind in several clusters."""

    def __init__(self, kind: ApiResource, columns: Sequence[JSONObject] = ()) -> None:
        self.kind = kind
        self.columns = list(columns)
        self.rows: list[tuple[str, JSONObject]] = []
        """(cluster, row), a row as servers send it."""

    def add(self, cluster: str, table: JSONObject) -> None:
        """The table of a cluster; its columns are found by their names, since clusters differ in version."""
        definitions = table.get("columnDefinitions") or []
        if not self.columns:
            self.columns = definitions
        names = [column["name"] for column in definitions]
        order = [names.index(column["name"]) if column["name"] in names else -1 for column in self.columns]
        for row in table.get("rows") or ():
            cells = row["cells"]
            chosen = [cells[index] if 0 <= index < len(cells) else NONE for index in order]
            self.rows.append((cluster, {**row, "cells": chosen}))

    def sort(self, path: str) -> None:
        """Order the rows by a field of their objects."""
        from karmada.api.jsonpath import parse_relaxed

        wanted = parse_relaxed(path)
        self.rows.sort(key=lambda entry: sort_key(wanted.find(entry[1].get("object") or {})))

    def text(self, style: Style) -> list[list[str]]:
        """The lines as cells."""
        shown = [index for index, column in enumerate(self.columns) if style.wide or not column.get("priority")]
        lines = [self._header(style, shown)] if style.headers else []
        return lines + [self.cells(style, shown, cluster, row) for cluster, row in self.rows]

    def _header(self, style: Style, shown: Iterable[int]) -> list[str]:
        first, *rest = [str(self.columns[index]["name"]).upper() for index in shown] or ["NAME"]
        before = ["EVENT"] * style.event + ["NAMESPACE"] * style.namespaces
        after = [column.rpartition("/")[2].upper() for column in style.label_columns] + ["LABELS"] * style.labels
        return [*before, first, "CLUSTER", *rest, *["ADOPTION"] * self._shows_adoption, *after]

    def cells(self, style: Style, shown: Iterable[int], cluster: str, row: JSONObject, event: str = "") -> list[str]:
        """One line."""
        metadata = (row.get("object") or {}).get("metadata") or {}
        first, *rest = [_spelled(row["cells"][index]) for index in shown] or [metadata.get("name", "")]
        if style.kinds:
            first = f"{spelled_kind(self.kind)}/{first}"
        labels = metadata.get("labels") or {}
        before = [event] * style.event + [metadata.get("namespace") or ""] * style.namespaces
        after = [labels.get(column, NONE) for column in style.label_columns]
        if style.labels:
            after.append(",".join(f"{key}={value}" for key, value in sorted(labels.items())) or NONE)
        adoption = [adopted(cluster, labels)] * self._shows_adoption
        return [*before, first, cluster, *rest, *adoption, *after]

    @property
    def _shows_adoption(self) -> bool:
        return self.kind.type[::2] != ("", "pods")


def adopted(cluster: str, labels: JSONObject) -> str:
    """Whether an object is one of Karmada's copies."""
    if cluster == HUB:
        return "-"
    return "Y" if labels.get(MANAGED) == TRUE else "N"


def spelled_kind(kind: ApiResource) -> str:
    """`deployment.apps`, `service`."""
    return f"{kind.kind.lower()}.{kind.type.group}" if kind.type.group else kind.kind.lower()


def _spelled(value: Any) -> str:
    match value:
        case None:
            return NONE
        case bool():
            return "true" if value else "false"
        case str():
            first = _BREAK.split(value, 1)[0]
            return value if len(first) == len(value) else f"{first}..."
        case list():
            return "[" + ",".join(_spelled(item) for item in value) + "]"
    return str(value)


def sort_key(found: Sequence[Any]) -> tuple[int, Any]:
    """Orders what a path finds in objects: nothing first, then numbers, then amounts by their size, then texts."""
    value = found[0] if found else None
    if value is None:
        return (0, 0)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (1, value)
    from karmada.api.quantity import Quantity, QuantityError

    try:
        return (2, Quantity.parse(str(value)))
    except QuantityError:
        return (3, str(value))
