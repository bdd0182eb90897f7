"""Graceful eviction: which copies still wait for their replacement, and which may go."""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from karmada.api.work.v1alpha2 import GracefulEvictionTask, ResourceBindingSpec, ResourceBindingStatus
from karmada.machinery.clock import parse_rfc3339, rfc3339

HEALTHY = "Healthy"


def _never(task: GracefulEvictionTask) -> str:
    """Nothing holds a task that is over."""
    return ""


@dataclass(frozen=True, slots=True)
class Assessment:
    """What becomes of the tasks of a binding."""

    kept: tuple[GracefulEvictionTask, ...]
    evicted: tuple[str, ...]
    """Clusters whose task is over: their copies may be deleted."""
    requeue_after: float | None
    """Seconds until the next task times out; None when none does."""


def assess(
    spec: ResourceBindingSpec,
    status: ResourceBindingStatus,
    generation: int,
    timeout: float,
    now: float,
    hold: Callable[[GracefulEvictionTask], str] = _never,
) -> Assessment:
    """Stamp new tasks, end those whose replacement is healthy or whose time is up, keep the rest.

    `hold` says why a task that is over stays nevertheless; its message names it.
    """
    is_scheduled = status.scheduler_observed_generation == generation
    replaced = is_scheduled and is_replacement_healthy(spec, status)
    kept: list[GracefulEvictionTask] = []
    evicted: list[str] = []
    waits: list[float] = []
    for task in spec.graceful_eviction_tasks:
        if task.creation_timestamp is None:
            task = msgspec.structs.replace(task, creation_timestamp=rfc3339(now))
        elif _is_over(task, timeout, now, replaced):
            if why := hold(task):
                kept.append(msgspec.structs.replace(task, message=why))
            else:
                evicted.append(task.from_cluster)
            continue
        kept.append(task)
        if task.suppress_deletion is None:
            waits.append(_deadline(task, timeout) - now)
    return Assessment(tuple(kept), tuple(evicted), min(waits, default=None))


def is_replacement_healthy(spec: ResourceBindingSpec, status: ResourceBindingStatus) -> bool:
    """Whether the workload is healthy in every cluster it is scheduled to."""
    health = {item.cluster_name: item.health for item in reversed(status.aggregated_status)}
    return all(health.get(target.name) == HEALTHY for target in spec.clusters)


def _is_over(task: GracefulEvictionTask, timeout: float, now: float, replaced: bool) -> bool:
    if task.suppress_deletion is not None:
        # true: the user decides when; false: the user has decided.
        return not task.suppress_deletion
    return replaced or now > _deadline(task, timeout)


def _deadline(task: GracefulEvictionTask, timeout: float) -> float:
    assert task.creation_timestamp is not None
    patience = timeout if task.grace_period_seconds is None else task.grace_period_seconds
    return parse_rfc3339(task.creation_timestamp) + patience
