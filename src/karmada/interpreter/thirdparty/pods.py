"""Pods inside bundled kinds: what they need and what they refer to."""

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.quantity import Quantity, QuantityError
from karmada.api.work.v1alpha2 import ComponentReplicaRequirements, ReplicaRequirements
from karmada.interpreter.model import InterpretError
from karmada.interpreter.pods.references import pod_dependencies
from karmada.interpreter.pods.requirements import component_requirements, replica_requirements, respelled
from karmada.interpreter.pods.template import PodTemplate
from karmada.interpreter.shape import view


def template_of(tree: Any) -> PodTemplate:
    """A pod template that has to be there."""
    if tree is None:
        raise InterpretError("the pod template is missing")
    template = view(_without_unshaped(tree), PodTemplate)
    for container in (*template.spec.containers, *template.spec.init_containers):
        for amount in (*container.resources.requests.values(), *container.resources.limits.values()):
            _check(amount)
    return template


def _check(amount: int | float | str) -> None:
    try:
        Quantity.parse(amount)
    except QuantityError as error:
        raise InterpretError(str(error)) from error


def requirements(tree: Any) -> ReplicaRequirements | None:
    """What one replica needs. As in the reference, amounts are read once more, which respells some of them."""
    found = replica_requirements(template_of(tree).spec, with_priority=True)
    return None if found is None else structs.replace(found, resource_request=respelled(found.resource_request))


def part_requirements(tree: Any) -> ComponentReplicaRequirements | None:
    """The same for one part of a workload."""
    found = component_requirements(template_of(tree).spec, with_priority=True)
    return None if found is None else structs.replace(found, resource_request=respelled(found.resource_request))


def dependencies(tree: Any, namespace: Any) -> Sequence[DependentObjectReference]:
    """What a pod template refers to; as in the reference, a rule whose only answer would be "nothing" fails."""
    found = all_dependencies(tree, namespace)
    if not found:
        raise InterpretError("the pod template refers to nothing")
    return found


def all_dependencies(tree: Any, namespace: Any) -> Sequence[DependentObjectReference]:
    """The same where "nothing" is an answer."""
    return pod_dependencies(template_of(tree).spec, "default" if namespace is None else namespace)


def reference(kind: str, namespace: Any, name: Any) -> DependentObjectReference:
    return DependentObjectReference(api_version="v1", kind=kind, namespace=namespace or "", name=name or "")


def _without_unshaped(tree: Any) -> Any:
    """Empty lists and objects are the same to a rule, so those that have the wrong shape count as absent."""
    return tree if tree != [] else {}
