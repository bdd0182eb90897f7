"""Whether an applied configuration fits its schema well enough to be divided into fields.

An apply needs more than a decodable object: every field must be declared, list items must be tellable apart. The
first thing wanted is a clear answer to the author of the configuration, in the words kubectl users know.
"""

from typing import Any

from karmada.apiserver.managedfields import elements
from karmada.apiserver.managedfields.fieldset import EMPTY, spell
from karmada.apiserver.redaction import REDACTED, holds_secret
from karmada.apiserver.schema.model import MISSING, Schema
from karmada.machinery.httpserver.failure import Failure

JSONObject = dict[str, Any]

_TEXT = ("", "byte")
"""Formats of strings that must be strings here; what else has a format is any scalar until it is validated."""
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_RAW = "io.k8s.apimachinery.pkg.runtime.RawExtension"


def check(config: JSONObject, schema: Schema) -> None:
    """Refuse a configuration that cannot be applied."""
    errors = _problems(config, schema)
    if errors:
        metadata = config.get("metadata") or {}
        where = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        group_version, kind = config.get("apiVersion", ""), config.get("kind", "")
        group_version = group_version if "/" in group_version else f"/{group_version}"
        secret = holds_secret(config)
        lines = [text + (REDACTED if secret and got else got) for text, got in errors]
        text = lines[0] if len(lines) == 1 else "errors:\n  " + "\n  ".join(lines)
        message = f"failed to create typed patch object ({where}; {group_version}, Kind={kind}): {text}"
        raise Failure(500, "", message)


def misfit(config: JSONObject, schema: Schema) -> str:
    """What of a configuration does not fit its schema, or nothing."""
    lines = [text + got for text, got in _problems(config, schema)]
    return lines[0] if len(lines) == 1 else "errors:\n  " + "\n  ".join(lines) if lines else ""


def atomics(config: JSONObject, schema: Schema) -> list[str]:
    """The paths of lists, maps and structs in a configuration that can only be replaced as a whole."""
    found: list[str] = []
    for key, value in config.items():
        _atomics(value, elements.root_child(schema, key)[0], f".{key}", found)
    return found


def _atomics(value: Any, schema: Schema, path: str, found: list[str]) -> None:
    if isinstance(value, dict):
        if not elements.piecewise_map(schema):
            found.append(path)
        for key, inner in value.items():
            declared = (schema.properties or EMPTY).get(key)
            if declared is not None:
                _atomics(inner, declared, f"{path}.{key}", found)
    elif isinstance(value, list) and schema.type == "array":
        if not elements.piecewise_list(schema):
            found.append(path)
        for index, item in enumerate(value):
            _atomics(item, schema.items or elements.ANY, f"{path}[{index}]", found)


def _problems(config: JSONObject, schema: Schema) -> "list[_Problem]":
    errors: list[_Problem] = []
    for key, value in config.items():
        inner, declared = elements.root_child(schema, key)
        if not declared and not elements.allows(schema, key):
            errors.append((f".{key}: field not declared in schema", ""))
        else:
            _check(value, inner, (None, "f:" + key), errors)
    return errors


_Problem = tuple[str, str]
"""What is wrong, and the value that it ends with, if any."""
_Place = tuple[Any, str]
"""Where a value is: the place around it and its path element; spelled out only for an error."""


def _spelled(place: _Place | None) -> str:
    return "" if place is None else _spelled(place[0]) + spell(place[1])


def _check(value: Any, schema: Schema, place: _Place, errors: list[_Problem]) -> None:
    if value is None or schema.name == _RAW:
        return
    wanted = schema.type
    if wanted == "object" or (not wanted and schema.properties is not None):
        if isinstance(value, dict):
            _check_map(value, schema, place, errors)
        else:
            errors.append((f"{_spelled(place)}: expected map, got ", f"&{{{_plain(value)}}}"))
    elif wanted == "array":
        if isinstance(value, list):
            _check_list(value, schema, place, errors)
        else:
            errors.append((f"{_spelled(place)}: expected list, got ", f"&{{{_plain(value)}}}"))
    elif wanted == "string" and schema.format not in _TEXT:
        if isinstance(value, elements.CONTAINER) and schema.name != _QUANTITY:
            errors.append((f"{_spelled(place)}: expected any scalar, got ", f"&{{{_plain(value)}}}"))
    elif wanted and schema.name != _QUANTITY:
        _check_scalar(value, wanted, place, errors)


def _check_map(value: JSONObject, schema: Schema, place: _Place, errors: list[_Problem]) -> None:
    properties = schema.properties or EMPTY
    other = schema.additional or elements.ANY
    for key, inner in value.items():
        declared = properties.get(key)
        if declared is None:
            if not elements.allows(schema, key):
                errors.append((f"{_spelled(place)}.{key}: field not declared in schema", ""))
                continue
            declared = other
        if inner.__class__ is not str or declared.type != "string":
            _check(inner, declared, (place, "f:" + key), errors)


def _check_list(value: list[Any], schema: Schema, place: _Place, errors: list[_Problem]) -> None:
    inner = schema.items or elements.ANY
    if not elements.piecewise_list(schema):
        for position, item in enumerate(value):
            _check(item, inner, (place, f"i:{position}"), errors)
        return
    for position, item in enumerate(value):
        if reason := _nameless(item, schema):
            errors.append((f"{_spelled(place)}: element {position}: {reason}", ""))
            return
    seen: set[str] = set()
    for element, item in elements.items(schema, value):
        if element in seen:
            errors.append((f"{_spelled(place)}: duplicate entries for key {spell(element)}", ""))
            return
        seen.add(element)
        _check(item, inner, (place, element), errors)


def _nameless(item: Any, schema: Schema) -> str:
    """Why a list item cannot be distinguished from others; empty when it can."""
    if schema.list_type == "set":
        if item is None:
            return "associative list without keys has an element that's an explicit null"
        if isinstance(item, elements.CONTAINER):
            return "associative list without keys has an element that's a map type"
        return ""
    if not isinstance(item, dict):
        return "associative list with keys may not have non-map elements"
    keys = schema.list_keys
    if any(item.get(key) is not None or elements.key_default(schema, key) is not MISSING for key in keys):
        return ""  # A key that is not there distinguishes as well.
    names = " ".join(f'"{key}"' for key in keys)
    omitted = f"an element that omits all key fields [{names}] (and doesn't have default values for any key fields)"
    return f"associative list with keys has {omitted}"


def _check_scalar(value: Any, wanted: str, place: _Place, errors: list[_Problem]) -> None:
    if wanted in ("integer", "number"):
        if value.__class__ not in (int, float):
            errors.append((f"{_spelled(place)}: expected numeric (int or float), got {_type(value)}", ""))
    elif wanted == "string":
        if not isinstance(value, str):
            errors.append((f"{_spelled(place)}: expected string, got ", _unstructured(value)))
    elif wanted == "boolean" and not isinstance(value, bool):
        errors.append((f"{_spelled(place)}: expected boolean, got ", f"&{{{_plain(value)}}}"))


def _type(value: Any) -> str:
    names = {bool: "bool", str: "string", dict: "map[string]interface {}", list: "[]interface {}"}
    return names[type(value)]


def _unstructured(value: Any) -> str:
    return f"&value.valueUnstructured{{Value:{_quoted(value)}}}"


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
