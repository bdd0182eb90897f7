"""Deployment."""

from collections.abc import Sequence
from typing import ClassVar

from karmada.api import labels
from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import InterpretError, JSONObject, KindRules
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
from karmada.interpreter.shape import ensure, mapping, status_map, statuses, texts, view, whole

_COUNTERS = ("replicas", "updated_replicas", "ready_replicas", "available_replicas", "unavailable_replicas")


class Status(Observed, frozen=True, kw_only=True):
    """What is reported of a member's status."""

    TYPE: ClassVar[str] = "apps.DeploymentStatus"

    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0


def rules(settings: Settings) -> KindRules:
    return KindRules(
        replicas=lambda resource: workload.workload_needs(resource, settings.with_priority),
        revise=workload.revise_replicas,
        retain=retain,
        reflect=reflect,
        aggregate=aggregate,
        health=lambda observed: workload.is_updated(view(observed, workload.Workload)),
        dependencies=workload.workload_dependencies,
    )


def retain(desired: JSONObject, observed: JSONObject) -> JSONObject:
    """The member's replicas stay when the template says so, as when an autoscaler there owns them."""
    marks = texts(desired, "metadata", "labels") or {}
    if marks.get(labels.RETAIN_REPLICAS) == "true":
        replicas = whole(mapping(observed, "spec") or {}, "replicas")
        if replicas is None:
            metadata = mapping(observed, "metadata") or {}
            name = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
            raise InterpretError(f"failed to get spec.replicas from Deployment {name}")
        ensure(desired, "spec")["replicas"] = replicas
    return desired


def reflect(observed: JSONObject) -> JSONObject | None:
    status = status_map(observed)
    if status is None:
        return None
    found = view(status, Status)
    counters = total([found], *_COUNTERS, "observed_generation")
    return {**nonzero(counters), **generations(observed)}


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    found = statuses(items, Status)
    resource = view(template, workload.Workload)
    generation = observed_generation(
        resource.status.observed_generation, resource.metadata.generation, len(items), found
    )
    return write_counters(template, {**total(found, *_COUNTERS), "observedGeneration": generation})
