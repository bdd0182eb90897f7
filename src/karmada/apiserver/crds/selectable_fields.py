"""Validation of `selectableFields`: each is the path of a plain value in the schema of its version."""

import re
from typing import Any

from karmada.api.field_errors import FieldError, duplicate, invalid, required

JSONObject = dict[str, Any]

_MOST = 8
_PARTS = re.compile(r"[.\[\]]|[^.\[\]]+")
_PLAIN = ("string", "boolean", "integer")
_WRONG_TYPE = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
)
_NO_FIELD = "does not refer to a valid field"


def validate_selectable_fields(version: JSONObject, place: str, own: str, shared: set[str]) -> list[FieldError]:
    """What is wrong with the selectable fields of a version.

    Fields and schemas are looked up side by side: where only one of the two is the same in all versions, and so stands
    beside them, the other is not found.
    """
    fields, path = version.get("selectableFields") or [], f"{place}.selectableFields"
    if not fields:
        return []
    common, with_schema = "selectableFields" in shared, "schema" in shared
    if common and not with_schema:
        return [invalid(path, "", "may only be set when validations.schema is included")]
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if schema is None or (with_schema and not common):
        text = "may only be set when `version.schema.openAPIV3Schema` is not included"
        return [invalid(f"{own}.selectableFields", "", text)]
    return _fields(fields, schema, path)


def _fields(fields: list[JSONObject], schema: JSONObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[tuple[str, ...]] = set()
    for index, field in enumerate(fields):
        place, text = f"{path}[{index}].jsonPath", field.get("jsonPath") or ""
        if not text:
            errors.append(required(place))
            continue
        found = _found(text, schema)
        if isinstance(found, str):
            errors.append(invalid(place, text, f"is an invalid path: {found}"))
            continue
        steps, node = found
        if steps[:1] == ("metadata",):
            errors.append(invalid(place, text, "must not point to fields in metadata"))
        if not isinstance(node, dict) or node.get("type") not in _PLAIN:
            errors.append(invalid(place, text, _WRONG_TYPE))
        if steps in seen:
            errors.append(duplicate(place, text))
        seen.add(steps)
    if len(seen) > _MOST:
        text = f"Too many: {len(seen)}: must have at most {_MOST} items"
        errors.append(FieldError("FieldValueTooMany", path, text))
    return errors


def _found(text: str, schema: Any) -> tuple[tuple[str, ...], Any] | str:
    """The steps of a path with the schema at its end, or why there is none."""
    steps: list[str] = []
    parts = iter(_PARTS.findall(text))
    for part in parts:
        if part == "[":
            return "array notation is not allowed"
        if part != ".":
            return f"expected [ or . but got: {part}"
        name = next(parts, None)
        if name is None:
            return "unexpected end of JSON path"
        known = schema if isinstance(schema, dict) else {}
        if known.get("properties") is not None:
            if name not in known["properties"]:
                return _NO_FIELD
            schema = known["properties"][name]
        elif known.get("additionalProperties") is not None:
            schema = known["additionalProperties"]
        else:
            return _NO_FIELD
        steps.append(name)
    return tuple(steps), schema
