"""fieldOverrider: JSON patch operations on a JSON or YAML document that is the text of a field.

Errors say where, never what the field holds: they end in events, and the field may be a Secret's.
"""

from collections.abc import Iterable
from sys import getsizeof
from typing import Any

from karmada.api import yaml
from karmada.api.caching import weighed_cache
from karmada.api.codec import decode, encode
from karmada.api.policy.v1alpha1 import FieldOverrider, FieldPatchOperation
from karmada.overrides import json_text
from karmada.overrides.effort import DOCUMENT, Effort
from karmada.overrides.errors import OverrideError
from karmada.overrides.plaintext import operation, patch
from karmada.overrides.pods import JSONObject

MOST_KEPT = 16 * 1024 * 1024
"""Bytes of documents, as they were and as they became, and of overriders, that are remembered together."""
_ENTRY = 400
"""Bytes that remembering one takes beside them."""


def override_documents(resource: JSONObject, overriders: Iterable[FieldOverrider], effort: Effort) -> None:
    """Change the embedded documents one after another."""
    for overrider in overriders:
        holder, key = _find(resource, overrider.field_path)
        text = holder[key]
        if not isinstance(text, str):
            raise OverrideError(f"Get object's value by overrider's path({overrider.field_path}) is not string")
        effort.spend(DOCUMENT * len(text))
        holder[key] = _changed_once(text, encode(overrider))


def weigh(made: str, text: str, overrider: bytes) -> int:
    """About as many bytes as it takes to remember what became of a document."""
    return _ENTRY + getsizeof(made) + getsizeof(text) + getsizeof(overrider)


@weighed_cache(MOST_KEPT, weigh)
def _changed_once(text: str, overrider: bytes) -> str:
    """The copies of most clusters hold the same document, and have the same done to it."""
    return _changed(text, decode(overrider, FieldOverrider))


def _changed(text: str, overrider: FieldOverrider) -> str:
    if overrider.yaml:
        return yaml.dump(_patched(_parsed(yaml.load, text), overrider.yaml))
    if overrider.json and text:  # In no JSON at all there is nothing to change.
        return json_text.write(_patched(_parsed(json_text.parse, text), overrider.json))
    return ""


def _parsed(parse: Any, text: str) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        line = getattr(error, "line", 0) or getattr(error, "lineno", 0)
        where = f": line {line} cannot be read" if line else ""
        raise OverrideError(f"the field does not hold the document it is said to hold{where}") from error


def _patched(document: Any, changes: Iterable[FieldPatchOperation]) -> Any:
    if not isinstance(document, dict | list):
        raise OverrideError("the field holds a single value: only objects and lists can be patched")
    steps = [operation(change.operator, change.sub_path, change) for change in changes]
    if any(_makes_a_single_value(step) for step in steps):
        raise OverrideError("a document can only be replaced by an object or a list")
    return patch(document, steps, Effort())


def _makes_a_single_value(step: JSONObject) -> bool:
    if step["path"] or "value" not in step:
        return False
    # Null may replace a document: the field is emptied that way.
    return not isinstance(step["value"], dict | list) and (step["value"] is not None or step["op"] != "replace")


def _find(resource: JSONObject, pointer: str) -> tuple[Any, Any]:
    """The container and key a JSON pointer (RFC 6901) leads to."""
    if not pointer.startswith("/"):
        raise OverrideError('JSON pointer must be empty or start with a "/"\nJSON pointer error')
    holder: Any = None
    key: Any = None
    node: Any = resource
    for step in pointer[1:].split("/"):
        holder, key = node, step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, list):
            if not key.isdecimal() or int(key) >= len(node):
                raise OverrideError(f'index out of bounds or no number "{key}": JSON pointer error')
            key = int(key)
        elif not isinstance(node, dict) or key not in node:
            raise OverrideError(f'object has no key "{key}": JSON pointer error')
        node = node[key]
    return holder, key
