"""Fills in the defaults of structural schemas.

A default applies where a field is absent, or null without being nullable; then the defaults inside it apply. Trees are
changed in place; every object gets its own copy of a default.
"""

from collections.abc import Callable
from copy import deepcopy
from functools import lru_cache
from typing import Any

from karmada.apiserver.schema.model import COMPILED, MISSING, Schema

Fill = Callable[[Any], None]


@lru_cache(maxsize=COMPILED)
def filler(schema: Schema) -> Fill | None:
    """The function that fills in the defaults of a whole schema; None where there are none."""
    return _filler(schema)


def _filler(schema: Schema) -> Fill | None:
    if schema.name:
        return None
    if schema.items is not None:
        return _list(_filler(schema.items))
    if schema.additional is not None and not schema.properties:
        return _map(schema.additional)
    return _object(schema.properties) if schema.properties else None


def _object(properties: dict[str, Schema]) -> Fill | None:
    defaults = {
        name: (deepcopy(child.default), child.nullable)
        for name, child in properties.items()
        if child.default is not MISSING and not child.name
    }
    inner = {name: fill for name, child in properties.items() if (fill := _filler(child)) is not None}
    if not defaults and not inner:
        return None

    def run(value: Any) -> None:
        if value.__class__ is not dict:
            return
        for name, (default, nullable) in defaults.items():
            if name not in value or (value[name] is None and not nullable):
                value[name] = deepcopy(default) if default.__class__ in (dict, list) else default
        for name, fill in inner.items():
            child = value.get(name)
            if child is not None:
                fill(child)

    return run


def _map(child: Schema) -> Fill | None:
    fill = _filler(child)
    default, nullable = deepcopy(child.default), child.nullable
    if fill is None and default is MISSING:
        return None

    def run(value: Any) -> None:
        if value.__class__ is not dict:
            return
        for key, item in value.items():
            if item is None and default is not MISSING and not nullable:
                value[key] = item = deepcopy(default)
            if fill is not None and item is not None:
                fill(item)

    return run


def _list(fill: Fill | None) -> Fill | None:
    if fill is None:
        return None

    def run(value: Any) -> None:
        if value.__class__ is list:
            for item in value:
                if item is not None:
                    fill(item)

    return run
