"""Kubeflow PyTorchJob."""

from collections.abc import Sequence

from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.thirdparty import training
from karmada.interpreter.thirdparty.statuses import with_status


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    return training.cannot_merge("PyTorchJob") if items else with_status(template, {})


RULES = KindRules(
    components=training.components("pytorchReplicaSpecs", ("Master", "Worker")),
    aggregate=aggregate,
    health=training.is_healthy,
    dependencies=training.dependencies("pytorchReplicaSpecs"),
)
