"""Which fields differ between two versions of an object.

Equal subtrees are skipped by one comparison in C, so the cost is that of the changed parts. A field that appears or
disappears counts with everything it holds; an empty map or list that stays counts as nothing.
"""

from operator import itemgetter
from typing import Any

import msgspec

from karmada.apiserver.managedfields import elements
from karmada.apiserver.managedfields.fieldset import EMPTY, SELF, Fields, without
from karmada.apiserver.schema.model import Schema

JSONObject = dict[str, Any]

NEVER_OWNED = frozenset(
    ("name", "namespace", "creationTimestamp", "resourceVersion", "uid", "generation", "selfLink", "managedFields")
)
"""Metadata nobody owns: it names the object or belongs to the server."""
_NAMING = frozenset(("apiVersion", "kind"))


class Comparison(msgspec.Struct, frozen=True):
    """Fields that are new or have another value, in order, and fields that are gone."""

    changed: Fields
    removed: Fields


_Change = tuple[Fields | None, Fields | None]
"""Changed and removed fields below an element; None for nothing, an empty tree for the element itself."""


def compare(
    old: JSONObject, new: JSONObject, schema: Schema, reset: Fields = EMPTY, applied: bool = False
) -> Comparison:
    """How two objects differ, apart from fields never owned and those below the members of `reset`.

    `applied` says that the new one holds an applied configuration, of which empty parts count as well.
    """
    changed: Fields = {}
    removed: Fields = {}
    skip = {element[2:] for element, below in reset.items() if not below} | _NAMING if reset else _NAMING
    for key, value in new.items():
        if key in skip:
            continue
        if key == "metadata":
            _record("f:metadata", _differ_metadata(old.get(key) or {}, value or {}, applied), changed, removed)
        elif key not in old:
            changed["f:" + key] = everything(value, elements.child(schema, key)[0])
        elif (before := old[key]) is not value and before != value:
            _record("f:" + key, _differ(before, value, elements.child(schema, key)[0]), changed, removed)
    for key in old:
        if key not in new and key != "metadata" and key not in skip:
            removed["f:" + key] = everything(old[key], elements.child(schema, key)[0])
    if reset and any(reset.values()) and (changed or removed):
        return Comparison(without(_in_order(changed), reset), without(removed, reset))
    return Comparison(_in_order(changed), removed)


def everything(value: Any, schema: Schema) -> Fields:
    """An element with all fields it holds, as a subtree in order."""
    below: Fields = {SELF: EMPTY}
    if value.__class__ is dict:
        if not value or not elements.piecewise_map(schema):
            return EMPTY
        properties = schema.properties or EMPTY
        other = schema.additional or elements.ANY
        for key in sorted(value):
            inner = value[key]
            if inner and inner.__class__ in elements.CONTAINER:
                below["f:" + key] = everything(inner, properties.get(key, other))
            else:
                below["f:" + key] = EMPTY
        return below
    if value.__class__ is not list or not value or schema.list_type == "atomic":
        return EMPTY
    item_schema = schema.items or elements.ANY
    for element, item in sorted(elements.items(schema, value), key=itemgetter(0)):
        below[element] = everything(item, item_schema)
    return below


def _differ_metadata(old: JSONObject, new: JSONObject, applied: bool) -> _Change:
    """The difference in what can be owned of metadata; empty parts of it are as good as absent unless applied."""
    changed: Fields = {}
    removed: Fields = {}
    for key in new if old.keys() <= new.keys() else {**new, **old}:
        if key in NEVER_OWNED:
            continue
        before, after = old.get(key), new.get(key)
        if applied and key not in old and (after is None or after == {}):
            changed["f:" + key] = EMPTY
            continue
        if before is after or before == after or not (before or after):
            continue
        schema = elements.child(elements.METADATA, key)[0]
        if not before:
            changed["f:" + key] = everything(after, schema)
        elif not after and not (applied and key in new):
            removed["f:" + key] = everything(before, schema)
        else:
            _record("f:" + key, _differ(before, after, schema), changed, removed)
    return _in_order(changed) or None, removed or None


def _in_order(fields: Fields) -> Fields:
    """The elements of one level in order; what is below them is."""
    return {element: fields[element] for element in sorted(fields)} if len(fields) > 1 else fields


def _record(element: str, change: _Change, changed: Fields, removed: Fields) -> None:
    if change[0] is not None:
        changed[element] = change[0]
    if change[1] is not None:
        removed[element] = change[1]


def _differ(old: Any, new: Any, schema: Schema) -> _Change:
    """The difference of two unequal values."""
    kind: type = (old if new is None else new).__class__
    if kind not in elements.CONTAINER:
        if old.__class__ not in elements.CONTAINER:
            return EMPTY, None
    elif (old or new) and (old is None or old.__class__ is kind):  # null beside a container is an empty one
        before: Any = old or kind()
        after: Any = new or kind()
        if kind is dict:
            return _differ_map(before, after, schema) if elements.piecewise_map(schema) else (EMPTY, None)
        return _differ_list(before, after, schema) if elements.piecewise_list(schema) else (EMPTY, None)
    inside = everything(old, schema)
    return EMPTY, {e: tree for e, tree in inside.items() if e != SELF} or None


def _differ_map(old: JSONObject, new: JSONObject, schema: Schema) -> _Change:
    changed: Fields = {}
    removed: Fields = {}
    properties = schema.properties or EMPTY
    other = schema.additional or elements.ANY
    for key, value in new.items():
        if key not in old:
            changed["f:" + key] = everything(value, properties.get(key, other))
        elif old[key] != value:
            _record("f:" + key, _differ(old[key], value, properties.get(key, other)), changed, removed)
    for key in old:
        if key not in new:
            removed["f:" + key] = everything(old[key], properties.get(key, other))
    return _in_order(changed) or None, removed or None


def _differ_list(old: list[Any], new: list[Any], schema: Schema) -> _Change:
    changed: Fields = {}
    removed: Fields = {}
    inner = schema.items or elements.ANY
    before = dict(elements.items(schema, old))
    after = dict(elements.items(schema, new))
    for element, value in after.items():
        if element not in before:
            changed[element] = everything(value, inner)
        elif before[element] != value:
            _record(element, _differ(before[element], value, inner), changed, removed)
    for element, value in before.items():
        if element not in after:
            removed[element] = everything(value, inner)
    return _in_order(changed) or None, removed or None
