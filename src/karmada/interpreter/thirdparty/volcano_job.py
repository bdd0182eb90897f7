"""Volcano Job."""

from collections.abc import Sequence

from karmada.api.work.v1alpha2 import AggregatedStatusItem, Component
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.thirdparty import pods, training
from karmada.interpreter.thirdparty.statuses import members, reflect_fields
from karmada.interpreter.thirdparty.tables import at, entries, find

_FIELDS = (
    "conditions",
    "controlledResources",
    "failed",
    "minAvailable",
    "pending",
    "retryCount",
    "running",
    "runningDuration",
    "state",
    "succeeded",
    "taskStatusCount",
    "terminating",
    "unknown",
    "version",
)
_HEALTHY = (
    "Pending",
    "Aborting",
    "Aborted",
    "Running",
    "Restarting",
    "Completing",
    "Completed",
    "Terminating",
    "Terminated",
)


def components(resource: JSONObject) -> tuple[Component, ...]:
    """One part per task."""
    tasks = entries(find(resource, "spec", "tasks"))
    return tuple(_part(index, task) for index, task in enumerate(tasks))


def _part(index: int, task: JSONObject) -> Component:
    """A gang starts once the least number of each task's pods can run: that is what has to fit."""
    replicas = task.get("minAvailable")
    template = at(task, "template")
    return Component(
        name=task.get("name") or f"task-{index}",
        replicas=1 if replicas is None else int(replicas),
        replica_requirements=None if template is None else pods.part_requirements(template),
    )


def is_healthy(observed: JSONObject) -> bool:
    return find(observed, "status", "state", "phase") in _HEALTHY


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    if len(items) != 1:
        training.cannot_merge("Volcano Job")
    template["status"] = members(items)[0].status
    return template


RULES = KindRules(components=components, reflect=reflect_fields(*_FIELDS), aggregate=aggregate, health=is_healthy)
