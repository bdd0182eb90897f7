"""Judges ClusterTaintPolicies: evicting taints need an administrator's leave, and every taint is named once."""

from karmada.api.field_errors import FieldError, duplicate, forbidden
from karmada.api.policy.v1alpha1 import ClusterTaintPolicy
from karmada.webhook.model import Review, decoded, refuse_if_any

_NO_EXECUTE = (
    "Configuring taint with NoExecute effect is not allowed, this capability must be explicitly enabled by "
    "administrators through command-line flags"
)


async def validate_taint_policy(review: Review) -> None:
    """Judge a ClusterTaintPolicy."""
    taints = decoded(review.object, ClusterTaintPolicy).spec.taints
    errors: list[FieldError] = []
    last = {(taint.key, taint.effect): index for index, taint in enumerate(taints)}
    for index, taint in enumerate(taints):
        path = f"spec.taints[{index}]"
        if taint.effect == "NoExecute" and not review.allow_no_execute:
            errors.append(forbidden(path, _NO_EXECUTE))
        if index < last[taint.key, taint.effect]:
            text = f"Duplicate taint with the same key({taint.key}) and effect({taint.effect}) is not allowed"
            errors.append(duplicate(path, text))
    refuse_if_any(errors)
