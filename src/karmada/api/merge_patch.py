"""JSON merge patches (RFC 7386): applying one, and making one from two or three versions of an object.

Nothing here changes its arguments; results share unchanged parts with them.
"""

from typing import Any

import orjson

JSONObject = dict[str, Any]


def apply(document: Any, patch: Any) -> Any:
    """The document after the patch. Null removes a key; anything but an object replaces what was there."""
    if not isinstance(patch, dict):
        return patch
    result: JSONObject = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = apply(result.get(key), value)
        else:
            result[key] = value
    return result


def create(original: JSONObject, modified: JSONObject) -> JSONObject:
    """The smallest patch that turns one object into the other, which must hold no nulls (they cannot be expressed)."""
    patch: JSONObject = {key: None for key in original if key not in modified}
    for key, value in modified.items():
        if key not in original:
            patch[key] = value
            continue
        before = original[key]
        if value == before and _same_text(value, before):
            continue
        if type(value) is dict and type(before) is dict:
            changes = create(before, value)
            if changes:
                patch[key] = changes
        elif value != before or not same_json(value, before):
            patch[key] = value
    return patch


def _same_text(left: Any, right: Any) -> bool:
    """Whether two values are written the same: a quick yes; a no means that one has to look."""
    return type(left) is str or orjson.dumps(left) == orjson.dumps(right)


def create_three_way(original: JSONObject, modified: JSONObject, current: JSONObject) -> JSONObject:
    """The patch of a client-side apply: keys gone since `original` are removed, what differs from `current` is set.

    Keys that others added to `current` are left alone.
    """
    patch: JSONObject = {key: None for key in original if key not in modified}
    for key, value in modified.items():
        if key not in current:
            patch[key] = value
            continue
        live = current[key]
        if isinstance(value, dict) and isinstance(live, dict):
            before = original.get(key)
            changes = create_three_way(before if isinstance(before, dict) else {}, value, live)
            if changes:
                patch[key] = changes
        elif not same_json(value, live):
            patch[key] = value
    return patch


def same_json(left: Any, right: Any) -> bool:
    """Deep equality that, unlike Python's, distinguishes true from 1."""
    kind = type(left)
    if kind is str:
        return bool(left == right)
    if kind is dict:
        return (
            type(right) is dict
            and left.keys() == right.keys()
            and all(same_json(value, right[key]) for key, value in left.items())
        )
    if kind is list:
        return type(right) is list and len(left) == len(right) and all(map(same_json, left, right))
    return (kind is bool) == (type(right) is bool) and bool(left == right)
