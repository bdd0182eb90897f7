"""Gives bindings their permanent identity; judges their parts and, where quotas are enforced, what they use."""

from karmada.api import annotations, labels
from karmada.api.codec import DecodeError, decode
from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.field_errors import FieldError, invalid
from karmada.api.quantity import Quantity, QuantityError
from karmada.api.work.v1alpha2 import ClusterResourceBinding, Component, ResourceBinding, ResourceBindingSpec
from karmada.policies.quota import difference, usage
from karmada.webhook.model import Denied, Operation, Review, decoded, refuse_if_any
from karmada.webhook.quota_booking import book


def mutate_binding(review: Review) -> None:
    """Complete a ResourceBinding."""
    require_amounts(decoded(review.object, ResourceBinding).spec)
    _identify(review, labels.RESOURCE_BINDING_PERMANENT_ID)


def mutate_cluster_binding(review: Review) -> None:
    """Complete a ClusterResourceBinding."""
    require_amounts(decoded(review.object, ClusterResourceBinding).spec)
    _identify(review, labels.CLUSTER_RESOURCE_BINDING_PERMANENT_ID)


async def validate_binding(review: Review) -> None:
    """Judge a ResourceBinding."""
    binding = decoded(review.object, ResourceBinding)
    require_amounts(binding.spec)
    refuse_if_any(_dependency_errors(binding))
    errors: list[FieldError] = []
    if review.gates.enabled("MultiplePodTemplatesScheduling"):
        errors += _component_errors(binding.spec.components)
    refuse_if_any(errors)
    if review.gates.enabled("FederatedQuotaEnforcement"):
        await _enforce_quota(review, binding)


def _identify(review: Review, key: str) -> None:
    """Give a binding an id, unless it has one: a restored binding keeps the Works that carry it."""
    metadata = review.object["metadata"] = review.object.get("metadata") or {}
    marks = metadata.get("labels") or {}
    if not marks.get(key):
        metadata["labels"] = {**marks, key: review.new_id()}
    review.object.setdefault("status", {})


def require_amounts(spec: ResourceBindingSpec) -> None:
    """Refuse a binding with an amount that nobody can read."""
    needs = [spec.replica_requirements, *(component.replica_requirements for component in spec.components)]
    try:
        for amount in (amount for need in needs if need is not None for amount in need.resource_request.values()):
            Quantity.parse(amount)
    except QuantityError as error:
        raise Denied(str(error), code=400, reason="") from error


def _dependency_errors(binding: ResourceBinding) -> list[FieldError]:
    text = binding.metadata.annotations.get(annotations.DEPENDENCIES)
    if text is None or text.strip() == "null":
        return []
    try:
        decode(text, tuple[DependentObjectReference, ...], complete=True)
    except DecodeError:
        path = f"metadata.annotations.{annotations.DEPENDENCIES}"
        return [invalid(path, text, "annotation value must be a valid JSON")]
    return []


def _component_errors(components: tuple[Component, ...]) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, component in enumerate(components):
        path = f"spec.components[{index}].name"
        if not component.name:
            errors.append(invalid(path, component.name, "component names must be non-empty"))
        elif component.name in seen:
            errors.append(invalid(path, component.name, "component names must be unique"))
        seen.add(component.name)
    return errors


async def _enforce_quota(review: Review, binding: ResourceBinding) -> None:
    """Refuse what a quota has no room for; record what is used in those that have."""
    before = decoded(review.old, ResourceBinding) if review.old is not None else None
    if review.operation is Operation.CREATE and not binding.spec.clusters:
        return
    delta = difference(usage(binding.spec), usage(before.spec) if before else {})
    if delta:
        await book(review, delta)
