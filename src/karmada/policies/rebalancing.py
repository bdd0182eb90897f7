"""WorkloadRebalancer: which workloads are still to be triggered, and what its status says of each."""

from collections.abc import Mapping

import msgspec

from karmada.api.apps.v1alpha1 import (
    ObjectReference,
    ObservedWorkload,
    RebalanceResult,
    WorkloadRebalancer,
    WorkloadRebalancerStatus,
)
from karmada.machinery.clock import parse_rfc3339

NOT_FOUND = "ReferencedBindingNotFound"


def observed_workloads(rebalancer: WorkloadRebalancer) -> tuple[ObservedWorkload, ...]:
    """The workloads of spec and status in order: new ones are pending, removed ones stay only if they succeeded."""
    wanted = dict.fromkeys(rebalancer.spec.workloads)
    found = []
    for item in rebalancer.status.observed_workloads:
        if item.workload in wanted:
            found.append(item)
            del wanted[item.workload]
        elif item.result == RebalanceResult.SUCCESSFUL:
            found.append(item)
    found += [ObservedWorkload(workload=workload) for workload in wanted]
    return tuple(sorted(found, key=_order))


def _order(item: ObservedWorkload) -> str:
    workload = item.workload
    return f"{workload.api_version} {workload.kind} {workload.namespace} {workload.name}"


def is_due(created: str, triggered_at: str | None) -> bool:
    """Whether a binding has not been rescheduled since the rebalancer was created."""
    return triggered_at is None or parse_rfc3339(created) > parse_rfc3339(triggered_at)


def new_status(
    rebalancer: WorkloadRebalancer, outcomes: Mapping[ObjectReference, RebalanceResult | None], now: str
) -> WorkloadRebalancerStatus:
    """The status after pending workloads were triggered; an outcome of None is still pending.

    The finish time is set when nothing is pending, anew whenever the status changes.
    """
    items = []
    for item in observed_workloads(rebalancer):
        outcome = outcomes.get(item.workload)
        if not item.result and outcome is not None:
            reason = NOT_FOUND if outcome is RebalanceResult.FAILED else ""
            item = msgspec.structs.replace(item, result=outcome.value, reason=reason)
        items.append(item)
    finish = rebalancer.status.finish_time
    generation = rebalancer.metadata.generation
    status = WorkloadRebalancerStatus(
        observed_workloads=tuple(items), observed_generation=generation, finish_time=finish
    )
    if status != rebalancer.status and all(item.result for item in items):
        return msgspec.structs.replace(status, finish_time=now)
    return status
