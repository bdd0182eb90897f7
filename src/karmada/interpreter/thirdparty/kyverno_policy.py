"""Kyverno ClusterPolicy and Policy."""

from collections.abc import Sequence

from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.thirdparty import flux
from karmada.interpreter.thirdparty.statuses import (
    latest,
    prefixed_conditions,
    present,
    reflect_fields,
    reported,
    with_status,
)
from karmada.interpreter.thirdparty.tables import at, find, number

_RULES = ("validate", "generate", "mutate", "verifyimages")
_has_succeeded = flux.is_ready("Succeeded")


def is_healthy(observed: JSONObject) -> bool:
    ready = find(observed, "status", "ready")
    return bool(ready) if ready is not None else _has_succeeded(observed)


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    found = reported(items)
    counts = [status["rulecount"] for status in found if status.get("rulecount") is not None]
    status = present(
        ready=latest(found, "ready"),
        rulecount={rule: sum(number(at(count, rule), rule) for count in counts) for rule in _RULES},
        conditions=prefixed_conditions(items),
        autogen=latest(found, "autogen"),
    )
    return with_status(template, status)


RULES = KindRules(
    reflect=reflect_fields("autogen", "conditions", "ready", "rulecount"),
    aggregate=aggregate,
    health=is_healthy,
)
