"""Fields of propagation policies that need a feature gate."""

from collections.abc import Iterator

from karmada.api.feature_gates import FeatureGates
from karmada.api.policy.v1alpha1 import FailoverBehavior, PropagationSpec


def gated_fields(spec: PropagationSpec, gates: FeatureGates) -> list[str]:
    """Fields that are set and have no effect because of a gate."""
    failover = spec.failover
    kept = failover is not None and any(
        part is not None and part.state_preservation is not None for part in (failover.application, failover.cluster)
    )
    needed = (
        ("spec.placement.workloadAffinity", "WorkloadAffinity", spec.placement.workload_affinity is not None),
        ("spec.preemption", "PropagationPolicyPreemption", spec.preemption == "Always"),
        ("spec.schedulePriority", "PriorityBasedScheduling", spec.schedule_priority is not None),
        ("spec.propagateDeps", "PropagateDeps", spec.propagate_deps),
        ("spec.failover.cluster", "Failover", failover is not None and failover.cluster is not None),
        ("statePreservation", "StatefulFailoverInjection", kept),
        *((f"spec.failover.{name}", "ControlledMoves", is_set) for name, is_set in _controlled(failover)),
    )
    return [
        f"{field} has no effect: the feature gate {gate} is off"
        for field, gate, is_set in needed
        if is_set and not gates.enabled(gate)
    ]


def _controlled(failover: FailoverBehavior | None) -> Iterator[tuple[str, bool]]:
    if failover is not None:
        yield "failback", failover.failback is not None
        yield "disruptionBudget", failover.disruption_budget is not None
        yield "fencing", failover.fencing is not None
        yield "rescheduleTriggers", failover.reschedule_triggers is not None
