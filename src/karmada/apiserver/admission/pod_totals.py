"""What a pod as a whole asks for: its containers together, and what the pod itself says instead."""

from collections.abc import Callable, Mapping
from typing import Any

from karmada.api.quantity import Quantity
from karmada.apiserver.resources import JSONObject

Amounts = dict[str, Quantity]


def amounts(values: Mapping[str, Any] | None) -> Amounts:
    """Amounts of resources by name."""
    return {name: Quantity.parse(str(value)) for name, value in (values or {}).items()}


def pod_total(spec: JSONObject, field: str, on_pods: Callable[[str], bool]) -> Amounts:
    """`requests` or `limits` of a pod; for resources that may be set on pods, what the pod says counts.

    Init containers run one after the other, those that are restarted beside all that come later.
    """
    total: Amounts = {}
    for container in spec.get("containers") or ():
        _add(total, _of(container, field))
    beside: Amounts = {}
    first: Amounts = {}
    for container in spec.get("initContainers") or ():
        own = _of(container, field)
        if container.get("restartPolicy") == "Always":
            _add(total, own)
            _add(beside, own)
            own = dict(beside)
        else:
            _add(own, beside)
        _raise(first, own)
    _raise(total, first)
    return total | {name: amount for name, amount in _of(spec, field).items() if on_pods(name)}


def _of(holder: JSONObject, field: str) -> Amounts:
    return amounts((holder.get("resources") or {}).get(field))


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _raise(total: Amounts, least: Amounts) -> None:
    for name, amount in least.items():
        if name not in total or total[name] < amount:
            total[name] = amount
