"""What OpenKruise's workloads have in common."""

from collections.abc import Callable, Sequence

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.interpreter.model import JSONObject, ReplicaNeeds
from karmada.interpreter.thirdparty import pods
from karmada.interpreter.thirdparty.tables import at, number


def needs(resource: JSONObject) -> ReplicaNeeds:
    """Replicas of a pod template."""
    requirements = pods.requirements(at(resource, "spec", "template"))
    return ReplicaNeeds(int(number(at(resource, "spec", "replicas"), "spec.replicas")), requirements)


def revise(field: str) -> Callable[[JSONObject, int], JSONObject]:
    """Set a number in the spec."""

    def set_number(resource: JSONObject, replicas: int) -> JSONObject:
        at(resource, "spec", field)
        resource["spec"][field] = replicas
        return resource

    return set_number


def dependencies(resource: JSONObject) -> Sequence[DependentObjectReference]:
    """What the pod template refers to."""
    return pods.dependencies(at(resource, "spec", "template"), at(resource, "metadata", "namespace"))
