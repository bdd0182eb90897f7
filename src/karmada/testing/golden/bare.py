"""Objects as they mean, not as Go's encoder spells them: what it leaves out or fills in is left out, amounts canonical.

The reference reads some objects into Go types before it writes them, which fills in empty structs and respells amounts.
"""

from typing import Any

from karmada.api.base import Struct
from karmada.api.codec import from_tree, to_tree
from karmada.api.quantity import Quantity, QuantityError

JSONObject = dict[str, Any]

AMOUNTS = ("requests", "limits", "overhead", "capacity", "resourceRequest")
"""Fields whose values are amounts by name."""
_TARGETS = ("value", "averageValue")
"""Amounts in the target of a metric."""


_FILLED_IN = frozenset(("resources", "strategy", "updateStrategy", "status", "metadata"))
"""Structs that Go writes as `{}` where they were absent. An empty object anywhere else says something: an `emptyDir`
that is there, a rule that allows everything."""


def bare(value: Any) -> Any:
    """The value without nulls, empty lists and structs that Go fills in, amounts spelled canonically."""
    if isinstance(value, list):
        return [bare(each) for each in value]
    if not isinstance(value, dict):
        return value
    parts = {key: _amounts(part) if key in AMOUNTS else bare(part) for key, part in value.items()}
    return {key: part for key, part in parts.items() if part not in (None, []) and not _is_filled_in(key, part)}


def _is_filled_in(key: str, part: Any) -> bool:
    return part == {} and (key in _FILLED_IN or key in AMOUNTS)


def without_empty(value: Any) -> Any:
    """The value without any empty part, for what went through an engine in which empty tables have no shape."""
    if isinstance(value, list):
        return [entry for each in value if (entry := without_empty(each)) not in ({}, [])]
    if not isinstance(value, dict):
        return value
    parts = {key: _amounts(part) if key in AMOUNTS else without_empty(part) for key, part in value.items()}
    return {key: part for key, part in parts.items() if part is not None and part not in ({}, [])}


def as_written_by_go(tree: JSONObject, type_: type[Struct]) -> JSONObject:
    """An object of a kind read and written again: unknown fields and zero values gone, amounts spelled canonically.

    Whatever a field may lack by its type, both sides then lack; what differs beyond that is a difference.
    """
    respelled: JSONObject = _respelled(to_tree(from_tree(tree, type_, complete=True)))
    return respelled


def _respelled(value: Any) -> Any:
    if isinstance(value, list):
        return [_respelled(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: _respelled_part(key, part) for key, part in value.items()}


def _respelled_part(key: str, part: Any) -> Any:
    if key in AMOUNTS:
        return _amounts(part) or None
    if key == "target" and isinstance(part, dict):
        return {name: _canonical(each) if name in _TARGETS else each for name, each in part.items()}
    return _respelled(part)


def _amounts(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: _canonical(amount) for name, amount in value.items()}


def _canonical(amount: Any) -> Any:
    try:
        return str(Quantity.parse(amount))
    except (QuantityError, TypeError):
        return amount
