"""Whether an object has the shape of its built-in kind: no API server stores one that has not."""

import copy
from collections.abc import Iterator
from functools import cache
from typing import Any

from karmada.apiserver.builtin.catalog import builtin_types
from karmada.apiserver.schema.decoding import decode
from karmada.apiserver.schema.model import Schema
from karmada.apiserver.schema.scalars import Mismatch


def is_misshapen(tree: Any) -> bool:
    """Whether decoding an object of a built-in kind fails; other kinds have any shape."""
    if not isinstance(tree, dict):
        return True
    schema = _schemas().get((tree.get("apiVersion"), tree.get("kind")))
    if schema is None:
        return False
    try:
        decode(schema, copy.deepcopy(tree))
    except Mismatch:
        return True
    return False


@cache
def _schemas() -> dict[tuple[str | None, str | None], Schema]:
    return {
        (f"{type_.group}/{type_.version}" if type_.group else type_.version, type_.kind): type_.schema
        for type_ in builtin_types()
    }


def values_of(tree: Any, field: str) -> Iterator[Any]:
    """All values of fields of a name, wherever they are in a tree."""
    if isinstance(tree, dict | list):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            if key == field:
                yield value
            yield from values_of(value, field)
