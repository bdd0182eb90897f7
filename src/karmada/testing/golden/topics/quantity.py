"""Topic `quantity`: parsing, comparing and adding Kubernetes quantities."""

from collections.abc import Callable
from typing import Any

from karmada.api.go_text import format_float
from karmada.api.quantity import Quantity, QuantityError
from karmada.testing.golden.case import Failed, Operation, Topic

Outcome = dict[str, Any]


def _operation(evaluate: Callable[..., Outcome]) -> Operation:
    def call(given: dict[str, str]) -> Outcome:
        try:
            return evaluate(*(Quantity.parse(given[side]) for side in ("a", "b") if side in given))
        except QuantityError as error:
            raise Failed(error.reason) from error

    return call


def _parse(quantity: Quantity) -> Outcome:
    whole = quantity.as_int64()
    return {
        **_amount(quantity),
        "json": str(quantity),
        "isZero": not quantity,
        "sign": quantity.sign(),
        "approxFloat": format_float(quantity.approximate_float()),
        "asInt64Ok": whole is not None,
        "asInt64": whole,
    }


def _compare(left: Quantity, right: Quantity) -> Outcome:
    return {"cmp": left.compare(right), "equal": left == right}


def _amount(quantity: Quantity) -> Outcome:
    return {
        "string": str(quantity),
        "format": quantity.format.value,
        "value": quantity.value(),
        "milliValue": quantity.milli_value(),
    }


TOPIC = Topic(
    "quantity",
    {
        "quantity.Parse": _operation(_parse),
        "quantity.Compare": _operation(_compare),
        "quantity.Add": _operation(lambda left, right: _amount(left + right)),
        "quantity.Sub": _operation(lambda left, right: _amount(left - right)),
    },
)
