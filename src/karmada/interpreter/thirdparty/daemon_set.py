"""OpenKruise DaemonSet."""

from collections.abc import Sequence

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.thirdparty import pods
from karmada.interpreter.thirdparty.statuses import (
    latest,
    observed_generation,
    reflect_fields,
    reported,
    totals,
    with_status,
)
from karmada.interpreter.thirdparty.tables import at

_COUNTERS = (
    "currentNumberScheduled",
    "desiredNumberScheduled",
    "numberAvailable",
    "numberMisscheduled",
    "numberReady",
    "numberUnavailable",
    "updatedNumberScheduled",
)


def is_healthy(observed: JSONObject) -> bool:
    status = observed.get("status")
    if (at(status, "observedGeneration") or 0) != (at(observed, "metadata", "generation") or 0):
        return False
    updated = at(status, "updatedNumberScheduled") or 0
    wanted, available = at(status, "desiredNumberScheduled") or 0, at(status, "numberAvailable") or 0
    return bool(updated >= wanted and available >= updated)


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    found = reported(items)
    others = {
        "daemonSetHash": latest(found, "daemonSetHash", 0),
        "observedGeneration": observed_generation(template, items),
    }
    return with_status(template, {**totals(found, *_COUNTERS), **others})


def dependencies(resource: JSONObject) -> Sequence[DependentObjectReference]:
    return pods.all_dependencies(at(resource, "spec", "template"), at(resource, "metadata", "namespace"))


RULES = KindRules(
    reflect=reflect_fields(*_COUNTERS, "daemonSetHash", "observedGeneration", generations=True),
    aggregate=aggregate,
    health=is_healthy,
    dependencies=dependencies,
)
