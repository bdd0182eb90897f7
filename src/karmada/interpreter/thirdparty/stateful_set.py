"""OpenKruise StatefulSet."""

from collections.abc import Sequence

from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.thirdparty import kruise
from karmada.interpreter.thirdparty.clone_set import is_healthy
from karmada.interpreter.thirdparty.statuses import (
    latest,
    observed_generation,
    reflect_fields,
    reported,
    totals,
    with_status,
)

_COUNTERS = (
    "replicas",
    "readyReplicas",
    "currentReplicas",
    "availableReplicas",
    "updatedReplicas",
    "updatedReadyReplicas",
)
_NAMES = ("updateRevision", "currentRevision")


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
