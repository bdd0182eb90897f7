"""Gives bindings their permanent identity; judges their parts and, where quotas are enforced, what they use."""

from karmada.api import annotations, labels
from karmada.api.codec import DecodeError, decode
from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.field_errors import FieldError, invalid
from karmada.api.work.v1alpha2 import Component, ResourceBinding
from karmada.policies.quota import difference, usage
from karmada.webhook.model import Operation, Review, decoded, refuse_if_any
from karmada.webhook.quota_booking import book


def mutate_binding(review: Review) -> None:
    """Complete a ResourceBinding."""
    _identify(review, labels.RESOURCE_BINDING_PERMANENT_ID)


def mutate_cluster_binding(review: Review) -> None:
    """Complete a ClusterResourceBinding."""
    _identify(review, labels.CLUSTER_RESOURCE_BINDING_PERMANENT_ID)


async def validate_binding(review: Review) -> None:
    """Judge a ResourceBinding."""
    binding = decoded(review.object, ResourceBinding)
    errors = _dependency_errors(binding)
    if review.gates.enabled("MultiplePodTemplatesScheduling"):
        errors += _component_errors(binding.spec.components)
    refuse_if_any(errors)
    if review.gates.enabled("FederatedQuotaEnforcement"):
        await _enforce_quota(review, binding)


def _identify(review: Review, key: str) -> None:
    metadata = review.object.setdefault("metadata", {})
    metadata["labels"] = {**(metadata.get("labels") or {}), key: review.new_id()}
    review.object.setdefault("status", {})


def _dependency_errors(binding: ResourceBinding) -> list[FieldError]:
    text = binding.metadata.annotations.get(annotations.DEPENDENCIES)
    if text is None or text.strip() == "null":
        return []
    try:
        decode(text, tuple[DependentObjectReference, ...])
    except DecodeError:
        path = f"metadata.annotations[{annotations.DEPENDENCIES}]"
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
