"""Kubeflow MPIJob."""

from collections.abc import Sequence

from karmada.api.work.v1alpha2 import AggregatedStatusItem, Component
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.thirdparty import training
from karmada.interpreter.thirdparty.statuses import members, reflect_fields
from karmada.interpreter.thirdparty.tables import find

_FIELDS = ("completionTime", "conditions", "lastReconcileTime", "replicaStatuses", "startTime")


def components(resource: JSONObject) -> tuple[Component, ...]:
    """One part per role that has a pod template."""
    specs = find(resource, "spec", "mpiReplicaSpecs")
    roles = specs if isinstance(specs, dict) else {}
    return tuple(training.part(name, role, 0) for name, role in roles.items() if find(role, "template") is not None)


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    if len(items) > 1:
        training.cannot_merge("MPIJob")
    for member in members(items):
        template["status"] = member.status
    return template


RULES = KindRules(
    components=components,
    reflect=reflect_fields(*_FIELDS),
    aggregate=aggregate,
    health=training.is_healthy,
)
