"""Merging an applied configuration into the live object, and taking out what its manager no longer applies.

Both return trees that share unchanged parts with the live object: the caller copies before it changes anything.
"""

from typing import Any

from karmada.apiserver.managedfields import elements
from karmada.apiserver.managedfields.fieldset import EMPTY, SELF, Fields, is_member
from karmada.apiserver.schema.model import Schema

JSONObject = dict[str, Any]

_CONTAINERS = frozenset(elements.CONTAINER)


def merge(live: JSONObject, config: JSONObject, schema: Schema) -> JSONObject:
    """The live object with the configuration's values; what the configuration does not mention stays."""
    result = dict(live)
    for key, value in config.items():
        if key == "metadata":
            result[key] = _merge(live.get(key), value, elements.METADATA)
        elif key in live:
            result[key] = _merge(live[key], value, elements.child(schema, key)[0])
        else:
            result[key] = value
    return result


def _merge(live: Any, value: Any, schema: Schema) -> Any:
    if live == value and type(live) is type(value) and not (schema.preserve_unknown and type(value) in _CONTAINERS):
        return live
    if isinstance(live, dict) and live and (isinstance(value, dict) or value is None):
        return _merge_map(live, value or {}, schema) if elements.piecewise_map(schema) else value
    if isinstance(live, list) and live and (isinstance(value, list) or value is None):
        return _merge_list(live, value or [], schema) if elements.piecewise_list(schema) else value
    return value


def _merge_map(live: JSONObject, config: JSONObject, schema: Schema) -> JSONObject:
    result: JSONObject | None = None
    properties = schema.properties or EMPTY
    other = schema.additional or elements.ANY
    for key, value in config.items():
        merged = _merge(live[key], value, properties.get(key, other)) if key in live else value
        if key in live and merged is live[key]:
            continue
        if result is None:
            result = dict(live)
        result[key] = merged
    return live if result is None else result


def _merge_list(live: list[Any], config: list[Any], schema: Schema) -> list[Any]:
    """Applied items come in the order applied; items only the live list has keep their place among them."""
    inner = schema.items or elements.ANY
    ours = list(elements.items(schema, live))
    theirs = list(elements.items(schema, config))
    existing = dict(ours)
    applied = {element for element, _ in theirs}
    shared = [element for element, _ in theirs if element in existing]
    result: list[Any] = []
    taken = 0
    shared_taken = 0

    def take() -> str:
        nonlocal taken, shared_taken
        element, value = theirs[taken]
        taken += 1
        if element in existing:
            value = _merge(existing[element], value, inner)
            shared_taken += 1
        result.append(value)
        return element

    for element, value in ours:
        if element not in applied:
            result.append(value)
        elif shared_taken < len(shared) and shared[shared_taken] == element:
            while take() != element:
                pass
    while taken < len(theirs):
        take()
    same = len(result) == len(live) and all(new is old for new, old in zip(result, live, strict=True))
    return live if same else result


def retyped(live: Any, merged: Any) -> bool:
    """Whether a number became a boolean or the reverse, which equality does not show; only untyped fields can."""
    if live is merged:
        return False
    if isinstance(live, dict) and isinstance(merged, dict):
        return any(retyped(live[key], value) for key, value in merged.items() if key in live)
    if isinstance(live, list) and isinstance(merged, list):
        return any(map(retyped, live, merged))
    return isinstance(live, bool) is not isinstance(merged, bool)


def prune(merged: JSONObject, last: Fields, owned: Fields, schema: Schema) -> JSONObject:
    """The merged object without what was applied last time and is now owned by no one.

    What loses everything it held is null in objects of built-in kinds, as if nobody had given it: be it owned or not.
    """
    result = dict(merged)
    typed = schema.wire is not None
    for element, before in last.items():
        key = element[2:]
        if key not in merged:
            continue
        inner, declared = elements.root_child(schema, key)
        now = owned.get(element)
        if key == "metadata":
            result[key] = _prune(merged[key], before, now or EMPTY, inner, True)
        elif _abandoned(before, now, declared):
            del result[key]
        elif before:
            _put(result, key, _prune(merged[key], before, now or EMPTY, inner, typed), now, typed)
    return result


def _abandoned(before: Fields, now: Fields | None, declared: bool) -> bool:
    """Whether a field was owned and no longer is; a declared field is owned with anything in it."""
    if not declared and not is_member(before):
        return False
    return now is None or not (declared or is_member(now))


def _put(target: JSONObject, key: str, value: Any, now: Fields | None, typed: bool) -> None:
    """Set a pruned value; a container of a custom object that lost everything goes, unless someone owns it as such."""
    if not value and target[key] and typed:
        target[key] = None
    elif not value and target[key] and (now is None or not is_member(now)):
        del target[key]
    else:
        target[key] = value


def _prune(value: Any, last: Fields, owned: Fields, schema: Schema, typed: bool) -> Any:
    if isinstance(value, dict):
        result = dict(value)
        for element, before in last.items():
            key = element[2:]
            if element == SELF or key not in value:
                continue
            inner, declared = elements.child(schema, key)
            now = owned.get(element)
            if _abandoned(before, now, declared):
                del result[key]
            elif before:
                _put(result, key, _prune(value[key], before, now or EMPTY, inner, typed), now, typed)
        return value if result == value else result
    if isinstance(value, list) and elements.piecewise_list(schema):
        inner = schema.items or elements.ANY
        kept: list[Any] = []
        for element, item in elements.items(schema, value):
            was = last.get(element)
            if was is not None and _abandoned(was, owned.get(element), declared=False):
                continue
            kept.append(_prune(item, was, owned.get(element) or EMPTY, inner, typed) if was else item)
        return value if kept == value else kept
    return value
