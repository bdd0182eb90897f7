"""OpenKruise: AdvancedCronJob, BroadcastJob, CloneSet, DaemonSet, SidecarSet, StatefulSet, UnitedDeployment."""

from collections.abc import Sequence
from typing import Any

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.interpreter.model import JSONObject, KindRules, ReplicaNeeds
from karmada.interpreter.thirdparty import merge, pods, rules
from karmada.interpreter.thirdparty.merge import Reports, aggregation, last, last_filled, totals
from karmada.interpreter.thirdparty.values import Table, entries, find, get, given, same

_ENDS = ("Complete", "Failed")
_BROADCAST_COUNTERS = ("active", "succeeded", "failed", "desired")
_CLONE_COUNTERS = (
    "replicas",
    "readyReplicas",
    "availableReplicas",
    "updatedReplicas",
    "updatedReadyReplicas",
    "expectedUpdatedReplicas",
)
_STATEFUL_COUNTERS = (
    "replicas",
    "readyReplicas",
    "currentReplicas",
    "availableReplicas",
    "updatedReplicas",
    "updatedReadyReplicas",
)
_UNITED_COUNTERS = ("replicas", "readyReplicas", "updatedReplicas", "availableReplicas", "unavailableReplicas")
_DAEMON_COUNTERS = (
    "currentNumberScheduled",
    "desiredNumberScheduled",
    "numberAvailable",
    "numberMisscheduled",
    "numberReady",
    "numberUnavailable",
    "updatedNumberScheduled",
)
_SIDECAR_COUNTERS = ("matchedPods", "updatedPods", "readyPods")
_SIDECAR_REFERENCES = (
    ("ConfigMap", "containers/*/env/*/valueFrom/configMapKeyRef/name!!"),
    ("Secret", "containers/*/env/*/valueFrom/secretKeyRef/name!!"),
    ("ConfigMap", "containers/*/envFrom/*/configMapRef/name!!"),
    ("Secret", "containers/*/envFrom/*/secretRef/name!!"),
    ("ConfigMap", "volumes/*/configMap/name!!"),
    ("Secret", "volumes/*/secret/secretName!!"),
    ("ConfigMap", "volumes/*/projected/sources/*/configMap/name!!"),
    ("Secret", "volumes/*/projected/sources/*/secret/name!!"),
)
_WORKLOADS_OF_UNITED = (
    "statefulSetTemplate",
    "advancedStatefulSetTemplate",
    "cloneSetTemplate",
    "deploymentTemplate",
)


def _pod_dependencies(resource: JSONObject) -> Sequence[DependentObjectReference]:
    return pods.dependencies(resource, get(resource, "spec", "template"))


def _cron_dependencies(resource: JSONObject) -> Sequence[DependentObjectReference]:
    """Those of the pods of its jobs; each sort of job that it has needs a spec."""
    template = get(resource, "spec", "template")
    jobs = [get(template, name) for name in ("jobTemplate", "broadcastJobTemplate")]
    templates = [get(job, "spec", "template") for job in jobs if job is not None]
    return pods.dependencies(resource, templates[-1]) if templates else ()


def _active(reports: Reports, field: str) -> Any:
    """The jobs of all clusters; text is a list of none."""
    return [job for value in reports.values(field) if not isinstance(value, str) for job in entries(value)]


def _united_template(resource: JSONObject) -> Any:
    """The pods of a UnitedDeployment are those of the workload it makes in each subset."""
    template = get(resource, "spec", "template")
    workloads = [workload for name in _WORKLOADS_OF_UNITED if (workload := find(template, name)) is not None]
    return find(workloads[0], "spec", "template") if workloads else template


def _united_replicas(resource: JSONObject) -> ReplicaNeeds:
    spec = {"replicas": get(resource, "spec", "replicas"), "template": _united_template(resource)}
    return rules.replicas("replicas")({"spec": spec})


def _end(member: merge.Member) -> Any:
    """How a member's job ended, None while it has not."""
    for condition in entries(find(member.status, "conditions")):
        if get(condition, "type") in _ENDS and get(condition, "status") == "True":
            return get(condition, "type")
    return None


def _ended(reports: Reports, field: str) -> Any:
    """One failure is the failure of all; success takes the success of every cluster."""
    ends = {member.cluster: _end(member) for member in reports.members}
    failed = [cluster for cluster, end in ends.items() if end == "Failed"]
    if failed:
        message = f"Job executed failed in member clusters: {', '.join(failed)}"
        return [{"type": "Failed", "status": "True", "reason": "JobFailed", "message": message}]
    if ends and all(end == "Complete" for end in ends.values()):
        return [{"type": "Completed", "status": "True", "reason": "Completed", "message": "Job completed"}]
    return []


def _broadcast_is_healthy(observed: JSONObject) -> bool:
    status = get(observed, "status")
    if same(get(status, "desired"), 0) or not same(get(status, "failed"), 0):
        return False
    return not (same(get(status, "succeeded"), 0) and same(get(status, "active"), 0))


