"""Rules of PodDisruptionBudgets."""

from karmada.api.field_errors import invalid
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    at_most_all,
    count_or_percent,
    one_of,
    selector,
    strategy,
)
from karmada.apiserver.builtin.strategies.conditions import conditions
from karmada.apiserver.builtin.strategies.statuses import BUDGET
from karmada.apiserver.schema.metadata import path_segment


def _validate(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    errors: Errors = []
    if least is not None and most is not None:
        shown = {
            "MinAvailable": least,
            "Selector": spec.get("selector"),
            "MaxUnavailable": most,
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
        errors.append(invalid("spec", shown, "minAvailable and maxUnavailable cannot be both set"))
    for field, value in (("minAvailable", least), ("maxUnavailable", most)):
        if value is not None:
            errors += count_or_percent(f"spec.{field}", value) + at_most_all(f"spec.{field}", value)
    errors += selector("spec.selector", spec.get("selector"))
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None:
        errors += one_of("spec.unhealthyPodEvictionPolicy", policy, ("AlwaysAllow", "IfHealthyBudget"))
    return errors


def _validate_status(obj: JSONObject, old: JSONObject | None) -> Errors:
    return conditions("status.conditions", (obj.get("status") or {}).get("conditions") or []) + BUDGET(obj, old)


POD_DISRUPTION_BUDGET = strategy(
    validate=_validate, name=path_segment, generation=True, unconditional_update=False, validate_status=_validate_status
)
