"""Ray RayJob."""

from collections.abc import Iterator, Sequence
from typing import Any

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.work.v1alpha2 import AggregatedStatusItem, Component
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.thirdparty import ray
from karmada.interpreter.thirdparty.statuses import members, reported
from karmada.interpreter.thirdparty.tables import find

_DEPLOYMENT = (
    "Failed",
    "ValidationFailed",
    "Retrying",
    "Suspending",
    "Suspended",
    "Waiting",
    "Initializing",
    "Running",
    "Complete",
)
_JOB = ("FAILED", "STOPPED", "RUNNING", "PENDING", "SUCCEEDED")
"""The first of these that a cluster reports is that of all."""


def components(resource: JSONObject) -> tuple[Component, ...]:
    return ray.parts(find(resource, "spec", "rayClusterSpec"))


def dependencies(resource: JSONObject) -> Sequence[DependentObjectReference]:
    """Those of the cluster's pods and of the pod that submits the job."""

    def templates() -> Iterator[Any]:
        yield from ray.templates(find(resource, "spec", "rayClusterSpec"))
        submitter = find(resource, "spec", "submitterPodTemplate")
        if submitter is not None:
            yield submitter

    return ray.dependencies(templates(), find(resource, "metadata", "namespace"))


def is_healthy(observed: JSONObject) -> bool:
    deployment = find(observed, "status", "jobDeploymentStatus")
    job = find(observed, "status", "jobStatus")
    if deployment == "Complete":
        return bool(job == "SUCCEEDED")
    return bool(deployment == "Running" and job not in ("FAILED", "STOPPED"))


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    if len(items) <= 1:
        for member in members(items):
            template["status"] = member.status
        return template
    found = reported(items)
    status: JSONObject = {}
    ranked = [member for member in found if member.get("jobDeploymentStatus") in _DEPLOYMENT]
    if ranked:
        chosen = min(ranked, key=lambda member: _DEPLOYMENT.index(member["jobDeploymentStatus"]))
        status = {name: chosen.get(name) for name in ("jobDeploymentStatus", "message", "reason")}
    jobs = [member["jobStatus"] for member in found if member.get("jobStatus") in _JOB]
    status["jobStatus"] = min(jobs, key=_JOB.index, default=None)
    template["status"] = {name: value for name, value in status.items() if value is not None}
    return template


RULES = KindRules(components=components, aggregate=aggregate, health=is_healthy, dependencies=dependencies)
