"""Judges ReplicaSchedulingPolicies: an interval that can be kept, and a threshold to keep."""

from karmada.api import duration
from karmada.api.config.v1alpha1 import ReplicaSchedulingPolicy
from karmada.api.field_errors import FieldError, invalid, required
from karmada.webhook.model import Review, decoded, refuse_if_any

_PATH = "spec.reschedulePolicy"


async def validate_replica_scheduling(review: Review) -> None:
    """Judge a ReplicaSchedulingPolicy."""
    policy = decoded(review.object, ReplicaSchedulingPolicy).spec.reschedule_policy
    errors = _interval_errors(policy.interval) if policy.interval else []
    limits = (
        ("cpuUtilization", policy.threshold.cpu_utilization),
        ("memoryUtilization", policy.threshold.memory_utilization),
    )
    if all(limit is None for _, limit in limits):
        errors.append(required(f"{_PATH}.threshold", "must set cpuUtilization or memoryUtilization, in percent"))
    errors += [
        invalid(f"{_PATH}.threshold.{name}", limit, "must be between 1 and 100, inclusive")
        for name, limit in limits
        if limit is not None and not 1 <= limit <= 100
    ]
    refuse_if_any(errors)


def _interval_errors(text: str) -> list[FieldError]:
    try:
        if duration.parse(text) > 0:
            return []
    except ValueError:
        return [invalid(f"{_PATH}.interval", text, "must be a duration such as 60s or 5m")]
    return [invalid(f"{_PATH}.interval", text, "must be longer than zero")]
