"""Ray: RayCluster, RayJob and RayService, which all run a head and groups of workers."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import structs

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.quantity import Quantity
from karmada.api.work.v1alpha2 import Component
from karmada.interpreter.model import InterpretError, JSONObject, KindRules, ReplicaNeeds
from karmada.interpreter.thirdparty import merge, pods, rules
from karmada.interpreter.thirdparty.merge import KEPT, Reports, aggregation, first, latest, ranked, total, totals, worst
from karmada.interpreter.thirdparty.rules import is_condition
from karmada.interpreter.thirdparty.values import entries, fields, find, get, given, number, truncated

_DEPLOYMENT_RANKS = {
    "Initializing": 1,
    "Waiting": 2,
    "Suspending": 3,
    "Suspended": 3,
    "Retrying": 4,
    "Running": 5,
    "Complete": 6,
    "ValidationFailed": 7,
    "Failed": 8,
}
_JOB_RANKS = {"PENDING": 1, "RUNNING": 2, "SUCCEEDED": 3, "STOPPED": 4, "FAILED": 5}
_APPLICATION_RANKS = {"NOT_STARTED": 1, "DEPLOYING": 2, "DELETING": 3, "UNHEALTHY": 4, "DEPLOY_FAILED": 5}
_COUNTERS = (
    "readyWorkerReplicas",
    "availableWorkerReplicas",
    "maxWorkerReplicas",
    "minWorkerReplicas",
    "desiredWorkerReplicas",
)


def _conditions(reports: merge.Reports, field: str) -> Any:
    """Those of all clusters; empty text is no list of them."""
    if "" in reports.values(field):
        raise InterpretError(f"{field} is text, not a list")
    return merge.joined(reports, field)


def _head(cluster: Any) -> Any:
    return find(cluster, "headGroupSpec", "template")


def _groups(cluster: Any) -> list[Any]:
    return entries(find(cluster, "workerGroupSpecs"))


def _components(*path: str) -> Callable[[JSONObject], tuple[Component, ...]]:
    """The head, and one part per group of workers."""

    def rule(resource: JSONObject) -> tuple[Component, ...]:
        cluster = find(resource, *path)
        head = _head(cluster)
        parts = [] if head is None else [pods.part("ray-head", 1, head)]
        for index, group in enumerate(_groups(cluster), 1):
            name = get(group, "groupName")
            replicas = given(get(group, "replicas"), 0)
            template = get(group, "template")
            parts.append(pods.part(f"worker-{index}" if name in (None, "") else name, replicas, template))
        return tuple(parts)

    return rule


def _dependencies(path: Sequence[str], *others: Sequence[str]) -> Callable[[JSONObject], Any]:
    """What the pods of the cluster refer to, and those at other paths."""

    def rule(resource: JSONObject) -> Sequence[DependentObjectReference]:
        cluster = find(resource, *path)
        groups = [get(group, "template") for group in fields(find(cluster, "workerGroupSpecs")).values()]
        templates = [_head(cluster), *groups, *(find(resource, *other) for other in others)]
        specs = [spec for template in templates if (spec := find(template, "spec")) is not None]
        accounts = [get(spec, "serviceAccountName") for spec in specs]
        named = [("ServiceAccount", name) for name in accounts if name not in (None, "", "default")]
        return (*pods.named(resource, named), *pods.references(resource, pods.POD, *specs))

    return rule


def _cluster_is_healthy(observed: JSONObject) -> bool:
    conditions = entries(find(observed, "status", "conditions"))
    good = all(
        any(is_condition(one, type_) for one in conditions) for type_ in ("HeadPodReady", "RayClusterProvisioned")
    )
    return good and not any(is_condition(one, "RayClusterReplicaFailure") for one in conditions)


def _of_first_state(reports: Reports, field: str) -> Any:
    stated = [status for status in reports.statuses() if get(status, "state") is not None]
    return get(stated[0], field) if stated else None


def _job_is_healthy(observed: JSONObject) -> bool:
    status = observed.get("status")
    deployment = find(status, "jobDeploymentStatus")
    return deployment == "Running" or (deployment == "Complete" and bool(get(status, "jobStatus") == "SUCCEEDED"))


def _service_replicas(resource: JSONObject) -> ReplicaNeeds:
    """The head and all workers, each counted as needing what the largest of them needs."""
    cluster = find(resource, "spec", "rayClusterConfig")
    head = _head(cluster)
    if head is None:
        return ReplicaNeeds(0)
    groups = _groups(cluster)
    count = truncated(1 + sum(number(given(get(group, "replicas"), 0)) for group in groups))
    needs = [pods.requirements(head)]
    needs += [pods.requirements(template) for group in groups if (template := get(group, "template")) is not None]
    known = [need for need in needs if need is not None]
    if not known:
        return ReplicaNeeds(count)
    largest = dict(known[0].resource_request)
    for need in known[1:]:
        for name in ("cpu", "memory"):
            amount = need.resource_request.get(name)
            if amount and Quantity.parse(largest.get(name, 0)) < Quantity.parse(amount):
                largest[name] = amount
    return ReplicaNeeds(count, structs.replace(known[0], resource_request=largest))


def _service_revise(resource: JSONObject, count: int) -> JSONObject:
    """One replica is the head; the others go to the groups in the proportions they have, the rest to the last."""
    groups = _groups(find(resource, "spec", "rayClusterConfig"))
    if not groups:
        return resource
    groups[:] = [{} if group == [] else group for group in groups]  # An empty list is an empty object to scripts.
    wanted = left = max(count - 1, 0)
    shares = [number(given(get(group, "replicas"), 0)) for group in groups]
    for index, (group, share) in enumerate(zip(groups[:-1], shares[:-1], strict=True)):
        if wanted == 0:
            part = 0
        elif not sum(shares):
            part = wanted // len(groups) + (index < wanted % len(groups))
        else:
            part = min(int(wanted * (share / sum(shares)) + 0.5), left)
        group["replicas"] = part
        left -= part
    groups[-1]["replicas"] = left
    return resource


def _applications(reports: Reports, field: str) -> Any:
    """The first cluster's, with the worst state of each application that any of them runs."""
    services = reports.values(field)
    if not services:
        return reports.present.get(field)
    states: dict[Any, list[Any]] = {}
    for service in services:
        for name, application in fields(get(service, "applicationStatuses")).items():
            states.setdefault(name, []).append(application)
    found = {name: worst(_APPLICATION_RANKS, all_, lambda one: get(one, "status")) for name, all_ in states.items()}
    return {**(services[0] or {}), "applicationStatuses": found}


