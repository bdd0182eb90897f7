"""Amounts of resources as plain integers: thousandths for cpu, whole units rounded up for everything else."""

from collections.abc import Mapping
from functools import lru_cache

from karmada.api.quantity import Quantity

PODS = "pods"
UNLIMITED = 2**31 - 1
"""What estimators answer when nothing limits them; the largest number their wire format has."""
NO_OPINION = -1
"""What estimators answer when they do not know."""


@lru_cache(maxsize=16384)
def amount(resource: str, quantity: str | int) -> int:
    """An amount in the unit of its resource."""
    parsed = Quantity.parse(quantity)
    return parsed.milli_value() if resource == "cpu" else parsed.value()


def requested(request: Mapping[str, str | int]) -> Mapping[str, int]:
    """The amounts one replica asks for, without those it asks nothing of. Shared: not to be changed."""
    return _requested(tuple(request.items()))


@lru_cache(maxsize=4096)
def _requested(request: tuple[tuple[str, str | int], ...]) -> Mapping[str, int]:
    amounts = ((name, amount(name, quantity)) for name, quantity in sorted(request))
    return {name: number for name, number in amounts if number > 0}
