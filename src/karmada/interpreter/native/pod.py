"""Pod."""

from collections.abc import Sequence
from typing import Any, ClassVar

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.native import Condition
from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter import types
from karmada.interpreter.model import JSONObject, KindRules, ReplicaNeeds
from karmada.interpreter.native.settings import Settings
from karmada.interpreter.pods.references import pod_dependencies
from karmada.interpreter.pods.requirements import replica_requirements
from karmada.interpreter.pods.template import PodTemplate
from karmada.interpreter.shape import View, ensure, mapping, objects, status_of, view

_PHASES = ("Failed", "Pending", "Running", "Succeeded")
"""The first of these that a member reports is the phase of all."""


class ContainerStatus(View, frozen=True, kw_only=True):
    """How far a container is."""

    ready: bool = False
    state: dict[str, Any] | None = None


class Status(View, frozen=True, kw_only=True):
    """How far a pod is."""

    TYPE: ClassVar[str] = "core.PodStatus"

    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(PodTemplate, frozen=True, kw_only=True):
    """A pod."""

    status: Status = Status()


def rules(settings: Settings) -> KindRules:
    return KindRules(
        replicas=lambda resource: replicas(resource, settings.with_priority),
        retain=retain,
        aggregate=aggregate,
        health=is_healthy,
        dependencies=dependencies,
    )


def replicas(resource: JSONObject, with_priority: bool) -> ReplicaNeeds:
    return ReplicaNeeds(1, replica_requirements(view(resource, Pod).spec, with_priority=with_priority))


def dependencies(resource: JSONObject) -> tuple[DependentObjectReference, ...]:
    found = view(resource, Pod)
    return pod_dependencies(found.spec, found.metadata.namespace)


def is_healthy(observed: JSONObject) -> bool:
    status = view(observed, Pod).status
    if status.phase == "Succeeded":
        return True
    ready = next((condition.status for condition in status.conditions if condition.type == "Ready"), "")
    return status.phase == "Running" and ready == "True"


def retain(desired: JSONObject, observed: JSONObject) -> JSONObject:
    """What the member's scheduler and service account admission have filled in."""
    for pod in (desired, observed):
        types.fit(pod, "core.Pod", exact=False)
    if desired.get("spec") is None:
        desired["spec"] = {}
    spec, actual = ensure(desired, "spec"), mapping(observed, "spec") or {}
    for field in ("nodeName", "serviceAccountName", "volumes"):
        _take_over(spec, actual, field)
    for field in ("containers", "initContainers"):
        for pod_spec in (spec, actual):
            if isinstance(pod_spec.get(field), list):
                pod_spec[field] = [container or {} for container in pod_spec[field]]
        by_name = {container.get("name"): container for container in objects(actual, field) or ()}
        for container in objects(spec, field) or ():
            if container.get("name") in by_name:
                _take_over(container, by_name[container["name"]], "volumeMounts")
    return desired


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    view(template, Pod)
    found = [status_of(item, Status) for item in items]
    phases = {"Pending" if member is None else member.phase for member in found}
    present = [member for member in found if member is not None]
    status: JSONObject = {}
    if phase := next((phase for phase in _PHASES if phase in phases), None):
        status["phase"] = phase
    if containers := [container for member in present for container in member.container_statuses]:
        status["containerStatuses"] = [_brief(container) for container in containers]
    if containers := [container for member in present for container in member.init_container_statuses]:
        status["initContainerStatuses"] = [_brief(container) for container in containers]
    template["status"] = status
    return template


def _brief(container: ContainerStatus) -> JSONObject:
    """Only readiness and state say something about containers of several pods; the rest is what the API requires."""
    return {
        "name": "",
        "image": "",
        "imageID": "",
        "restartCount": 0,
        "ready": container.ready,
        "state": container.state or {},
    }


def _take_over(target: JSONObject, source: JSONObject, field: str) -> None:
    if source.get(field):
        target[field] = source[field]
    else:
        target.pop(field, None)
