"""Spellings that mean something Karmada has another field for, turned into that field, and defaults written out.

Objects keep what the user wrote; whoever acts on a policy reads it through `canonical`, so that all other code knows
one shape. `contradictions` names forms that say two things at once.
"""

import msgspec

from karmada.api.field_errors import FieldError, invalid
from karmada.api.policy.v1alpha1 import (
    ApplicationFailoverBehavior,
    ClusterPreferences,
    FailoverBehavior,
    Placement,
    PropagationSpec,
    ReplicaSchedulingStrategy,
    SpreadConstraint,
)

_PURGE = {"Immediately": "Directly"}
GRACE_PERIOD = 600


def canonical(spec: PropagationSpec) -> PropagationSpec:
    """The spec in canonical fields only."""
    failover, deps = _failover(spec)
    placement = canonical_placement(spec.placement)
    if failover is spec.failover and placement is spec.placement:
        return spec
    return msgspec.structs.replace(spec, placement=placement, failover=failover, propagate_deps=deps)


def canonical_placement(placement: Placement) -> Placement:
    """The placement in canonical fields only, its spread constraints complete."""
    spread = tuple(map(_completed, placement.spread_constraints))
    if spread != placement.spread_constraints:
        placement = msgspec.structs.replace(placement, spread_constraints=spread)
    scheduling = placement.replica_scheduling
    if scheduling is not None and (scheduling.replica_division_preference == "Dynamic" or scheduling.dynamic_weight):
        return msgspec.structs.replace(placement, replica_scheduling=_dynamic(scheduling))
    return placement


def contradictions(spec: PropagationSpec) -> list[FieldError]:
    """What an object says twice and differently."""
    found: list[FieldError] = []
    scheduling = spec.placement.replica_scheduling
    if scheduling is not None:
        path = "spec.placement.replicaScheduling"
        weights = scheduling.weight_preference
        if scheduling.dynamic_weight and weights and weights.static_weight_list:
            found.append(
                invalid(
                    f"{path}.dynamicWeight",
                    scheduling.dynamic_weight,
                    "cannot co-exist with weightPreference.staticWeightList",
                )
            )
        if scheduling.dynamic_weight and scheduling.replica_division_preference == "Aggregated":
            found.append(
                invalid(
                    f"{path}.dynamicWeight",
                    scheduling.dynamic_weight,
                    "cannot co-exist with replicaDivisionPreference Aggregated",
                )
            )
    failover = spec.failover
    if failover is not None and failover.application is not None and failover.application_migration_policy is not None:
        found.append(
            invalid(
                "spec.failover.applicationMigrationPolicy",
                "applicationMigrationPolicy",
                "cannot co-exist with failover.application: they say the same",
            )
        )
    return found


def _completed(constraint: SpreadConstraint) -> SpreadConstraint:
    field = constraint.spread_by_field or ("" if constraint.spread_by_label else "cluster")
    return msgspec.structs.replace(constraint, spread_by_field=field, min_groups=constraint.min_groups or 1)


def _dynamic(scheduling: ReplicaSchedulingStrategy) -> ReplicaSchedulingStrategy:
    return ReplicaSchedulingStrategy(
        replica_scheduling_type=scheduling.replica_scheduling_type or "Divided",
        replica_division_preference="Weighted",
        weight_preference=ClusterPreferences(dynamic_weight=scheduling.dynamic_weight or "AvailableReplicas"),
    )


def _failover(spec: PropagationSpec) -> tuple[FailoverBehavior | None, bool]:
    failover = spec.failover
    if failover is None or failover.application_migration_policy is None:
        return failover, spec.propagate_deps
    policy = failover.application_migration_policy
    purge = _PURGE.get(policy.purge_policy, policy.purge_policy) or "Gracefully"
    application = ApplicationFailoverBehavior(
        decision_conditions=policy.decision_conditions,
        purge_mode=purge,
        grace_period_seconds=GRACE_PERIOD if purge == "Gracefully" else None,
    )
    return msgspec.structs.replace(failover, application=application), True
