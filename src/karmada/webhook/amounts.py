"""What bindings ask for: amounts that can be read, and nothing below zero, which would count as room for others."""

from collections.abc import Iterator

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


def below_zero(spec: ResourceBindingSpec) -> list[FieldError]:
    """The replicas and amounts of a binding and its components that are negative."""
    counts = {"spec.replicas": spec.replicas}
    counts |= {f"spec.components[{index}].replicas": part.replicas for index, part in enumerate(spec.components)}
    found: list[tuple[str, int | str]] = [(field, count) for field, count in counts.items() if count < 0]
    found += [(field, amount) for field, amount in requested(spec) if _is_negative(amount)]
    return [invalid(field, value, "must not be negative") for field, value in found]


def requested(spec: ResourceBindingSpec) -> Iterator[tuple[str, int | str]]:
    """The amounts that replicas of a binding and of its components ask for, by field."""
    needs = [("spec", spec.replica_requirements)]
    parts = [(f"spec.components[{index}]", part.replica_requirements) for index, part in enumerate(spec.components)]
    for field, need in (*needs, *parts):
        for name, amount in need.resource_request.items() if need is not None else ():
            yield f"{field}.replicaRequirements.resourceRequest[{name}]", amount


def _is_negative(amount: int | str) -> bool:
    try:
        return Quantity.parse(amount).sign() < 0
    except QuantityError:
        return False
