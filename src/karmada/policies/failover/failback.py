"""Failback: when replicas may go back to the clusters that a placement prefers, and when they have."""

from collections.abc import Iterable, Mapping

from karmada.api import conditions
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.meta import find_condition, is_true
from karmada.api.policy.v1alpha1 import FailbackBehavior
from karmada.api.timestamps import parse
from karmada.api.work.v1alpha2 import ResourceBindingSpec, ResourceBindingStatus, TargetCluster

WINDOW, HYSTERESIS, MOVES = 600, 600, 1
"""What a policy means that does not say."""
SECOND = 1.0
"""Times of schedule results are whole seconds: a request must be later than the result it is about."""


def max_moves(behaviour: FailbackBehavior) -> int:
    """How many workloads of the policy go back at the same time."""
    return MOVES if behaviour.max_moves is None else behaviour.max_moves


def wait(
    behaviour: FailbackBehavior,
    gained: Iterable[str],
    clusters: Mapping[str, Cluster],
    status: ResourceBindingStatus,
    now: float,
) -> float | None:
    """Seconds until replicas may go to the clusters that gain some; None while one of them is not ready.

    All of them must have been ready for the window, and the workload must have stayed where it is for the hysteresis.
    """
    window = WINDOW if behaviour.window_seconds is None else behaviour.window_seconds
    still = HYSTERESIS if behaviour.hysteresis_seconds is None else behaviour.hysteresis_seconds
    moments = [parse(status.last_scheduled_time).timestamp() + max(still, SECOND)] if status.last_scheduled_time else []
    ended = find_condition(status.conditions, conditions.FAILING_BACK)
    if ended is not None and ended.last_transition_time:
        moments.append(parse(ended.last_transition_time).timestamp() + still)
    for name in gained:
        since = _ready_since(clusters.get(name))
        if since is None:
            return None
        moments.append(since + window)
    return max(0.0, *(moment - now for moment in moments)) if moments else None


def gained(before: Iterable[TargetCluster], after: Iterable[TargetCluster]) -> list[str]:
    """The clusters that run more than they did."""
    had = {target.name: target.replicas for target in before}
    return sorted(target.name for target in after if target.name not in had or target.replicas > had[target.name])


def is_settled(spec: ResourceBindingSpec, status: ResourceBindingStatus, generation: int) -> bool:
    """Whether the last schedule result is carried out as far as can be known without looking at the copies."""
    return (
        status.scheduler_observed_generation == generation
        and not spec.graceful_eviction_tasks
        and not is_true(status.conditions, conditions.MOVES_WAITING)
    )


def _ready_since(cluster: Cluster | None) -> float | None:
    """Since when a cluster has been ready without a break; None when it is not."""
    if cluster is None or cluster.metadata.deletion_timestamp is not None:
        return None
    ready = find_condition(cluster.status.conditions, conditions.READY)
    if ready is None or ready.status != "True" or not ready.last_transition_time:
        return None
    return parse(ready.last_transition_time).timestamp()
