"""Whether an applied configuration fits its schema well enough to be divided into fields.

An apply needs more than a decodable object: every field must be declared, list items must be tellable apart. The
first thing wanted is a clear answer to the author of the configuration, in the words kubectl users know.
"""

from collections.abc import Iterator
from typing import Any

from karmada.apiserver.failures import Failure
from karmada.apiserver.managedfields import elements
from karmada.apiserver.managedfields.fieldset import spell
from karmada.apiserver.schema.model import MISSING, Schema

JSONObject = dict[str, Any]

_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"


def check(config: JSONObject, schema: Schema) -> None:
    """Refuse a configuration that cannot be applied."""
    errors: list[str] = []
    for key, value in config.items():
        inner, declared = elements.root_child(schema, key)
        if not declared and not elements.allows(schema, key):
            errors.append(f".{key}: field not declared in schema")
        else:
            errors.extend(_errors(value, inner, "." + key))
    if errors:
        metadata = config.get("metadata") or {}
        where = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        group_version, kind = config.get("apiVersion", ""), config.get("kind", "")
        text = errors[0] if len(errors) == 1 else "errors:\n  " + "\n  ".join(errors)
        message = f"failed to create typed patch object ({where}; {group_version}, Kind={kind}): {text}"
        raise Failure(500, "", message)


def _errors(value: Any, schema: Schema, path: str) -> Iterator[str]:
    if value is None:
        return
    if schema.type == "object" or (schema.type == "" and schema.properties is not None):
        if not isinstance(value, dict):
            yield f"{path}: expected map, got &{{{_plain(value)}}}"
            return
        yield from _map_errors(value, schema, path)
    elif schema.type == "array":
        if not isinstance(value, list):
            yield f"{path}: expected list, got &{{{_plain(value)}}}"
            return
        yield from _list_errors(value, schema, path)
    elif schema.type and schema.name != _QUANTITY:
        yield from _scalar_errors(value, schema.type, path)


def _map_errors(value: JSONObject, schema: Schema, path: str) -> Iterator[str]:
    for key, inner in value.items():
        if not elements.allows(schema, key):
            yield f"{path}.{key}: field not declared in schema"
        else:
            yield from _errors(inner, elements.child(schema, key)[0], f"{path}.{key}")


def _list_errors(value: list[Any], schema: Schema, path: str) -> Iterator[str]:
    inner = schema.items or elements.ANY
    if not elements.piecewise_list(schema):
        for position, item in enumerate(value):
            yield from _errors(item, inner, f"{path}[{position}]")
        return
    for position, item in enumerate(value):
        if reason := _nameless(item, schema):
            yield f"{path}: element {position}: {reason}"
            return
    seen: set[str] = set()
    for element, item in elements.items(schema, value):
        if element in seen:
            yield f"{path}: duplicate entries for key {spell(element)}"
            return
        seen.add(element)
        yield from _errors(item, inner, path + spell(element))


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


def _scalar_errors(value: Any, wanted: str, path: str) -> Iterator[str]:
    if wanted in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, int | float):
            yield f"{path}: expected numeric (int or float), got {_type(value)}"
    elif wanted == "string":
        if not isinstance(value, str):
            yield f"{path}: expected string, got &value.valueUnstructured{{Value:{_quoted(value)}}}"
    elif wanted == "boolean" and not isinstance(value, bool):
        yield f"{path}: expected boolean, got &value.valueUnstructured{{Value:{_quoted(value)}}}"


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
