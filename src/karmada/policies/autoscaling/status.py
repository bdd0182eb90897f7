"""The status of a FederatedHPA while a reconcile fills it in."""

from karmada.api.autoscaling.v1alpha1 import (
    FederatedHPAStatus,
    HorizontalPodAutoscalerCondition,
    MetricStatus,
)
from karmada.api.meta import LONGEST_MESSAGE
from karmada.machinery.clock import rfc3339
from karmada.policies.autoscaling.limits import Condition


class StatusDraft:
    """A status to be written; what a reconcile does not come to stays as it was."""

    def __init__(self, before: FederatedHPAStatus | None, now: float) -> None:
        self._now = rfc3339(now)
        status = before or FederatedHPAStatus(desired_replicas=0)
        self._conditions = status.conditions
        self.current_replicas = status.current_replicas
        self.desired_replicas = status.desired_replicas
        self.metrics: tuple[MetricStatus, ...] = status.current_metrics
        self.last_scale_time = status.last_scale_time
        self._observed_generation = status.observed_generation

    def has(self, type_: str) -> bool:
        """Whether there is a condition of a type."""
        return any(one.type == type_ for one in self._conditions)

    def note(self, condition: Condition) -> bool:
        """Set a condition in its place; its time moves only with its status. Whether that changed."""
        word = str(condition.status)
        known = {one.type: one for one in self._conditions}
        before = known.get(condition.type)
        moved = before is None or before.status != word
        known[condition.type] = HorizontalPodAutoscalerCondition(
            type=condition.type,
            status=word,
            last_transition_time=self._now if moved or before is None else before.last_transition_time,
            reason=condition.reason,
            message=condition.message[:LONGEST_MESSAGE],
        )
        self._conditions = tuple(known.values())
        return moved

    def scaled(self, replicas: int) -> None:
        """The target was scaled to that many replicas."""
        self.desired_replicas = replicas
        self.last_scale_time = self._now

    @property
    def status(self) -> FederatedHPAStatus:
        """What is to be written."""
        return FederatedHPAStatus(
            observed_generation=self._observed_generation,
            last_scale_time=self.last_scale_time,
            current_replicas=self.current_replicas,
            desired_replicas=self.desired_replicas,
            current_metrics=self.metrics,
            conditions=self._conditions,
        )
