"""Objects as they mean, not as Go's encoder spells them: empty parts left out, amounts in canonical form.

The reference reads some objects into Go types before it writes them, which fills in empty structs and respells amounts.
"""

from typing import Any

from karmada.api.base import Struct
from karmada.api.codec import from_tree, to_tree
from karmada.api.quantity import Quantity, QuantityError

JSONObject = dict[str, Any]

_AMOUNTS = ("requests", "limits", "overhead", "capacity", "resourceRequest")


def bare(value: Any) -> Any:
    """The value without empty parts, amounts spelled canonically."""
    if isinstance(value, list):
        return [entry for each in value if (entry := bare(each)) not in ({}, [])]
    if not isinstance(value, dict):
        return value
    parts = {key: _amounts(part) if key in _AMOUNTS else bare(part) for key, part in value.items()}
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
    return {key: _amounts(part) or None if key in _AMOUNTS else _respelled(part) for key, part in value.items()}


def _amounts(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: _canonical(amount) for name, amount in value.items()}


def _canonical(amount: Any) -> Any:
    try:
        return str(Quantity.parse(amount))
    except (QuantityError, TypeError):
        return amount
