"""OpenKruise CloneSet."""

from collections.abc import Sequence

from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.thirdparty import kruise
from karmada.interpreter.thirdparty.statuses import (
    latest,
    observed_generation,
    reflect_fields,
    reported,
    totals,
    with_status,
)
from karmada.interpreter.thirdparty.tables import at, number

_COUNTERS = (
    "replicas",
    "readyReplicas",
    "availableReplicas",
    "updatedReplicas",
    "updatedReadyReplicas",
    "expectedUpdatedReplicas",
)
_NAMES = ("updateRevision", "currentRevision", "labelSelector")


def is_healthy(observed: JSONObject) -> bool:
    status = at(observed, "status")
    if at(status, "observedGeneration") != at(observed, "metadata", "generation"):
        return False
    wanted = at(observed, "spec", "replicas")
    if wanted is not None and number(status.get("updatedReplicas"), "updatedReplicas") < wanted:
        return False
    available = number(status.get("availableReplicas"), "availableReplicas")
    return bool(available >= number(status.get("updatedReplicas"), "updatedReplicas"))


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    found = reported(items)
    names = {name: latest(found, name, "") for name in _NAMES}
    generation = observed_generation(template, items)
    return with_status(template, {**totals(found, *_COUNTERS), **names, "observedGeneration": generation})


RULES = KindRules(
    replicas=kruise.needs,
    revise=kruise.revise("replicas"),
    reflect=reflect_fields(*_COUNTERS, *_NAMES, "observedGeneration", generations=True),
    aggregate=aggregate,
    health=is_healthy,
    dependencies=kruise.dependencies,
)
