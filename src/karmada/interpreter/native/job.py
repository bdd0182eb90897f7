"""Job."""

from collections.abc import Iterable, Sequence
from typing import Any

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.native import Condition
from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject, KindRules, ReplicaNeeds
from karmada.interpreter.native import workload
from karmada.interpreter.native.counters import nonzero, total
from karmada.interpreter.native.settings import Settings
from karmada.interpreter.pods.references import pod_dependencies
from karmada.interpreter.pods.requirements import replica_requirements
from karmada.interpreter.pods.template import PodTemplate
from karmada.interpreter.shape import Metadata, View, ensure, mapping, status_of, view

_COUNTERS = ("active", "succeeded", "failed")
_REFLECTED = (*_COUNTERS, "conditions", "startTime", "completionTime")
_COMPLETE, _FAILED, _CRITERIA_MET = "Complete", "Failed", "SuccessCriteriaMet"


class Spec(View, frozen=True, kw_only=True):
    """How many pods, and which."""

    parallelism: int | None = None
    completions: int | None = None
    template: PodTemplate = PodTemplate()


class Status(View, frozen=True, kw_only=True):
    """How far the pods are."""

    active: int = 0
    succeeded: int = 0
    failed: int = 0
    conditions: tuple[Condition, ...] = ()
    start_time: str | None = None
    completion_time: str | None = None

    def has(self, *types: str) -> bool:
        return any(condition.type in types and condition.status == "True" for condition in self.conditions)


class Job(View, frozen=True, kw_only=True):
    """A Job."""

    metadata: Metadata = Metadata()
    spec: Spec = Spec()
    status: Status = Status()


def rules(settings: Settings) -> KindRules:
    return KindRules(
        replicas=lambda resource: replicas(resource, settings.with_priority),
        revise=lambda resource, count: workload.revise(resource, "parallelism", count),
        retain=retain,
        reflect=reflect,
        aggregate=lambda template, items: aggregate(template, items, settings.now()),
        dependencies=dependencies,
    )


def replicas(resource: JSONObject, with_priority: bool) -> ReplicaNeeds:
    """As many pods as run at the same time: never more than have to complete."""
    spec = view(resource, Job).spec
    count = spec.parallelism or 0
    if spec.completions is not None and spec.parallelism is not None:
        count = min(count, spec.completions)
    return ReplicaNeeds(count, replica_requirements(spec.template.spec, with_priority=with_priority))


def dependencies(resource: JSONObject) -> tuple[DependentObjectReference, ...]:
    found = view(resource, Job)
    return pod_dependencies(found.spec.template.spec, found.metadata.namespace)


def retain(desired: JSONObject, observed: JSONObject) -> JSONObject:
    """The member's Job controller generates the selector and the labels that match it, and neither can be changed."""
    selector = mapping(observed, "spec", "selector", "matchLabels")
    if selector is not None:
        ensure(desired, "spec", "selector")["matchLabels"] = selector
    pod_labels = mapping(observed, "spec", "template", "metadata", "labels")
    if pod_labels is not None:
        ensure(desired, "spec", "template", "metadata")["labels"] = pod_labels
    return desired


def reflect(observed: JSONObject) -> JSONObject | None:
    status = mapping(observed, "status")
    if status is None:
        return None
    found = view(status, Status)
    kept = {name: status[name] for name in _REFLECTED if status.get(name)}
    return {**kept, **nonzero(total([found], *_COUNTERS))}


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem], now: str) -> JSONObject:
    """A finished template stays as it is."""
    old = view(template, Job).status
    if old.has(_COMPLETE, _FAILED):
        return template
    found = {item.cluster_name: status_of(item, Status) for item in items}
    present = [status for status in found.values() if status is not None]
    status: JSONObject = nonzero(total(present, *_COUNTERS))
    started = [status.start_time for status in present if status.start_time]
    start_time = old.start_time or (min(started) if items and len(started) == len(items) else None)
    if start_time:
        status["startTime"] = start_time
    failed = [cluster for cluster, member in found.items() if member is not None and member.has(_FAILED)]
    completed = [member for member in present if member.has(_COMPLETE)]
    if failed:
        message = f"Job executed failed in member clusters {','.join(failed)}"
        status["conditions"] = [_condition(_FAILED, "JobFailed", message, now)]
    elif items and len(completed) == len(items):
        status["conditions"] = _completed(present, now)
        if times := [member.completion_time for member in present if member.completion_time]:
            status["completionTime"] = max(times)
    template["status"] = status
    return template


def _completed(members: Iterable[Status], now: str) -> list[JSONObject]:
    conditions = [_condition(_COMPLETE, "Completed", "Job completed", now)]
    if all(member.has(_CRITERIA_MET) for member in members):
        message = "All member clusters have met success criteria"
        conditions.append(_condition(_CRITERIA_MET, "CompletionsReached", message, now))
    return conditions


def _condition(type_: str, reason: str, message: str, now: str) -> dict[str, Any]:
    return {
        "type": type_,
        "status": "True",
        "lastProbeTime": now,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }
