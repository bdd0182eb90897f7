"""Argo Workflow."""

from collections.abc import Sequence

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.interpreter.model import InterpretError, JSONObject, KindRules, ReplicaNeeds
from karmada.interpreter.thirdparty import kruise, pods
from karmada.interpreter.thirdparty.tables import at, entries, find

_UNHEALTHY = ("", "Failed", "Error")


def replicas(resource: JSONObject) -> ReplicaNeeds:
    """As many pods as run at the same time; what they need differs from step to step, so only nodes are claimed."""
    spec = at(resource, "spec")
    count = at(spec, "parallelism")
    claim = {field: spec.get(field) for field in ("nodeSelector", "tolerations", "affinity")}
    return ReplicaNeeds(int(count) if count is not None else 1, pods.requirements({"spec": claim}))


def retain(desired: JSONObject, observed: JSONObject) -> JSONObject:
    """Whoever suspends it in a cluster decides about it, and its status is part of how it runs."""
    at(desired, "spec", "suspend")
    suspend = at(observed, "spec", "suspend")
    if suspend is not None:
        desired["spec"]["suspend"] = suspend
    if observed.get("status") is not None:
        desired["status"] = observed["status"]
    return desired


def is_healthy(observed: JSONObject) -> bool:
    phase = find(observed, "status", "phase")
    return phase is not None and phase not in _UNHEALTHY


def dependencies(resource: JSONObject) -> Sequence[DependentObjectReference]:
    spec = at(resource, "spec")
    if not isinstance(spec, dict):
        raise InterpretError("the spec is missing")
    pod = {
        "volumes": spec.get("volumes"),
        "imagePullSecrets": spec.get("imagePullSecrets"),
        "serviceAccountName": spec.get("serviceAccountName"),
        "containers": [template["container"] for template in entries(spec.get("templates")) if "container" in template],
    }
    return pods.all_dependencies({"spec": pod}, at(resource, "metadata", "namespace"))


RULES = KindRules(
    replicas=replicas,
    revise=kruise.revise("parallelism"),
    retain=retain,
    health=is_healthy,
    dependencies=dependencies,
)
