"""Objects as they mean, not as Go's encoder spells them: empty parts left out, amounts in canonical form.

The reference reads some objects into Go types before it writes them, which fills in empty structs and respells amounts.
"""

from typing import Any

from karmada.api.quantity import Quantity, QuantityError

_AMOUNTS = ("requests", "limits", "overhead", "capacity")


def bare(value: Any) -> Any:
    """The value without empty parts, amounts spelled canonically."""
    if isinstance(value, list):
        return [entry for each in value if (entry := bare(each)) not in ({}, [])]
    if not isinstance(value, dict):
        return value
    parts = {key: _amounts(part) if key in _AMOUNTS else bare(part) for key, part in value.items()}
    return {key: part for key, part in parts.items() if part is not None and part not in ({}, [])}


def _amounts(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: _canonical(amount) for name, amount in value.items()}


def _canonical(amount: Any) -> Any:
    try:
        return str(Quantity.parse(amount))
    except (QuantityError, TypeError):
        return amount
