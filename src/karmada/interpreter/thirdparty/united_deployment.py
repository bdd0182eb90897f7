"""OpenKruise UnitedDeployment."""

from collections.abc import Sequence

from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.thirdparty import kruise
from karmada.interpreter.thirdparty.statuses import (
    observed_generation,
    reflect_fields,
    reported,
    totals,
    with_status,
)
from karmada.interpreter.thirdparty.tables import find

_COUNTERS = ("replicas", "readyReplicas", "updatedReplicas", "availableReplicas")


def is_healthy(observed: JSONObject) -> bool:
    status, spec = observed.get("status"), observed.get("spec")
    if not isinstance(status, dict) or not isinstance(spec, dict):
        return False
    if (status.get("observedGeneration") or 0) != (find(observed, "metadata", "generation") or 0):
        return False
    updated = status.get("updatedReplicas") or 0
    return updated >= (spec.get("replicas") or 0) and (status.get("availableReplicas") or 0) >= updated


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    counters = totals(reported(items), *_COUNTERS, "unavailableReplicas")
    return with_status(template, {**counters, "observedGeneration": observed_generation(template, items)})


RULES = KindRules(
    replicas=kruise.needs,
    revise=kruise.revise("replicas"),
    reflect=reflect_fields(*_COUNTERS, "conditions", "observedGeneration", generations=True),
    aggregate=aggregate,
    health=is_healthy,
    dependencies=kruise.dependencies,
)
