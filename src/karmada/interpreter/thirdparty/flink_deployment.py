"""Apache Flink FlinkDeployment."""

import math
from collections.abc import Sequence
from typing import Any

from karmada.api.quantity import Quantity, QuantityError
from karmada.api.work.v1alpha2 import (
    AggregatedStatusItem,
    Component,
    ComponentReplicaRequirements,
    ReplicaRequirements,
)
from karmada.interpreter.model import InterpretError, JSONObject, KindRules, ReplicaNeeds
from karmada.interpreter.pods.requirements import node_claim
from karmada.interpreter.pods.template import PodSpec
from karmada.interpreter.thirdparty import pods
from karmada.interpreter.thirdparty.statuses import reflect_fields, reported, with_status
from karmada.interpreter.thirdparty.tables import find

_FIELDS = (
    "clusterInfo",
    "jobManagerDeploymentStatus",
    "jobStatus",
    "lifecycleState",
    "observedGeneration",
    "reconciliationStatus",
    "taskManager",
)
_STARTED = ("RUNNING", "FAILING", "FAILED", "CANCELLING", "CANCELED", "FINISHED", "RESTARTING", "SUSPENDED")
_MISTAKES = ("ErrImagePull", "ImagePullBackOff", "BackOff", "CrashLoopBackOff")
"""Why a job does not start although the cluster is fine: another cluster would not help."""


def replicas(resource: JSONObject) -> ReplicaNeeds:
    """All pods, each counted as needing what the larger sort needs."""
    pod = _pod(resource)
    managers = [_amounts(resource, "jobManager"), _amounts(resource, "taskManager")]
    largest = {
        name: max((amounts[name] for amounts in managers if name in amounts), key=_quantity)
        for name in ("cpu", "memory")
        if any(name in amounts for amounts in managers)
    }
    requirements = ReplicaRequirements(
        node_claim=node_claim(pod),
        resource_request=largest,
        namespace=find(resource, "metadata", "namespace") or "",
        priority_class_name=pod.priority_class_name,
    )
    return ReplicaNeeds(_job_managers(resource) + _task_managers(resource), requirements)


def components(resource: JSONObject) -> tuple[Component, ...]:
    pod = _pod(resource)
    counts = {"jobManager": _job_managers(resource), "taskManager": _task_managers(resource)}
    return tuple(
        Component(
            name=manager.lower(),
            replicas=count,
            replica_requirements=ComponentReplicaRequirements(
                node_claim=node_claim(pod),
                resource_request={name: _decimal(amount) for name, amount in _amounts(resource, manager).items()},
                priority_class_name=pod.priority_class_name,
            ),
        )
        for manager, count in counts.items()
    )


def _job_managers(resource: JSONObject) -> int:
    count = find(resource, "spec", "jobManager", "replicas")
    return 1 if count is None else int(count)


def _task_managers(resource: JSONObject) -> int:
    """As many as the parallelism of the job needs, unless their number is given."""
    count = find(resource, "spec", "taskManager", "replicas")
    if count is not None:
        return int(count)
    parallelism = find(resource, "spec", "job", "parallelism")
    slots = _whole(find(resource, "spec", "flinkConfiguration", "taskmanager.numberOfTaskSlots"))
    return math.ceil(parallelism / slots) if parallelism and slots else 1


def _whole(text: Any) -> int:
    return int(text) if str(text).isdecimal() else 0


def _pod(resource: JSONObject) -> PodSpec:
    return pods.template_of(find(resource, "spec", "podTemplate") or {}).spec


def _amounts(resource: JSONObject, manager: str) -> dict[str, int | str]:
    given = find(resource, "spec", manager, "resource") or {}
    return {name: str(_quantity(given[name])) for name in ("cpu", "memory") if given.get(name) is not None}


def _quantity(amount: Any) -> Quantity:
    try:
        return Quantity.parse(amount)
    except QuantityError as error:
        raise InterpretError(str(error)) from error


def _decimal(amount: int | str) -> str:
    """Through a number without suffix: 2048m is 2.048, and what is not spelt the usual way then, as 0.05, is 50m."""
    return str(_quantity(f"{_quantity(amount).approximate_float():.14g}"))


def is_healthy(observed: JSONObject) -> bool:
    status = observed.get("status") or {}
    state = find(status, "jobStatus", "state")
    if state is None:
        return status.get("jobManagerDeploymentStatus") == "READY" and status.get("lifecycleState") == "STABLE"
    return state in _STARTED or status.get("error") in _MISTAKES


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    """What the last cluster says: a job runs in one cluster at a time."""
    found = reported(items)
    nothing = {"error": "", "jobManagerDeploymentStatus": "", "lifecycleState": "", "observedGeneration": 0}
    return with_status(template, found[-1] if found else nothing)


RULES = KindRules(
    replicas=replicas,
    components=components,
    reflect=reflect_fields(*_FIELDS),
    aggregate=aggregate,
    health=is_healthy,
)
