"""ReplicaSet."""

from collections.abc import Sequence
from typing import ClassVar

from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.native import workload
from karmada.interpreter.native.counters import (
    Observed,
    generations,
    nonzero,
    observed_generation,
    total,
    write_counters,
)
from karmada.interpreter.native.settings import Settings
from karmada.interpreter.shape import status_map, statuses, view

_COUNTERS = ("replicas", "ready_replicas", "available_replicas")
_ALWAYS = ("replicas",)


class Status(Observed, frozen=True, kw_only=True):
    """What is reported of a member's status."""

    TYPE: ClassVar[str] = "apps.ReplicaSetStatus"

    replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0


def rules(settings: Settings) -> KindRules:
    return KindRules(
        replicas=lambda resource: workload.workload_needs(resource, settings.with_priority, workload.Replicas),
        revise=workload.revise_replicas,
        reflect=reflect,
        aggregate=aggregate,
        health=is_healthy,
        dependencies=lambda resource: workload.workload_dependencies(resource, workload.Replicas),
    )


def reflect(observed: JSONObject) -> JSONObject | None:
    status = status_map(observed)
    if status is None:
        return None
    found = view(status, Status)
    counters = total([found], *_COUNTERS, "observed_generation")
    return {"replicas": found.replicas, **nonzero(counters), **generations(observed)}


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    found = statuses(items, Status)
    resource = view(template, workload.Replicas)
    generation = observed_generation(
        resource.status.observed_generation, resource.metadata.generation, len(items), found
    )
    return write_counters(template, {**total(found, *_COUNTERS), "observedGeneration": generation}, _ALWAYS)


def is_healthy(observed: JSONObject) -> bool:
    found = view(observed, workload.Replicas)
    is_current = found.status.observed_generation == found.metadata.generation
    return is_current and workload.reaches(found.status.available_replicas, found.spec.replicas)
