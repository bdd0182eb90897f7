"""Kubeflow TFJob."""

from collections.abc import Sequence

from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.thirdparty import training

_ROLES = ("Chief", "Evaluator", "Master", "PS", "Worker")


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    training.cannot_merge("TFJob")


RULES = KindRules(
    components=training.components("tfReplicaSpecs", _ROLES),
    aggregate=aggregate,
    health=training.is_healthy,
    dependencies=training.dependencies("tfReplicaSpecs"),
)
