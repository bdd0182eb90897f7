"""Objects as they may be shown: what Secrets hold is replaced, wherever a Secret is.

A Secret may be the object itself, an item of a list, a manifest in a Work, or the text of an annotation in which
somebody keeps an object (`last-applied-configuration`, and whatever else parses as one).
"""

from typing import Any

import orjson

REDACTED = "<redacted>"
_FIELDS = ("data", "stringData")
_DEPTH = 60
"""Levels that are looked at; what is deeper is not shown."""


def redacted(value: Any, depth: int = 0) -> Any:
    """A copy without the contents of Secrets."""
    if depth > _DEPTH:
        return REDACTED
    if isinstance(value, dict):
        secret = _is_secret(value)
        if value.get("kind") == "SecretList" and isinstance(value.get("items"), list):
            # Items of a list may leave out what they are.
            items = [{"kind": "Secret", **item} if isinstance(item, dict) else item for item in value["items"]]
            value = {**value, "items": items}
        return {
            key: _hidden(part) if secret and key in _FIELDS else redacted(part, depth + 1)
            for key, part in value.items()
        }
    if isinstance(value, list):
        return [redacted(part, depth + 1) for part in value]
    return _text(value, depth) if isinstance(value, str) else value


def _is_secret(value: dict[str, Any]) -> bool:
    """Whether a mapping is a Secret; one without a version, as in lists, counts too."""
    return value.get("kind") == "Secret" and value.get("apiVersion", "v1") in ("v1", "", None)


def _hidden(part: Any) -> Any:
    return dict.fromkeys(part, REDACTED) if isinstance(part, dict) else REDACTED


def _text(text: str, depth: int) -> str:
    """A text in which somebody may keep an object."""
    if "Secret" not in text:
        return text
    try:
        held = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text if not _looks_like_secret(text) else REDACTED
    if not isinstance(held, (dict, list)):
        return text
    cleaned = redacted(held, depth + 1)
    return text if cleaned == held else orjson.dumps(cleaned).decode()


def _looks_like_secret(text: str) -> bool:
    """Whether a text that cannot be parsed names the kind and a field that holds its contents."""
    return "kind" in text and any(field in text for field in _FIELDS)
