"""Rules of what the scale subresource of a custom kind reads: replicas that fit, a selector that is a text."""

from typing import Any

from karmada.api.field_errors import FieldError, invalid
from karmada.api.go_text import format_value, type_name
from karmada.apiserver.resources import JSONObject, ScalePaths

_MOST = 2**31 - 1


def spec_errors(scale: ScalePaths | None, obj: JSONObject) -> list[FieldError]:
    """What is wrong with the replicas that are wanted."""
    return _replicas(obj, scale.spec) if scale is not None else []


def status_errors(scale: ScalePaths | None, obj: JSONObject) -> list[FieldError]:
    """What is wrong with the replicas that there are, and with the selector of their pods."""
    if scale is None:
        return []
    errors = _replicas(obj, scale.status)
    if scale.selector:
        found, problem = _at(obj, scale.selector)
        if not problem and found is not _ABSENT and not isinstance(found, str):
            problem = _mistyped(scale.selector, found, "string")
        errors += [invalid(scale.selector, "", problem)] if problem else []
    return errors


def _replicas(obj: JSONObject, path: str) -> list[FieldError]:
    found, problem = _at(obj, path)
    if not problem and found is not _ABSENT and (not isinstance(found, int) or isinstance(found, bool)):
        problem = _mistyped(path, found, "int64")
    if problem:
        return [invalid(path, 0, problem)]
    if found is _ABSENT or 0 <= found <= _MOST:
        return []
    text = "should be a non-negative integer" if found < 0 else f"should be less than or equal to {_MOST}"
    return [invalid(path, found, text)]


_ABSENT: Any = object()


def _at(obj: Any, path: str) -> tuple[Any, str]:
    """The value at a path, and why there can be none."""
    done = ""
    for part in path.strip(".").split("."):
        if not isinstance(obj, dict):
            return _ABSENT, _mistyped(done, obj, "map[string]interface{}")
        if part not in obj:
            return _ABSENT, ""
        obj, done = obj[part], f"{done}.{part}"
    return obj, ""


def _mistyped(path: str, value: Any, wanted: str) -> str:
    kind = "<nil>" if value is None else type_name(value)
    return f"{path} accessor error: {format_value(value)} is of the type {kind}, expected {wanted}"