def _one_condition_per_type(reports: Reports, field: str) -> Any:
    """What the last cluster that has a type of condition says; without any, what the template has."""
    found = Table()
    for value in reports.values(field):
        for condition in entries(value):
            found.set(get(condition, "type"), condition)
    return found.values() or reports.present.get(field)


def _sidecar_dependencies(resource: JSONObject) -> Sequence[DependentObjectReference]:
    return pods.references(resource, _SIDECAR_REFERENCES, resource.get("spec"))


def _sidecar_reflect(observed: JSONObject) -> JSONObject:
    status = observed.get("status")
    return {} if status is None else {field: given(get(status, field), 0) for field in _SIDECAR_COUNTERS}


def _sidecar_is_healthy(observed: JSONObject) -> bool:
    status = observed.get("status")
    if status is None:
        return False
    matched = given(get(status, "matchedPods"), 0)
    return same(matched, 0) or same(given(get(status, "updatedPods"), 0), matched)


def _without_pods(resource: JSONObject) -> ReplicaNeeds:
    return ReplicaNeeds(0)


def _desired(desired: JSONObject, observed: JSONObject) -> JSONObject:
    return desired


def _retain_labels(desired: JSONObject, observed: JSONObject) -> JSONObject:
    """The labels that the member's controller has put on the pods."""
    path = ("spec", "template", "metadata", "labels")
    labels = find(get(observed, *path[:-1]), path[-1])
    return desired if labels is None else rules.put(desired, labels, *path)


_GENERATION = {"observedGeneration": merge.observed_generation}
_rolled_out = rules.rolled_out(("spec", "replicas"), "updatedReplicas", "availableReplicas")


def _united_is_healthy(observed: JSONObject) -> bool:
    sections = [observed.get(section) for section in ("status", "metadata", "spec")]
    return None not in sections and _rolled_out(observed)


ADVANCED_CRON_JOB = KindRules(
    aggregate=aggregation({"active": _active, "type": last(""), "lastScheduleTime": last()}),
    dependencies=_cron_dependencies,
)
BROADCAST_JOB = KindRules(
    replicas=rules.replicas("parallelism", 1),
    revise=rules.revise("parallelism"),
    retain=_retain_labels,
    reflect=rules.reflect(*_BROADCAST_COUNTERS, "conditions", "phase", "startTime", "completionTime"),
    aggregate=aggregation({**totals(*_BROADCAST_COUNTERS), "phase": last(""), "conditions": _ended}),
    health=_broadcast_is_healthy,
    dependencies=_pod_dependencies,
)
CLONE_SET = KindRules(
    replicas=rules.replicas("replicas"),
    revise=rules.revise("replicas"),
    reflect=rules.reflect(
        *_CLONE_COUNTERS,
        "updateRevision",
        "currentRevision",
        "labelSelector",
        "observedGeneration",
        generations=True,
    ),
    aggregate=aggregation(
        {
            **totals(*_CLONE_COUNTERS),
            **dict.fromkeys(("updateRevision", "currentRevision", "labelSelector"), last_filled("")),
            **_GENERATION,
        }
    ),
    health=_rolled_out,
    dependencies=_pod_dependencies,
)
DAEMON_SET = KindRules(
    reflect=rules.reflect(*_DAEMON_COUNTERS, "daemonSetHash", "observedGeneration", generations=True),
    aggregate=aggregation({**totals(*_DAEMON_COUNTERS), "daemonSetHash": last_filled(), **_GENERATION}),
    health=rules.rolled_out(("status", "desiredNumberScheduled"), "updatedNumberScheduled", "numberAvailable"),
    dependencies=_pod_dependencies,
)
SIDECAR_SET = KindRules(
    replicas=_without_pods,
    retain=_desired,
    reflect=_sidecar_reflect,
    aggregate=aggregation(totals(*_SIDECAR_COUNTERS, rule=merge.loose_total), fresh=True),
    health=_sidecar_is_healthy,
    dependencies=_sidecar_dependencies,
)
STATEFUL_SET = KindRules(
    replicas=rules.replicas("replicas"),
    revise=rules.revise("replicas"),
    reflect=rules.reflect(
        *_STATEFUL_COUNTERS, "updateRevision", "currentRevision", "observedGeneration", generations=True
    ),
    aggregate=aggregation(
        {
            **totals(*_STATEFUL_COUNTERS),
            **dict.fromkeys(("updateRevision", "currentRevision"), last_filled("")),
            **_GENERATION,
        }
    ),
    health=_rolled_out,
    dependencies=_pod_dependencies,
)
UNITED_DEPLOYMENT = KindRules(
    replicas=_united_replicas,
    revise=rules.revise("replicas"),
    reflect=rules.reflect(*_UNITED_COUNTERS, "conditions", "observedGeneration", generations=True),
    aggregate=aggregation(
        {
            **totals(*_UNITED_COUNTERS, rule=merge.loose_total),
            "conditions": _one_condition_per_type,
            "observedGeneration": merge.observed_generation_of_all,
        }
    ),
    health=_united_is_healthy,
    dependencies=lambda resource: pods.dependencies(resource, _united_template(resource)),
)
