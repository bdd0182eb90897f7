"""Job."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

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
from karmada.interpreter.shape import Metadata, View, ensure, status_map, status_of, texts, view
from karmada.interpreter.types import known

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

    TYPE: ClassVar[str] = "batch.JobStatus"

    active: int = 0
    succeeded: int = 0
    failed: int = 0
    conditions: tuple[Condition, ...] = ()
    start_time: str | None = None
    completion_time: str | None = None

    def has(self, *types: str) -> bool:
        return self.first(*types) is not None

    def first(self, *types: str) -> str | None:
        """The first of these conditions that is true."""
        true = (condition.type for condition in self.conditions if condition.status == "True")
        return next((type_ for type_ in true if type_ in types), None)

    @property
    def end(self) -> str | None:
        """How the Job ended, None while it has not."""
        return self.first(_COMPLETE, _FAILED)


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
    if spec.completions is not None:
        count = min(count, spec.completions)
    return ReplicaNeeds(count, replica_requirements(spec.template.spec, with_priority=with_priority))


def dependencies(resource: JSONObject) -> tuple[DependentObjectReference, ...]:
    found = view(resource, Job)
    return pod_dependencies(found.spec.template.spec, found.metadata.namespace)


def retain(desired: JSONObject, observed: JSONObject) -> JSONObject:
    """The member's Job controller generates the selector and the labels that match it, and neither can be changed."""
    selector = texts(observed, "spec", "selector", "matchLabels")
    if selector is not None:
        ensure(desired, "spec", "selector")["matchLabels"] = selector
    pod_labels = texts(observed, "spec", "template", "metadata", "labels")
    if pod_labels is not None:
        ensure(desired, "spec", "template", "metadata")["labels"] = pod_labels
    return desired


def reflect(observed: JSONObject) -> JSONObject | None:
    status = status_map(observed)
    if status is None:
        return None
    found = view(status, Status)
    kept = known({name: status[name] for name in _REFLECTED if status.get(name)}, "batch.JobStatus")
    if "conditions" in kept:
        kept["conditions"] = [_filled(condition or {}) for condition in kept["conditions"]]
    return {**kept, **nonzero(total([found], *_COUNTERS))}


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem], now: str) -> JSONObject:
    """A finished template stays as it is."""
    old = view(template, Job).status
    if old.end is not None:
        return template
    found = [(item.cluster_name, status_of(item, Status)) for item in items]
    present = [status for _, status in found if status is not None]
    status: JSONObject = nonzero(total(present, *_COUNTERS))
    started = [status.start_time for status in present if status.start_time]
    start_time = old.start_time or (min(started) if items and len(started) == len(items) else None)
    if start_time:
        status["startTime"] = start_time
    completed = [status.completion_time for status in present if status.completion_time]
    if items and len(completed) == len(items):
        status["completionTime"] = max(completed)
    failed = [cluster for cluster, member in found if member is not None and member.end == _FAILED]
    if failed:
        message = f"Job executed failed in member clusters {','.join(failed)}"
        status["conditions"] = [_condition(_FAILED, "JobFailed", message, now)]
    elif items and [member.end for member in present] == [_COMPLETE] * len(items):
        status["conditions"] = _completed(present, now)
    template["status"] = status
    return template


def _completed(members: Iterable[Status], now: str) -> list[JSONObject]:
    conditions = [_condition(_COMPLETE, "Completed", "Job completed", now)]
    if all(member.has(_CRITERIA_MET) for member in members):
        message = "All member clusters have met success criteria"
        conditions.append(_condition(_CRITERIA_MET, "CompletionsReached", message, now))
    return conditions


def _filled(condition: JSONObject) -> JSONObject:
    """Type and status are always there, other texts only when they say something."""
    return {"type": "", "status": "", **{field: value for field, value in condition.items() if value}}


def _condition(type_: str, reason: str, message: str, now: str) -> dict[str, Any]:
    return {
        "type": type_,
        "status": "True",
        "lastProbeTime": now,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }
