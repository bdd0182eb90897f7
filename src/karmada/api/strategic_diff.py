"""Makes strategic merge patches: what a client sends when it edits or applies an object.

`create(original, modified)` is the difference of two versions. `create_three_way` is client-side apply: what was in
the last applied version and is no longer wanted is removed, what differs from the live object is set, the rest is left
alone. Applying a patch made here to `current` yields every field of `modified`.
"""

from typing import Any

from karmada.api.merge_patch import same_json
from karmada.api.strategic_merge import (
    DELETE_SCALARS,
    PATCH,
    RETAIN_KEYS,
    SET_ORDER,
    JSONObject,
    MergeSchema,
    identity,
    is_merged,
)


def create(original: JSONObject, modified: JSONObject, schema: MergeSchema | None) -> JSONObject:
    """The patch that turns one version into the other."""
    return create_three_way(original, modified, original, schema)


def create_three_way(
    original: JSONObject, modified: JSONObject, current: JSONObject, schema: MergeSchema | None
) -> JSONObject:
    """The patch of a client-side apply; `original` is the last applied configuration, empty if there was none."""
    patch: JSONObject = {key: None for key in original if key not in modified}
    for key, value in modified.items():
        if key not in current:
            patch[key] = value
            continue
        live, before = current[key], original.get(key)
        field = schema.field(key) if schema else None
        if isinstance(value, dict) and isinstance(live, dict) and not _is_replaced(field):
            changes = create_three_way(before if isinstance(before, dict) else {}, value, live, field)
            _retain_keys(changes, value, (before, live), field)
            if changes:
                patch[key] = changes
        elif isinstance(value, list) and isinstance(live, list) and field is not None and is_merged(field):
            patch.update(_list_changes(key, before if isinstance(before, list) else [], value, live, field))
        elif not same_json(value, live):
            patch[key] = value
    return patch


def _is_replaced(schema: MergeSchema | None) -> bool:
    return schema is not None and "replace" in schema.merge_strategies


def _retain_keys(changes: JSONObject, value: JSONObject, others: tuple[Any, ...], schema: MergeSchema | None) -> None:
    """Where only one of several fields may be set, name the ones to keep."""
    if schema is None or "retainKeys" not in schema.merge_strategies:
        return
    keys = sorted(key for key, item in value.items() if item is not None)
    surplus = any(
        item is not None and key not in value
        for other in others
        if isinstance(other, dict)
        for key, item in other.items()
    )
    if keys and (changes or surplus):
        changes[RETAIN_KEYS] = keys


def _list_changes(key: str, before: list[Any], value: list[Any], live: list[Any], schema: MergeSchema) -> JSONObject:
    if schema.merge_key and any(isinstance(item, dict) for item in before + value + live):
        return _object_list_changes(key, before, value, live, schema)
    additions = [item for item in value if item not in live]
    removals = list(dict.fromkeys(item for item in before if item not in value))
    patch: JSONObject = {}
    if additions:
        patch[key] = additions
    if removals:
        patch[DELETE_SCALARS + key] = removals
    if value and (removals or (live and not same_json(value, live))):
        patch[SET_ORDER + key] = value
    return patch


def _object_list_changes(
    key: str, before: list[Any], value: list[Any], live: list[Any], schema: MergeSchema
) -> JSONObject:
    merge_key = schema.merge_key
    wanted = [identity(item, merge_key) for item in value]
    existing = [identity(item, merge_key) for item in live]
    applied = [identity(item, merge_key) for item in before]
    changes: list[JSONObject] = []
    for item, name in zip(value, wanted, strict=True):
        if name not in existing:
            changes.append(item)
            continue
        previous = before[applied.index(name)] if name in applied else {}
        actual = live[existing.index(name)]
        difference = create_three_way(previous, item, actual, schema.element())
        _retain_keys(difference, item, (previous, actual), schema)
        if difference:
            changes.append({**difference, merge_key: name})
    removals = [{PATCH: "delete", merge_key: name} for name in dict.fromkeys(applied) if name not in wanted]
    patch: JSONObject = {}
    if changes or removals:
        patch[key] = changes + removals
    if wanted and (removals or (live and (changes or existing != wanted))):
        patch[SET_ORDER + key] = [{merge_key: name} for name in wanted]
    return patch
