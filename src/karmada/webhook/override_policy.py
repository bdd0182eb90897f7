"""Completes and judges override policies: where they reach, and overriders that make sense."""

from karmada.api.codec import to_tree, tree
from karmada.api.field_errors import FieldError, invalid, required
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
from karmada.webhook.model import Review, decoded, refuse_if_any
from karmada.webhook.placement import validate_affinity

_POINTER = 'JSON pointer must be empty or start with a "/"\nJSON pointer error'


def mutate_override_policy(review: Review) -> None:
    """Complete an OverridePolicy: its selectors stay in its namespace."""
    decoded(review.object, OverridePolicy)
    spec = review.object.setdefault("spec", {})
    spec.setdefault("overriders", {})
    for selector in spec.get("resourceSelectors") or []:
        if not selector.get("namespace"):
            selector["namespace"] = review.namespace


async def validate_override_policy(review: Review) -> None:
    """Judge an OverridePolicy."""
    policy = decoded(review.object, OverridePolicy)
    errors = _spec_errors(policy.spec, review)
    detail = "namespace of resource selector must be the same as the namespace of the policy"
    errors += [
        invalid(f"spec.resourceSelectors[{index}].namespace", selector.namespace, detail)
        for index, selector in enumerate(policy.spec.resource_selectors)
        if selector.namespace != review.namespace
    ]
    refuse_if_any(errors)


async def validate_cluster_override_policy(review: Review) -> None:
    """Judge a ClusterOverridePolicy."""
    refuse_if_any(_spec_errors(decoded(review.object, ClusterOverridePolicy).spec, review))


def _spec_errors(spec: OverrideSpec, review: Review) -> list[FieldError]:
    errors: list[FieldError] = []
    has_rules = (review.object.get("spec") or {}).get("overrideRules") is not None
    legacy = to_tree(spec.overriders)
    legacy.pop("fieldOverrider", None)  # newer than the legacy form, and not looked at there
    if has_rules and spec.target_cluster is not None:
        value = to_tree(spec.target_cluster)
        errors.append(invalid("spec.targetCluster", value, "overrideRules and targetCluster can't co-exist"))
    if has_rules and legacy:
        errors.append(invalid("spec.overriders", _shown(legacy), "overrideRules and overriders can't co-exist"))
    for index, rule in enumerate(spec.override_rules):
        path = f"spec.overrideRules[{index}]"
        if rule.target_cluster is not None:
            errors += validate_affinity(rule.target_cluster, f"{path}.targetCluster")
        errors += _overrider_errors(rule.overriders, f"{path}.overriders")
    return errors


def _overrider_errors(overriders: Overriders, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, label in enumerate(overriders.labels_overrider):
        errors += _label_errors(label, f"{path}.labelsOverrider[{index}]", values=True)
    for index, annotation in enumerate(overriders.annotations_overrider):
        errors += _label_errors(annotation, f"{path}.annotationsOverrider[{index}]", values=False)
    for index, image in enumerate(overriders.image_overrider):
        if image.predicate is not None and not _is_pointer(image.predicate.path):
            errors.append(invalid(f"{path}.imageOverrider[{index}].predicate.path", image.predicate.path, _POINTER))
    for index, field in enumerate(overriders.field_overrider):
        errors += _field_errors(field, f"{path}.fieldOverrider[{index}]")
    return errors


def _label_errors(overrider: LabelAnnotationOverrider, path: str, values: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for key, value in overrider.value.items():
        errors += [invalid(f"{path}.value", key, why) for why in label_key(key if values else key.lower())]
        if values:
            errors += [invalid(f"{path}.value", value, why) for why in label_value(value)]
    return errors


def _field_errors(overrider: FieldOverrider, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if not _is_pointer(overrider.field_path):
        errors.append(invalid(f"{path}.fieldPath", overrider.field_path, _POINTER))
    if overrider.json and overrider.yaml:
        detail = "FieldOverrider has both YAML and JSON set. Only one is allowed"
        errors.append(invalid(path, _shown_field(to_tree(overrider)), detail))
    if not overrider.json and not overrider.yaml:
        errors.append(required(path, "FieldOverrider must have either JSON or YAML set"))
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


def _shown(overriders: dict[str, object]) -> dict[str, object]:
    """Overriders as messages show them: a plaintext change always shows a value."""
    shown = dict(overriders)
    plain = shown.get("plaintext")
    if isinstance(plain, list):
        shown["plaintext"] = [{**change, "value": change.get("value")} for change in plain]
    return shown


def _shown_field(overrider: dict[str, object]) -> dict[str, object]:
    shown = dict(overrider)
    for form in ("json", "yaml"):
        changes = shown.get(form)
        if isinstance(changes, list):
            shown[form] = [{**change, "value": change.get("value")} for change in changes]
    return shown
