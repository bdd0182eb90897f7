"""Which fields an applied configuration speaks about: its leaves, its list items, and keys no schema declares."""

from operator import itemgetter
from typing import Any

from karmada.apiserver.managedfields import elements
from karmada.apiserver.managedfields.comparison import NEVER_OWNED
from karmada.apiserver.managedfields.fieldset import EMPTY, SELF, Fields
from karmada.apiserver.schema.model import Schema

JSONObject = dict[str, Any]


def owned_by(config: JSONObject, schema: Schema) -> Fields:
    """The fields a configuration claims, in order, apart from those nobody owns."""
    claimed: Fields = {}
    for key in sorted(config):
        value = config[key]
        if key == "metadata":
            below = _map({k: v for k, v in (value or {}).items() if k not in NEVER_OWNED}, elements.METADATA)
            if below:
                claimed["f:metadata"] = below
        elif key not in ("apiVersion", "kind"):
            _claim(claimed, key, value, *elements.child(schema, key))
    return claimed


def _map(value: JSONObject, schema: Schema) -> Fields:
    claimed: Fields = {}
    for key in sorted(value):
        inner = value[key]
        if isinstance(inner, elements.CONTAINER):
            _claim(claimed, key, inner, *elements.child(schema, key))
        else:
            claimed["f:" + key] = EMPTY
    return claimed


def _claim(claimed: Fields, key: str, value: Any, schema: Schema, declared: bool) -> None:
    if _is_leaf(value, schema):
        claimed["f:" + key] = EMPTY
        return
    below = _inside(value, schema)
    if not declared:
        claimed["f:" + key] = {SELF: EMPTY, **below} if below else EMPTY
    elif below:
        claimed["f:" + key] = below


def _is_leaf(value: Any, schema: Schema) -> bool:
    if isinstance(value, dict):
        return not value or not elements.piecewise_map(schema)
    return not isinstance(value, list) or not elements.piecewise_list(schema)


def _inside(value: Any, schema: Schema) -> Fields:
    """Claims below a map or list owned piecewise."""
    if isinstance(value, dict):
        return _map(value, schema)
    inner = schema.items or elements.ANY
    claimed: Fields = {}
    for element, item in sorted(elements.items(schema, value), key=itemgetter(0)):
        below = EMPTY if _is_leaf(item, inner) else _inside(item, inner)
        claimed[element] = {SELF: EMPTY, **below} if below else EMPTY
    return claimed
