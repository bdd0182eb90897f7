"""Apache Flink FlinkDeployment."""

import math
import re
from typing import Any

from karmada.api.quantity import Format, Quantity, QuantityError
from karmada.api.work.v1alpha2 import Component, ReplicaRequirements
from karmada.interpreter.model import InterpretError, JSONObject, KindRules, ReplicaNeeds
from karmada.interpreter.thirdparty import pods, rules
from karmada.interpreter.thirdparty.merge import aggregation, of_last
from karmada.interpreter.thirdparty.values import find, number, truncated

_FIELDS = (
    "clusterInfo",
    "error",
    "jobManagerDeploymentStatus",
    "jobStatus",
    "lifecycleState",
    "observedGeneration",
    "reconciliationStatus",
    "taskManager",
)
_STARTED = ("RUNNING", "FAILING", "FAILED", "CANCELLING", "CANCELED", "FINISHED", "RESTARTING", "SUSPENDED")
_STARTING = ("CREATED", "INITIALIZING", "RECONCILING")
_MISTAKES = ("ErrImagePull", "ImagePullBackOff", "CrashLoopBackOff")
"""Why a job does not start although the cluster is fine: another cluster would not help."""
_MANAGERS = ("jobManager", "taskManager")
_MEMORY = re.compile(r"([0-9]+) ?([bkmgt])b?")
_UNITS = "bkmgt"


def _replicas(resource: JSONObject) -> ReplicaNeeds:
    """All pods, each counted as needing what the larger sort needs."""
    found = [_resources(resource, manager) for manager in _MANAGERS]
    largest = {}
    for name, read in (("cpu", number), ("memory", _bytes)):
        amounts = [amounts[name] for amounts in found if name in amounts]
        if amounts:
            largest[name] = max(amounts, key=read) if len(amounts) > 1 else amounts[0]
    if isinstance(largest.get("memory"), str):
        largest["memory"] = _respelled(largest["memory"])
    needs = pods.part_needs(find(resource, "spec", "podTemplate", "spec"), largest)
    namespace = find(resource, "metadata", "namespace")
    if namespace is not None and not isinstance(namespace, str):
        raise InterpretError("metadata.namespace is not text")
    requirements = ReplicaRequirements(
        node_claim=needs.node_claim,
        resource_request=needs.resource_request,
        namespace=namespace or "",
        priority_class_name=needs.priority_class_name,
    )
    return ReplicaNeeds(truncated(_job_managers(resource) + _task_managers(resource)), requirements)


def _components(resource: JSONObject) -> tuple[Component, ...]:
    pod = find(resource, "spec", "podTemplate", "spec")
    counts = dict(zip(_MANAGERS, (_job_managers(resource), _task_managers(resource)), strict=True))
    parts = []
    for manager, count in counts.items():
        amounts = _resources(resource, manager)
        if "memory" in amounts:
            amounts["memory"] = _bytes(amounts["memory"]).approximate_float()
        parts.append(pods.component(manager.lower(), count, pods.part_needs(pod, amounts)))
    return tuple(parts)


def _job_managers(resource: JSONObject) -> Any:
    return pods.count(find(resource, "spec", "jobManager", "replicas"), 1)


def _task_managers(resource: JSONObject) -> Any:
    """As many as the parallelism of the job needs, unless their number is given."""
    given = pods.count(find(resource, "spec", "taskManager", "replicas"), None)
    if given is not None:
        return given
    parallelism = pods.count(find(resource, "spec", "job", "parallelism"), None)
    slots = pods.count(find(resource, "spec", "flinkConfiguration", "taskmanager.numberOfTaskSlots"), 0)
    return 1 if parallelism is None or slots == 0 else math.ceil(parallelism / slots)


def _resources(resource: JSONObject, manager: str) -> dict[str, Any]:
    found = {name: find(resource, "spec", manager, "resource", name) for name in ("cpu", "memory")}
    return {name: amount for name, amount in found.items() if amount is not None}


def _bytes(memory: Any) -> Quantity:
    """Memory as Flink spells it, 2048m or 4gb, or as Kubernetes does."""
    if not isinstance(memory, str):
        raise InterpretError(f"{memory!r} is no amount of memory")
    if found := _MEMORY.fullmatch(memory):
        return Quantity(int(found[1]) * 1024 ** _UNITS.index(found[2]), 0, Format.BINARY_SI)
    try:
        amount = Quantity.parse(memory)
    except QuantityError as error:
        raise InterpretError(str(error)) from error
    if amount.sign() < 0:
        raise InterpretError(f"{memory!r} is less than nothing")
    return amount


def _respelled(memory: str) -> str:
    return str(_bytes(memory)) if _MEMORY.fullmatch(memory) else memory


def _is_healthy(observed: JSONObject) -> bool:
    status = observed.get("status")
    state, error = find(status, "jobStatus", "state"), find(status, "error")
    if state is None:
        parts = [find(status, field) for field in ("jobManagerDeploymentStatus", "lifecycleState")]
        return parts == ["READY", "STABLE"]
    if state not in _STARTING or error in (None, False, ""):
        return state in _STARTED
    if not isinstance(error, str | int | float):
        raise InterpretError("status.error is not text")
    return any(mistake in str(error) for mistake in _MISTAKES)


DEPLOYMENT = KindRules(
    replicas=_replicas,
    components=_components,
    reflect=rules.reflect(*_FIELDS),
    aggregate=aggregation(dict.fromkeys(_FIELDS, of_last)),
    health=_is_healthy,
)
