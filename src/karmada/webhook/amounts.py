"""What bindings ask for: amounts that can be read, and nothing below zero, which would count as room for others."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from karmada.api.field_errors import FieldError, invalid
from karmada.api.quantity import Quantity, QuantityError
from karmada.api.work.v1alpha2 import ResourceBindingSpec
from karmada.webhook.model import Denied


def require_amounts(spec: ResourceBindingSpec) -> None:
    """Refuse a binding with an amount that nobody can read."""
    try:
        for _, amount in requested(spec):
            Quantity.parse(amount)
    except QuantityError as error:
        raise Denied(str(error), code=400, reason="") from error


def below_zero(spec: ResourceBindingSpec, before: ResourceBindingSpec | None = None) -> list[FieldError]:
    """The replicas and amounts of a binding and its components that are negative and, if there was one before, lower
    than they were in it."""
    known = {amount.key: amount.parsed for amount in _negative(before)} if before is not None else {}
    return [
        invalid(amount.field, amount.value, "must not be negative")
        for amount in _negative(spec)
        if amount.key not in known or amount.parsed < known[amount.key]
    ]


def requested(spec: ResourceBindingSpec) -> Iterator[tuple[str, int | str]]:
    """The amounts that replicas of a binding and of its components ask for, by field."""
    for part in _parts(spec):
        for name, amount in part.requested.items():
            yield part.amount_field(name), amount


class _Part(NamedTuple):
    """A binding itself, or one of its components."""

    key: tuple[str, int] | None
    """The name of the component, and how many before it have the same: components may move, and lack names."""
    field: str
    replicas: int
    requested: Mapping[str, int | str]

    def amount_field(self, name: str) -> str:
        return f"{self.field}.replicaRequirements.resourceRequest[{name}]"


class _Amount(NamedTuple):
    key: tuple[tuple[str, int] | None, str | None]
    """The part and the resource, None for its replicas."""
    field: str
    value: int | str
    parsed: Quantity


def _parts(spec: ResourceBindingSpec) -> Iterator[_Part]:
    need = spec.replica_requirements
    yield _Part(None, "spec", spec.replicas, need.resource_request if need is not None else {})
    names: Counter[str] = Counter()
    for index, component in enumerate(spec.components):
        needed = component.replica_requirements
        key = component.name, names[component.name]
        names[component.name] += 1
        amounts = needed.resource_request if needed is not None else {}
        yield _Part(key, f"spec.components[{index}]", component.replicas, amounts)


def _negative(spec: ResourceBindingSpec) -> list[_Amount]:
    parts = list(_parts(spec))
    found = [
        _Amount((part.key, None), f"{part.field}.replicas", part.replicas, Quantity(part.replicas)) for part in parts
    ]
    for part in parts:
        for name, amount in part.requested.items():
            with suppress(QuantityError):
                found.append(_Amount((part.key, name), part.amount_field(name), amount, Quantity.parse(amount)))
    return [amount for amount in found if amount.parsed.sign() < 0]
