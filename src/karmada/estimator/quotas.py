"""How many replicas the ResourceQuotas of a namespace still allow.

A quota counts when it has no scopes, or when all its scopes are about priority classes and match the replica's. Of a
quota, requests of cpu, memory, ephemeral storage and extended resources count; a resource it does not name is free.
What is assumed to be on its way is taken off first; a quota that this exceeds allows nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from karmada.api.native import ResourceQuota, ScopeRequirement
from karmada.api.quantity import Quantity, QuantityError
from karmada.scheduler.core.amounts import UNLIMITED

_NATIVE = ("cpu", "memory", "ephemeral-storage")
_REQUESTS = "requests."


class Assumed(NamedTuple):
    """What pods on their way will take together."""

    priority_class: str
    amounts: Mapping[str, int]


def allowed(
    quotas: Iterable[ResourceQuota], needs: Mapping[str, int], priority_class: str, assumed: Sequence[Assumed] = ()
) -> int:
    """How often the needs fit into what is left of all quotas that count; negative where too much is used."""
    rooms = (room(quota, needs, assumed) for quota in quotas if counts(quota, priority_class))
    return min(rooms, default=UNLIMITED)


def room(quota: ResourceQuota, needs: Mapping[str, int], assumed: Sequence[Assumed] = ()) -> int:
    """How often the needs fit into what is left of a quota that counts."""
    left = _left(quota)
    for one in assumed:
        if counts(quota, one.priority_class):
            for resource in left.keys() & one.amounts.keys():
                left[resource] -= one.amounts[resource]
                if left[resource] < 0:
                    return 0
    least = UNLIMITED
    for resource, free in left.items():
        number = needs.get(resource, 0)
        if number > 0:
            least = min(least, free // number if free >= 0 else -(-free // number))
    return least


def counts(quota: ResourceQuota, priority_class: str) -> bool:
    """Whether a quota is about pods of a priority class."""
    scopes = [ScopeRequirement(scope_name=scope, operator="Exists") for scope in quota.spec.scopes]
    if quota.spec.scope_selector is not None:
        scopes += quota.spec.scope_selector.match_expressions
    return all(_matches(scope, priority_class) for scope in scopes)


def _matches(scope: ScopeRequirement, priority_class: str) -> bool:
    if scope.scope_name != "PriorityClass":
        return False
    match scope.operator:
        case "Exists":
            return bool(priority_class)
        case "DoesNotExist":
            return not priority_class
        case "In":
            return priority_class in scope.values
        case "NotIn":
            return priority_class not in scope.values
    return False


def _left(quota: ResourceQuota) -> dict[str, int]:
    found: dict[str, int] = {}
    for key, hard in quota.status.hard.items():
        resource = key.removeprefix(_REQUESTS)
        if resource not in _NATIVE and not (key.startswith(_REQUESTS) and "/" in resource):
            continue
        try:
            left = Quantity.parse(hard)
            if key in quota.status.used:
                left = left - Quantity.parse(quota.status.used[key])
        except QuantityError:
            continue
        number = left.milli_value() if resource == "cpu" else left.value()
        found[resource] = min(found.get(resource, number), number)
    return found
