"""Values as validation rules see them: fields under names that expressions can write, numbers as doubles.

Texts of some formats are times to expressions: they stay texts here, and programs read them (`cel.compile_reading`).
"""

import base64
import binascii
from functools import lru_cache
from typing import Any

from karmada.apiserver.crds.names import escaped
from karmada.apiserver.schema.model import COMPILED, Schema

_TIMES = ("date", "date-time", "duration")


@lru_cache(maxsize=COMPILED)
def holds_times(schema: Schema) -> bool:
    """Whether there is anything in values of a schema that is a time to expressions."""
    if schema.name:
        return False
    if schema.type == "string":
        return schema.format in _TIMES
    children = [*(schema.properties or {}).values(), schema.items, schema.additional]
    return any(holds_times(child) for child in children if child is not None)


def source_of(schema: Schema) -> dict[str, Any]:
    """What of a schema is about types, as it is written in definitions."""
    made: dict[str, Any] = {"type": schema.type, "format": schema.format}
    made["x-kubernetes-int-or-string"] = schema.int_or_string
    if schema.name:
        return {"x-kubernetes-int-or-string": True}
    if schema.items is not None:
        made["items"] = source_of(schema.items)
    if schema.additional is not None and not schema.properties:
        made["additionalProperties"] = source_of(schema.additional)
    made["properties"] = {name: source_of(child) for name, child in (schema.properties or {}).items()}
    return made


@lru_cache(maxsize=COMPILED)
def _renamed(schema: Schema) -> dict[str, str]:
    """Fields whose names are no identifiers, with the names that expressions use for them."""
    return {name: new for name in (schema.properties or {}) if (new := escaped(name)) != name}


@lru_cache(maxsize=COMPILED)
def _differs(schema: Schema) -> bool:
    """Whether anything in values of a schema looks different to expressions."""
    if schema.name:
        return False
    if schema.type == "number" or (schema.type == "string" and schema.format == "byte"):
        return True
    children = [*(schema.properties or {}).values(), schema.items, schema.additional]
    return bool(_renamed(schema)) or any(_differs(child) for child in children if child is not None)


def as_expressions_see(schema: Schema, value: Any) -> Any:
    """The value for expressions; the same object where nothing is different."""
    if not _differs(schema):
        return value
    match value:
        case list() if schema.items is not None:
            return [as_expressions_see(schema.items, item) for item in value]
        case dict():
            return _object(schema, value)
        case int() | float() if schema.type == "number" and not isinstance(value, bool):
            return float(value)
        case str() if schema.type == "string" and not schema.int_or_string:
            return _decoded(value)
    return value


def _decoded(text: str) -> Any:
    """The bytes that a text stands for; a text that stands for none stays one."""
    try:
        return base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        return text


def _object(schema: Schema, value: dict[str, Any]) -> dict[str, Any]:
    names, children = _renamed(schema), schema.properties or {}
    result = {}
    for key, item in value.items():
        child = children.get(key, schema.additional)
        result[names.get(key, key)] = as_expressions_see(child, item) if child is not None else item
    return result
