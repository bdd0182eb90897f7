"""Completes and judges override policies: where they reach, and overriders that make sense.

An override may not make another object of a copy. What a policy shows of that is refused here; what its patches do in
effect is judged when they are applied.
"""

from msgspec.structs import replace

from karmada.api.codec import quotable_tree, tree
from karmada.api.field_errors import FieldError, forbidden, invalid, required
from karmada.api.name_rules import label_key, label_value
from karmada.api.policy.v1alpha1 import (
    ClusterOverridePolicy,
    FieldOverrider,
    FieldPatchOperation,
    LabelAnnotationOverrider,
    OverridePolicy,
    Overriders,
    OverrideSpec,
)
from karmada.overrides.identity import is_managed, touched_by
from karmada.overrides.spelling import spelled, spelled_item
from karmada.webhook.advice import advise_overrides
from karmada.webhook.model import Review, decoded, items, refuse_if_any
from karmada.webhook.placement import validate_affinity
from karmada.webhook.policy_limits import limit_errors
from karmada.webhook.selectors import place_selectors, selector_errors

_POINTER = 'JSON pointer must be empty or start with a "/"\nJSON pointer error'
_IDENTITY = (
    "an override may not change apiVersion, kind, metadata.name, metadata.namespace or metadata.uid of a resource, nor "
    "the labels and annotations Karmada manages it by"
)


def mutate_override_policy(review: Review) -> None:
    """Complete an OverridePolicy: its selectors stay in its namespace."""
    decoded(review.object, OverridePolicy)
    spec = review.object["spec"] = review.object.get("spec") or {}
    spec["overriders"] = spec.get("overriders") or {}
    place_selectors(review, items(spec, "resourceSelectors"))


async def validate_override_policy(review: Review) -> None:
    """Judge an OverridePolicy."""
    spec = decoded(review.object, OverridePolicy).spec
    refuse_if_any(_spec_errors(spec, review))
    await advise_overrides(review, spec)


async def validate_cluster_override_policy(review: Review) -> None:
    """Judge a ClusterOverridePolicy."""
    spec = decoded(review.object, ClusterOverridePolicy).spec
    refuse_if_any(_spec_errors(spec, review))
    await advise_overrides(review, spec)


def _spec_errors(spec: OverrideSpec, review: Review) -> list[FieldError]:
    errors: list[FieldError] = []
    has_rules = (review.object.get("spec") or {}).get("overrideRules") is not None
    if spec.target_cluster is not None:
        errors += validate_affinity(spec.target_cluster, "spec.targetCluster")
        if has_rules:
            value = quotable_tree(spec.target_cluster)
            errors.append(invalid("spec.targetCluster", value, "overrideRules and targetCluster can't co-exist"))
    # fieldOverrider is newer than the legacy form, and not looked at there.
    if has_rules and replace(spec.overriders, field_overrider=()) != Overriders():
        errors.append(
            invalid("spec.overriders", spelled(spec.overriders), "overrideRules and overriders can't co-exist")
        )
    errors += _identity_errors(spec.overriders, "spec.overriders")
    for index, rule in enumerate(spec.override_rules):
        path = f"spec.overrideRules[{index}]"
        errors += _overrider_errors(rule.overriders, f"{path}.overriders")
        if rule.target_cluster is not None:
            errors += validate_affinity(rule.target_cluster, f"{path}.targetCluster")
        errors += _identity_errors(rule.overriders, f"{path}.overriders")
    errors += limit_errors(review, spec.resource_selectors)
    return errors + selector_errors(review, spec.resource_selectors)


def _identity_errors(overriders: Overriders, path: str) -> list[FieldError]:
    """Overriders that would make another object of a copy."""
    pointers = [(f"plaintext[{i}].path", plain.path) for i, plain in enumerate(overriders.plaintext)]
    pointers += [
        (f"imageOverrider[{i}].predicate.path", image.predicate.path)
        for i, image in enumerate(overriders.image_overrider)
        if image.predicate is not None
    ]
    pointers += [
        (f"fieldOverrider[{i}].fieldPath", field.field_path) for i, field in enumerate(overriders.field_overrider)
    ]
    errors = [forbidden(f"{path}.{where}", _IDENTITY) for where, pointer in pointers if touched_by(pointer)]
    for name, entries in (("labels", overriders.labels_overrider), ("annotations", overriders.annotations_overrider)):
        for index, entry in enumerate(entries):
            if any(is_managed(name, key) for key in entry.value or ()):
                errors.append(forbidden(f"{path}.{name}Overrider[{index}].value", _IDENTITY))
    return errors


def _overrider_errors(overriders: Overriders, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, annotation in enumerate(overriders.annotations_overrider):
        errors += _label_errors(annotation, f"{path}.annotationsOverrider[{index}]", values=False)
    for index, label in enumerate(overriders.labels_overrider):
        errors += _label_errors(label, f"{path}.labelsOverrider[{index}]", values=True)
    for index, image in enumerate(overriders.image_overrider):
        if image.predicate is not None and not _is_pointer(image.predicate.path):
            errors.append(invalid(f"{path}.imageOverrider[{index}].predicate.path", image.predicate.path, _POINTER))
    for index, field in enumerate(overriders.field_overrider):
        errors += _field_errors(field, f"{path}.fieldOverrider[{index}]")
    return errors


def _label_errors(overrider: LabelAnnotationOverrider, path: str, values: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for key, value in (overrider.value or {}).items():
        errors += [invalid(f"{path}.value", key, why) for why in label_key(key if values else key.lower())]
        if values:
            errors += [invalid(f"{path}.value", value, why) for why in label_value(value)]
    return errors


def _field_errors(overrider: FieldOverrider, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if overrider.json and overrider.yaml:
        detail = "FieldOverrider has both YAML and JSON set. Only one is allowed"
        errors.append(invalid(path, spelled_item(quotable_tree(overrider), "fieldOverrider"), detail))
    if not overrider.json and not overrider.yaml:
        errors.append(required(path, "FieldOverrider must have either JSON or YAML set"))
    if not _is_pointer(overrider.field_path):
        errors.append(invalid(f"{path}.fieldPath", overrider.field_path, _POINTER))
    for form, changes in (("json", overrider.json), ("yaml", overrider.yaml)):
        for index, change in enumerate(changes):
            errors += _change_errors(change, f"{path}.{form}[{index}]")
    return errors


def _change_errors(change: FieldPatchOperation, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if not _is_pointer(change.sub_path):
        errors.append(invalid(f"{path}.subPath", change.sub_path, _POINTER))
    value = tree(change.value)
    if change.operator == "remove" and value is not None:
        errors.append(invalid(f"{path}.value", value, "value is not allowed for remove operation"))
    if change.operator in ("add", "replace") and value is None:
        errors.append(invalid(f"{path}.value", value, "value is required for add or replace operation"))
    return errors


def _is_pointer(text: str) -> bool:
    return not text or text.startswith("/")
