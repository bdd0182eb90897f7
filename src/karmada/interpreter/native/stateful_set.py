"""StatefulSet."""

from collections.abc import Sequence
from typing import ClassVar

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.native import workload
from karmada.interpreter.native.counters import Observed, generations, nonzero, total, write_counters
from karmada.interpreter.native.settings import Settings
from karmada.interpreter.pods.references import pod_dependencies
from karmada.interpreter.shape import Metadata, View, status_map, statuses, view

_COUNTERS = ("available_replicas", "current_replicas", "ready_replicas", "replicas", "updated_replicas")
_ALWAYS = ("replicas", "availableReplicas")


class Status(Observed, frozen=True, kw_only=True):
    """What is reported of a member's status; its observed generation is not part of that."""

    TYPE: ClassVar[str] = "apps.StatefulSetStatus"

    available_replicas: int = 0
    current_replicas: int = 0
    ready_replicas: int = 0
    replicas: int = 0
    updated_replicas: int = 0


class Claim(View, frozen=True, kw_only=True):
    """A claim that the controller makes for each pod."""

    metadata: Metadata = Metadata()


class Spec(workload.WorkloadSpec, frozen=True, kw_only=True):
    """Replicas of a pod template with claims of their own."""

    volume_claim_templates: tuple[Claim, ...] = ()


class StatefulSet(workload.Workload, frozen=True, kw_only=True):
    """A StatefulSet."""

    spec: Spec = Spec()


def rules(settings: Settings) -> KindRules:
    return KindRules(
        replicas=lambda resource: workload.workload_needs(resource, settings.with_priority),
        revise=workload.revise_replicas,
        reflect=reflect,
        aggregate=aggregate,
        health=lambda observed: workload.is_updated(view(observed, workload.Workload)),
        dependencies=dependencies,
    )


def reflect(observed: JSONObject) -> JSONObject | None:
    status = status_map(observed)
    if status is None:
        return None
    counters = total([view(status, Status)], *_COUNTERS)
    always = {name: counters[name] for name in _ALWAYS}
    return {**nonzero(counters), **always, **generations(observed)}


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    """As for a Deployment, except that the template's generation is not looked at: members report no observed one."""
    found = statuses(items, Status)
    resource = view(template, StatefulSet)
    current = sum(
        status.observed_generation >= status.generation and status.resource_template_generation >= status.generation
        for status in found
    )
    generation = resource.metadata.generation if current == len(items) else resource.status.observed_generation
    counters = {**total(found, *_COUNTERS), "observedGeneration": generation}
    # Deployments count terminating replicas, StatefulSets do not; a template that was given the field loses it.
    return write_counters(template, {**counters, "terminatingReplicas": 0}, _ALWAYS)


def dependencies(resource: JSONObject) -> tuple[DependentObjectReference, ...]:
    found = view(resource, StatefulSet)
    own = [claim.metadata.name for claim in found.spec.volume_claim_templates]
    return pod_dependencies(found.spec.template.spec, found.metadata.namespace, own_claims=own)
