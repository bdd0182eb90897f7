"""Kyverno: ClusterPolicy and Policy, which have the same rules."""

from typing import Any

from karmada.interpreter.model import InterpretError, JSONObject, KindRules
from karmada.interpreter.thirdparty import merge, rules
from karmada.interpreter.thirdparty.merge import Reports, aggregation, last
from karmada.interpreter.thirdparty.values import find, get, number

_SORTS = ("validate", "generate", "mutate", "verifyimages")
_ready = rules.ready("Succeeded")


def _rule_counts(reports: Reports, field: str) -> Any:
    """A cluster that counts its rules counts all sorts of them."""
    return {sort: sum(number(get(value, sort)) for value in reports.values(field)) for sort in _SORTS}


def _is_healthy(observed: JSONObject) -> bool:
    ready = find(observed, "status", "ready")
    if ready is None:
        return _ready(observed)
    if not isinstance(ready, bool):
        raise InterpretError(f"status.ready is {ready!r}")
    return ready


POLICY = KindRules(
    reflect=rules.reflect("ready", "conditions", "autogen", "rulecount"),
    aggregate=aggregation(
        {"autogen": last(), "ready": last(), "rulecount": _rule_counts, "conditions": merge.named_conditions},
        fresh=True,
    ),
    health=_is_healthy,
)