def _service_status(reports: Reports, field: str) -> Any:
    """Running once every cluster that reports says so."""
    values = [get(status, field) for status in reports.statuses()]
    return "Running" if values and all(status == "Running" for status in values) else ""


RAY_CLUSTER = KindRules(
    components=_components("spec"),
    aggregate=aggregation(
        {
            "conditions": _conditions,
            **totals(*_COUNTERS),
            **dict.fromkeys(("desiredCPU", "desiredMemory"), merge.quantity),
            **dict.fromkeys(("desiredGPU", "desiredTPU"), merge.spelled_total),
            "lastUpdateTime": latest,
            "endpoints": first(),
            "head": first(),
            **dict.fromkeys(("state", "stateTransitionTimes"), _of_first_state),
        },
        alone=True,
    ),
    health=_cluster_is_healthy,
)
RAY_JOB = KindRules(
    components=_components("spec", "rayClusterSpec"),
    aggregate=aggregation(
        {
            "jobStatus": ranked(_JOB_RANKS, "jobStatus", filled=True),
            **dict.fromkeys(
                ("jobDeploymentStatus", "reason", "message"), ranked(_DEPLOYMENT_RANKS, "jobDeploymentStatus")
            ),
        },
        alone=True,
    ),
    health=_job_is_healthy,
    dependencies=_dependencies(("spec", "rayClusterSpec"), ("spec", "submitterPodTemplate")),
)
RAY_SERVICE = KindRules(
    replicas=_service_replicas,
    revise=_service_revise,
    aggregate=aggregation(
        {
            "conditions": _conditions,
            "numServeEndpoints": total,
            "lastUpdateTime": latest,
            "observedGeneration": merge.largest,
            "serviceStatus": _service_status,
            "activeServiceStatus": _applications,
            "pendingServiceStatus": first(KEPT),
        },
        alone=True,
    ),
    health=rules.ready(),
    dependencies=_dependencies(("spec", "rayClusterConfig")),
)
