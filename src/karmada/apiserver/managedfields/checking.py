"""Whether an applied configuration fits its schema well enough to be divided into fields.

An apply needs more than a decodable object: every field must be declared, list items must be tellable apart. The
first thing wanted is a clear answer to the author of the configuration, in the words kubectl users know.
"""

from typing import Any, NamedTuple

from karmada.apiserver.failures import Failure
from karmada.apiserver.managedfields import elements
from karmada.apiserver.managedfields.fieldset import EMPTY, spell
from karmada.apiserver.schema.model import MISSING, Schema

JSONObject = dict[str, Any]

_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_PYTHON_TYPES: dict[str, type | tuple[type, ...]] = {"string": str, "integer": int, "number": (int, float)}


def check(config: JSONObject, schema: Schema) -> None:
    """Refuse a configuration that cannot be applied."""
    errors: list[str] = []
    for key, value in config.items():
        inner, declared = elements.root_child(schema, key)
        if not declared and not elements.allows(schema, key):
            errors.append(f".{key}: field not declared in schema")
        else:
            _check(value, inner, _Place(None, "." + key), errors)
    if errors:
        metadata = config.get("metadata") or {}
        where = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        group_version, kind = config.get("apiVersion", ""), config.get("kind", "")
        text = errors[0] if len(errors) == 1 else "errors:\n  " + "\n  ".join(errors)
        message = f"failed to create typed patch object ({where}; {group_version}, Kind={kind}): {text}"
        raise Failure(500, "", message)


class _Place(NamedTuple):
    """Where a value is; spelled out only for an error."""

    outer: "_Place | None"
    text: str

    def __str__(self) -> str:
        return (str(self.outer) if self.outer else "") + self.text


def _check(value: Any, schema: Schema, place: _Place, errors: list[str]) -> None:
    if value is None:
        return
    wanted = schema.type
    if isinstance(value, _PYTHON_TYPES.get(wanted, ())) and not isinstance(value, bool):
        return
    if wanted == "object" or (not wanted and schema.properties is not None):
        if isinstance(value, dict):
            _check_map(value, schema, place, errors)
        else:
            errors.append(f"{place}: expected map, got &{{{_plain(value)}}}")
    elif wanted == "array":
        if isinstance(value, list):
            _check_list(value, schema, place, errors)
        else:
            errors.append(f"{place}: expected list, got &{{{_plain(value)}}}")
    elif wanted and schema.name != _QUANTITY:
        _check_scalar(value, wanted, place, errors)


def _check_map(value: JSONObject, schema: Schema, place: _Place, errors: list[str]) -> None:
    properties = schema.properties or EMPTY
    other = schema.additional or elements.ANY
    for key, inner in value.items():
        declared = properties.get(key)
        if declared is None and not elements.allows(schema, key):
            errors.append(f"{place}.{key}: field not declared in schema")
        else:
            _check(inner, declared or other, _Place(place, "." + key), errors)


def _check_list(value: list[Any], schema: Schema, place: _Place, errors: list[str]) -> None:
    inner = schema.items or elements.ANY
    if not elements.piecewise_list(schema):
        for position, item in enumerate(value):
            _check(item, inner, _Place(place, f"[{position}]"), errors)
        return
    for position, item in enumerate(value):
        if reason := _nameless(item, schema):
            errors.append(f"{place}: element {position}: {reason}")
            return
    seen: set[str] = set()
    for element, item in elements.items(schema, value):
        if element in seen:
            errors.append(f"{place}: duplicate entries for key {spell(element)}")
            return
        seen.add(element)
        _check(item, inner, _Item(place, element), errors)


class _Item(_Place):
    """A list item, named by its path element."""

    def __str__(self) -> str:
        return str(self.outer) + spell(self.text)


def _nameless(item: Any, schema: Schema) -> str:
    """Why a list item cannot be told from others; empty when it can."""
    if schema.list_type == "set":
        if item is None:
            return "associative list without keys has an element that's an explicit null"
        if isinstance(item, dict | list):
            return "associative list without keys has an element that's a map type"
        return ""
    if not isinstance(item, dict):
        return "associative list with keys may not have non-map elements"
    for key in schema.list_keys:
        if item.get(key) is None and elements.key_default(schema, key) is MISSING:
            omitted = f'an element that omits key field "{key}" (and doesn\'t have default value)'
            return f"associative list with keys has {omitted}"
    return ""


def _check_scalar(value: Any, wanted: str, place: _Place, errors: list[str]) -> None:
    if wanted in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, int | float):
            errors.append(f"{place}: expected numeric (int or float), got {_type(value)}")
    elif wanted == "string":
        if not isinstance(value, str):
            errors.append(f"{place}: expected string, got &value.valueUnstructured{{Value:{_quoted(value)}}}")
    elif wanted == "boolean" and not isinstance(value, bool):
        errors.append(f"{place}: expected boolean, got &value.valueUnstructured{{Value:{_quoted(value)}}}")


def _type(value: Any) -> str:
    names = {bool: "bool", str: "string", dict: "map[string]interface {}", list: "[]interface {}"}
    return names[type(value)]


def _quoted(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, dict):
        return "map[string]interface {}{" + ", ".join(f'"{k}":{_quoted(value[k])}' for k in sorted(value)) + "}"
    if isinstance(value, list):
        return "[]interface {}{" + ", ".join(map(_quoted, value)) + "}"
    return _plain(value)


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{_plain(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(_plain, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "<nil>" if value is None else str(value)
