"""Gives bindings their permanent identity; judges for whom they speak, their parts and, where quotas are enforced, what
they use."""

from karmada.api import annotations, labels
from karmada.api.codec import DecodeError, decode
from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.field_errors import FieldError, forbidden, invalid
from karmada.api.work.v1alpha2 import ClusterResourceBinding, Component, ResourceBinding
from karmada.policies.binding import objection
from karmada.policies.quota import difference, usage
from karmada.webhook.amounts import below_zero, require_amounts
from karmada.webhook.model import Operation, Review, decoded, refuse_if_any, stored
from karmada.webhook.quota_booking import book

Binding = ResourceBinding | ClusterResourceBinding


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
    before = stored(review.old, ResourceBinding) if review.old is not None else None
    if before is not None and review.operation is Operation.UPDATE:
        require_amounts(before.spec)
    refuse_if_any(_dependency_errors(binding))
    errors = _identity_errors(binding, before, labels.RESOURCE_BINDING_PERMANENT_ID) + _amount_errors(binding, before)
    if review.gates.enabled("MultiplePodTemplatesScheduling"):
        errors += _component_errors(binding.spec.components)
    refuse_if_any(errors)
    if review.gates.enabled("FederatedQuotaEnforcement"):
        await _enforce_quota(review, binding, before)


async def validate_cluster_binding(review: Review) -> None:
    """Judge a ClusterResourceBinding."""
    binding = decoded(review.object, ClusterResourceBinding)
    before = stored(review.old, ClusterResourceBinding) if review.old is not None else None
    errors = _identity_errors(binding, before, labels.CLUSTER_RESOURCE_BINDING_PERMANENT_ID)
    refuse_if_any(errors + _amount_errors(binding, before))


def _identity_errors(binding: Binding, before: Binding | None, key: str) -> list[FieldError]:
    """Who a binding is stays; for what it speaks is judged when it is named. One that was there before this rule must
    remain writable, or it could never be removed."""
    errors: list[FieldError] = []
    known = before.metadata.labels.get(key) if before is not None else None
    if known and binding.metadata.labels.get(key) != known:
        errors.append(forbidden(f"metadata.labels[{key}]", "the permanent id of a binding cannot be changed"))
    if (before is None or _named(before) != _named(binding)) and (why := objection(binding)):
        errors.append(forbidden("spec.resource", why))
    return errors


def _amount_errors(binding: Binding, before: Binding | None) -> list[FieldError]:
    """What is below zero, unless it was as low before: a binding from before this rule must remain writable."""
    return below_zero(binding.spec, before.spec if before is not None else None)


def _named(binding: Binding) -> tuple[str, str, str, str]:
    resource = binding.spec.resource
    return resource.api_version, resource.kind, resource.namespace, resource.name


def _identify(review: Review, key: str) -> None:
    """Give a binding an id, unless it has one: a restored binding keeps the Works that carry it."""
    metadata = review.object["metadata"] = review.object.get("metadata") or {}
    marks = metadata.get("labels") or {}
    if not marks.get(key):
        metadata["labels"] = {**marks, key: review.new_id()}
    review.object.setdefault("status", {})


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


async def _enforce_quota(review: Review, binding: ResourceBinding, before: ResourceBinding | None) -> None:
    """Refuse what a quota has no room for; record what is used more in those that have."""
    if review.operation is Operation.CREATE and not binding.spec.clusters:
        return
    changed = difference(usage(binding.spec), usage(before.spec) if before else {})
    if more := {name: amount for name, amount in changed.items() if amount.sign() > 0}:
        await book(review, more)
