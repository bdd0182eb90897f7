"""Where objects are embedded in others, and which of them cannot be read as objects at all."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from karmada.api.field_errors import FieldError, invalid
from karmada.apiserver.redaction import REDACTED, holds_secret
from karmada.apiserver.schema.decoding import decode
from karmada.apiserver.schema.model import COMPILED, Schema
from karmada.apiserver.schema.scalars import Mismatch, described


def malformed(schema: Schema, value: Any, path: str = "") -> FieldError | None:
    """The first part of an embedded object that has a type which no object's has."""
    for child, _, item, place in children(schema, value, path):
        found = _type_error(child, item, place) if child.embedded and isinstance(item, dict) else None
        found = found or malformed(child, item, place)
        if found is not None:
            return found
    return None


def _type_error(schema: Schema, obj: dict[str, Any], path: str) -> FieldError | None:
    for key in ("apiVersion", "kind"):
        if key in obj and not isinstance(obj[key], str):
            return invalid(f"{path}.{key}", _shown(obj[key], obj), "must be a string")
    found = obj.get("metadata")
    try:
        decode_metadata((schema.properties or {})["metadata"], found)
    except Mismatch as mismatch:
        return invalid(f"{path}.metadata", _shown(found, obj), str(mismatch))
    return None


def _shown(value: Any, obj: dict[str, Any]) -> Any:
    return REDACTED if holds_secret(obj) else value


def decode_metadata(schema: Schema, found: Any) -> list[str] | None:
    """Decode metadata in place; the paths of unknown fields. Raises `Mismatch`."""
    if found is not None and not isinstance(found, dict):
        raise Mismatch(described(found), f"v1.{schema.name.rpartition('.')[2]}")
    return (decode(schema, found) or None) if found else None


def children(schema: Schema, value: Any, path: str) -> Iterator[tuple[Schema, str | int, Any, str]]:
    """What is inside of a value and may hold or be an object, with schema, key and path."""
    if not _has_embedded(schema):
        return
    if isinstance(value, list) and schema.items is not None:
        for index, item in enumerate(value):
            yield schema.items, index, item, f"{path}[{index}]"
    elif isinstance(value, dict):
        known = schema.properties or {}
        for key, item in value.items():
            child = known.get(key, schema.additional)
            if child is not None and _has_embedded(child):
                yield child, key, item, f"{path}[{key}]" if key not in known else f"{path}.{key}" if path else key


@lru_cache(maxsize=COMPILED)
def _has_embedded(schema: Schema) -> bool:
    """Whether objects may be embedded in values of a schema, or are such values."""
    if schema.name:
        return False
    inner = [*(schema.properties or {}).values(), schema.items, schema.additional]
    return schema.embedded or any(_has_embedded(child) for child in inner if child is not None)
