"""Prunes custom objects: fields that their structural schema does not know are removed, and reported.

A pruner changes the tree in place and returns the paths of the first `MAX_UNKNOWN` removed fields in document order,
None when there are none. Metadata of objects and of embedded ones is decoded like that of built-in kinds. Nodes are
compiled when an object first reaches them: schemas are large, objects small.
"""

from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from types import FunctionType
from typing import Any

from karmada.apiserver.schema.embedded import decode_metadata
from karmada.apiserver.schema.model import COMPILED, Schema
from karmada.apiserver.schema.paths import MAX_UNKNOWN, below, shown
from karmada.apiserver.schema.scalars import Mismatch, described

Prune = Callable[[Any], list[str] | None]
Fits = Callable[[Any], bool]


@lru_cache(maxsize=COMPILED)
def pruner(schema: Schema) -> Prune:
    """The pruner of a schema."""
    if schema.name:
        return lambda value: decode_metadata(schema, value)
    if schema.embedded:
        return _embedded(schema)
    if schema.items is not None:
        return _list(schema.items)
    if schema.additional is not None and not schema.properties:
        return _map(schema.additional)
    if schema.type == "object" or schema.properties is not None:
        return _object(schema)
    return _nothing if schema.preserve_unknown else _scalar


def _nothing(value: Any) -> list[str] | None:
    return None


def _scalar(value: Any) -> list[str] | None:
    """A value that has no fields: those of an object in its place, or in a list in its place, are unknown."""
    if value.__class__ is dict and value:
        removed = [shown(key) for key in islice(value, MAX_UNKNOWN)]
        value.clear()
        return removed
    return _each(value, _scalar) if value.__class__ is list else None


def _each(items: list[Any], prune: Prune) -> list[str] | None:
    removed: list[str] | None = None
    for index, item in enumerate(items):
        if (found := prune(item)) is not None:
            removed = below(f"[{index}]", found, removed)
    return removed


def _embedded(schema: Schema) -> Prune:
    """An object of any kind: it has a type in words, and metadata."""
    prune = _object(schema)

    def run(value: Any) -> list[str] | None:
        if value.__class__ is dict:
            for key in ("apiVersion", "kind"):
                if value.get(key, "").__class__ is not str:
                    raise Mismatch(described(value[key]), "string")
            if "metadata" in value and value["metadata"] is None:
                value["metadata"] = {}
        return prune(value)

    return run


def _object(schema: Schema) -> Prune:
    known: dict[str, Any] = {**(schema.properties or {})}
    filled = frozenset(name for name, child in known.items() if not child.nullable and not child.name)
    keep_others = schema.preserve_unknown
    takes_others = schema.additional is not None
    if keep_others and not known:
        return _nothing

    def run(value: Any) -> list[str] | None:
        if value.__class__ is not dict:
            return None if keep_others else _scalar(value)
        removed: list[str] | None = None
        drop: list[str] = []
        for key, child in value.items():
            prune = known.get(key)
            if prune is None:
                if takes_others:
                    prune = _scalar
                elif keep_others:
                    continue
                else:
                    drop.append(key)
                    if removed is None:
                        removed = [shown(key)]
                    elif len(removed) < MAX_UNKNOWN:
                        removed.append(shown(key))
                    continue
            elif child is None and key in filled:
                drop.append(key)
                continue
            if prune.__class__ is not FunctionType:
                prune = known[key] = pruner(prune)
            if prune is _scalar and child.__class__ is not dict and child.__class__ is not list:
                continue
            if prune is not _nothing:
                found = prune(child)
                if found is not None:
                    removed = below(key, found, removed)
        for key in drop:
            del value[key]
        return removed

    return run


def _map(child: Schema) -> Prune:
    def run(value: Any) -> list[str] | None:
        if value.__class__ is not dict:
            return _scalar(value)
        if not child.nullable and None in value.values():
            for key in [key for key, item in value.items() if item is None]:
                del value[key]
        prune = pruner(child)
        if prune is _nothing:
            return None
        removed: list[str] | None = None
        for key, item in value.items():
            if (found := prune(item)) is not None:
                removed = below(key, found, removed)
        return removed

    return run


def _list(child: Schema) -> Prune:
    def run(value: Any) -> list[str] | None:
        if value.__class__ is not list:
            return _scalar(value)
        prune = pruner(child)
        return None if prune is _nothing else _each(value, prune)

    return run


@lru_cache(maxsize=COMPILED)
def fits(schema: Schema) -> Fits:
    """Whether pruning surely leaves a value as it is: nothing in it is unknown, and nothing is decoded by its kind."""
    if schema.name or schema.embedded:
        return _unsure
    if schema.items is not None:
        of_items = fits(schema.items)
        return lambda value: all(map(of_items, value)) if value.__class__ is list else _is_plain(value)
    if schema.additional is not None and not schema.properties:
        of_values = fits(schema.additional)
        return lambda value: all(map(of_values, value.values())) if value.__class__ is dict else _is_plain(value)
    if schema.type == "object" or schema.properties is not None:
        return _fitting_object(schema)
    return _sure if schema.preserve_unknown else _is_plain


def _sure(value: Any) -> bool:
    return True


def _unsure(value: Any) -> bool:
    return False


def _is_plain(value: Any) -> bool:
    """Whether a value has no fields."""
    return value.__class__ is not dict and value.__class__ is not list


def _fitting_object(schema: Schema) -> Fits:
    known: dict[str, Any] = {**(schema.properties or {})}
    keep_others = schema.preserve_unknown
    takes_others = schema.additional is not None
    if keep_others and not known:
        return _sure

    def run(value: Any) -> bool:
        if value.__class__ is not dict:
            return keep_others or _is_plain(value)
        for key, child in value.items():
            check = known.get(key)
            if check is None:
                if takes_others:
                    check = _is_plain
                elif keep_others:
                    continue
                else:
                    return False
            if check.__class__ is not FunctionType:
                check = known[key] = fits(check)
            if check is _is_plain:
                if child.__class__ is dict or child.__class__ is list:
                    return False
            elif check is not _sure and child is not None and not check(child):
                return False
        return True

    return run
