"""Paths to fields as validation rules name them: `.spec.size`, `['size']`, `.labels.a` for a key of a map."""

import re
from typing import Any

JSONObject = dict[str, Any]
_STEP = re.compile(r"\.('(?:[^'\\]|\\.)*'|[^.\[\]']+)|\['((?:[^'\\]|\\.)*)'\]", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def steps(path: str) -> list[str] | None:
    """The names on the way; None where the path cannot be read."""
    names: list[str] = []
    at = 0
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            return None
        names.append(found[1] if found[1] is not None else _ESCAPED.sub(r"\1", found[2]))
        at = found.end()
    return names


def leads_somewhere(schema: JSONObject, path: str) -> bool:
    """Whether a path names a field or a key that the schema declares."""
    names = steps(path)
    if not names:
        return False
    for name in names:
        found: Any = None
        if schema.get("properties"):
            found = schema["properties"].get(name)
        elif isinstance(schema.get("additionalProperties"), dict):
            found = schema["additionalProperties"]
        if found is None:
            return False
        schema = found
    return True
