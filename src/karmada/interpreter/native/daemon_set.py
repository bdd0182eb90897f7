"""DaemonSet."""

from collections.abc import Sequence
from typing import ClassVar

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.native.counters import (
    Observed,
    generations,
    int32,
    nonzero,
    observed_generation,
    total,
    write_counters,
)
from karmada.interpreter.native.settings import Settings
from karmada.interpreter.pods.references import pod_dependencies
from karmada.interpreter.pods.template import PodTemplate
from karmada.interpreter.shape import Metadata, View, status_map, statuses, view

_COUNTERS = (
    "current_number_scheduled",
    "desired_number_scheduled",
    "number_available",
    "number_misscheduled",
    "number_ready",
    "updated_number_scheduled",
    "number_unavailable",
)
_ALWAYS = ("currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady")


class Status(Observed, frozen=True, kw_only=True):
    """How far the pods are."""

    TYPE: ClassVar[str] = "apps.DaemonSetStatus"

    current_number_scheduled: int = 0
    desired_number_scheduled: int = 0
    number_available: int = 0
    number_misscheduled: int = 0
    number_ready: int = 0
    updated_number_scheduled: int = 0
    number_unavailable: int = 0


class Spec(View, frozen=True, kw_only=True):
    """One pod per node."""

    template: PodTemplate = PodTemplate()


class DaemonSet(View, frozen=True, kw_only=True):
    """A DaemonSet."""

    metadata: Metadata = Metadata()
    spec: Spec = Spec()
    status: Status = Status()


def rules(_: Settings) -> KindRules:
    return KindRules(
        reflect=reflect,
        aggregate=aggregate,
        health=is_healthy,
        dependencies=dependencies,
    )


def dependencies(resource: JSONObject) -> tuple[DependentObjectReference, ...]:
    found = view(resource, DaemonSet)
    return pod_dependencies(found.spec.template.spec, found.metadata.namespace)


def reflect(observed: JSONObject) -> JSONObject | None:
    status = status_map(observed)
    if status is None:
        return None
    counters = total([view(status, Status)], *_COUNTERS, "observed_generation")
    always = {name: counters[name] for name in _ALWAYS}
    return {**nonzero(counters), **always, **generations(observed)}


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    found = statuses(items, Status)
    resource = view(template, DaemonSet)
    generation = observed_generation(
        resource.status.observed_generation, resource.metadata.generation, len(items), found
    )
    return write_counters(template, {**total(found, *_COUNTERS), "observedGeneration": generation}, _ALWAYS)


def is_healthy(observed: JSONObject) -> bool:
    found = view(observed, DaemonSet)
    status = found.status
    return (
        status.observed_generation == found.metadata.generation
        and int32(status.updated_number_scheduled) >= int32(status.desired_number_scheduled)
        and int32(status.number_available) >= int32(status.updated_number_scheduled)
    )
