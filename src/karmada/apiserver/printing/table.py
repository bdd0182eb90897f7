"""Objects as a Table: what `kubectl get` shows.

Built-in kinds have their own printers; custom ones print the columns of their definition; whatever is left shows its
name and creation time. Nothing here knows a server: the clock is an argument.
"""

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

from karmada.apiserver.printing import cells, control, core, custom, networks, pods, storage, workloads
from karmada.apiserver.printing.model import JSONObject, Printer, Printers, columns
from karmada.apiserver.resources import Column, ResourceType


def _default_row(obj: JSONObject, now: float) -> list[Any]:
    return [cells.name_of(obj), obj["metadata"].get("creationTimestamp", cells.UNKNOWN)]


_DEFAULT = Printer(columns("Name", "Created At:date"), _default_row)


@cache
def _builtin() -> Printers:
    merged: Printers = {}
    for module in (control, core, networks, pods, storage, workloads):
        merged |= module.PRINTERS
    return merged


_custom = lru_cache(maxsize=1024)(custom.printer)


def printer_of(resource: ResourceType) -> Printer:
    """The printer of a resource."""
    if resource.row is not None:
        return Printer(resource.columns, resource.row)
    if resource.custom or resource.columns:
        return _custom(resource.columns)
    return _builtin().get((resource.group, resource.plural), _DEFAULT)


def columns_of(resource: ResourceType) -> tuple[Column, ...]:
    """The columns of a resource's table."""
    return printer_of(resource).columns


def table(
    resource: ResourceType,
    objects: Iterable[JSONObject],
    include: str = "Metadata",
    api_version: str = "meta.k8s.io/v1",
    *,
    now: float,
    list_meta: JSONObject | None = None,
    headers: bool = True,
) -> JSONObject:
    """A Table of some objects; `now` is in seconds since the epoch.

    Each row carries the object's metadata, the whole object or nothing, as `include` says. A watch sends `headers`
    with its first event only.
    """
    printer = printer_of(resource)
    definitions = [_definition(column) for column in printer.columns] if headers else None
    rows: list[JSONObject] = []
    for obj in sorted(objects, key=printer.order) if printer.order else objects:
        row: JSONObject = {"cells": printer.row(obj, now)}
        conditions = printer.conditions(obj)
        if conditions:
            row["conditions"] = conditions
        row["object"] = _included(_without(obj, printer.hidden) if printer.hidden else obj, include, api_version)
        rows.append(row)
    return {
        "kind": "Table",
        "apiVersion": api_version,
        "metadata": list_meta or {},
        "columnDefinitions": definitions,
        "rows": rows,
    }


def partial_metadata(obj: JSONObject, api_version: str = "meta.k8s.io/v1") -> JSONObject:
    """An object reduced to its metadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": api_version, "metadata": obj["metadata"]}


def _included(obj: JSONObject, include: str, api_version: str) -> JSONObject | None:
    if include == "None":
        return None
    return obj if include == "Object" else partial_metadata(obj, api_version)


def _without(obj: JSONObject, annotation: str) -> JSONObject:
    annotations = obj["metadata"].get("annotations") or {}
    shown = {key: value for key, value in annotations.items() if key != annotation}
    metadata = {key: value for key, value in obj["metadata"].items() if key != "annotations"}
    return {**obj, "metadata": {**metadata, "annotations": shown} if shown else metadata}


def _definition(column: Column) -> JSONObject:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }
