"""How a schema divides values: what may be owned piecewise, what only as a whole, and what names a list item.

Absent knowledge means: maps by key, lists as a whole, scalars as they are.
"""

from collections.abc import Iterator
from typing import Any, Final

import orjson

from karmada.apiserver.schema.model import MISSING, Schema

CONTAINER: Final = (dict, list)
ANY: Final = Schema(preserve_unknown=True)
"""A value without a schema."""

METADATA: Final = Schema(
    type="object",
    properties={
        **{name: Schema(type="string") for name in ("name", "namespace", "generateName", "uid", "selfLink")},
        **{name: Schema(type="string") for name in ("resourceVersion", "creationTimestamp", "deletionTimestamp")},
        "generation": Schema(type="integer"),
        "deletionGracePeriodSeconds": Schema(type="integer"),
        "labels": Schema(type="object", additional=Schema(type="string")),
        "annotations": Schema(type="object", additional=Schema(type="string")),
        "finalizers": Schema(type="array", items=Schema(type="string"), list_type="set"),
        "managedFields": Schema(type="array", items=ANY),
        "ownerReferences": Schema(
            type="array",
            list_type="map",
            list_keys=("uid",),
            items=Schema(
                type="object",
                map_type="atomic",
                properties={
                    **{name: Schema(type="string") for name in ("apiVersion", "kind", "name", "uid")},
                    **{name: Schema(type="boolean") for name in ("controller", "blockOwnerDeletion")},
                },
            ),
        ),
    },
)
"""The metadata of every object; CRDs need not declare it."""

_STRING = Schema(type="string")
_BUILTIN_KEY_DEFAULTS = {"protocol": "TCP"}


def root_child(schema: Schema, key: str) -> tuple[Schema, bool]:
    """Schema of a top-level field of an object and whether it is declared."""
    if key == "metadata":
        return METADATA, True
    if key in ("apiVersion", "kind"):
        return _STRING, True
    return child(schema, key)


def child(schema: Schema, key: str) -> tuple[Schema, bool]:
    """Schema of a map's value under a key and whether the key is a declared field."""
    properties = schema.properties
    if properties is not None:
        found = properties.get(key)
        if found is not None:
            return found, True
    return schema.additional or ANY, False


def allows(schema: Schema, key: str) -> bool:
    """Whether a map may hold a key at all."""
    properties = schema.properties
    if properties is not None and key in properties:
        return True
    if schema.additional is not None:
        return not schema.closed
    return schema.preserve_unknown or properties is None


def piecewise_map(schema: Schema) -> bool:
    """Whether maps are owned key by key; an object of undeclared shape is owned as a whole."""
    if schema.map_type == "atomic":
        return False
    return not (
        schema.properties is None
        and schema.additional is None
        and schema.type == "object"
        and not schema.preserve_unknown
    )


def piecewise_list(schema: Schema) -> bool:
    """Whether lists are owned item by item."""
    return schema.list_type != "atomic"


def items(schema: Schema, values: list[Any]) -> Iterator[tuple[str, Any]]:
    """The items of a list owned item by item, each with its path element."""
    if schema.list_type == "set":
        for value in values:
            yield "v:" + orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode(), value
        return
    keys = schema.list_keys
    if len(keys) == 1:
        key = keys[0]
        for value in values:
            name = value.get(key) if isinstance(value, dict) else None
            if name is None:
                yield key_element(schema, value), value
            else:
                yield f'k:{{"{key}":{orjson.dumps(name).decode()}}}', value
    else:
        for value in values:
            yield key_element(schema, value), value


def key_element(schema: Schema, value: Any) -> str:
    """The path element of one item of a list with keys, missing keys by their defaults."""
    found = {}
    for key in schema.list_keys:
        own = value.get(key, MISSING) if isinstance(value, dict) else MISSING
        found[key] = key_default(schema, key) if own is MISSING or own is None else own
    known = {key: own for key, own in found.items() if own is not MISSING}
    return "k:" + orjson.dumps(known, option=orjson.OPT_SORT_KEYS).decode()


def key_default(schema: Schema, key: str) -> Any:
    """What a list item counts as having under a key it does not set; MISSING when it must set it."""
    item = schema.items or ANY
    declared = (item.properties or {}).get(key)
    if declared is None:
        return MISSING
    if declared.default is not MISSING:
        return declared.default
    if not item.name:
        return MISSING
    if key in _BUILTIN_KEY_DEFAULTS:
        return _BUILTIN_KEY_DEFAULTS[key]
    return {"string": "", "integer": 0}.get(declared.type, MISSING) if key in item.required else MISSING
