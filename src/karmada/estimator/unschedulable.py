"""How many replicas of a workload wait for a node for too long."""

from collections.abc import Iterable

from karmada.api import timestamps
from karmada.api.native import Pod


def unschedulable_replicas(pods: Iterable[Pod], now: float, threshold: float) -> int:
    """Pods that the member's scheduler found no node for, and whose condition has been so for the threshold."""
    return sum(1 for pod in pods if _waits(pod, now, threshold))


def _waits(pod: Pod, now: float, threshold: float) -> bool:
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled":
            if condition.status != "False" or condition.reason != "Unschedulable":
                return False
            since = condition.last_transition_time
            return since is not None and now - timestamps.parse(since).timestamp() > threshold
    return False
