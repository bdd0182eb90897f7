"""Whether a binding has to be scheduled, and which bindings a change of a cluster concerns."""

from collections.abc import Callable
from enum import StrEnum

from karmada.api import annotations
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import DecodeError, decode, encode
from karmada.api.feature_gates import FeatureGates
from karmada.api.policy.v1alpha1 import ClusterAffinity, Placement, RescheduleTrigger
from karmada.policies.cluster_affinity import cluster_matches
from karmada.scheduler.core.request import Binding, Strategy, is_failing_back, is_rescheduled, strategy_of


class Need(StrEnum):
    """Why a binding is scheduled, or that it is not."""

    PLACEMENT_CHANGED = "placementChanged"
    REPLICAS_CHANGED = "replicasChanged"
    RESCHEDULE_TRIGGERED = "rescheduleTriggered"
    FAILBACK_TRIGGERED = "failbackTriggered"
    DUPLICATED = "duplicated"
    """Nothing is divided, so looking again is cheap and moves nothing without cause."""
    TERMINATING_CLUSTER = "terminatingCluster"
    NONE = "none"
    DELETING = "none: deleting"
    NO_PLACEMENT = "none: no placement"


def need(binding: Binding, gates: FeatureGates, is_terminating: Callable[[str], bool]) -> Need:
    """The first reason to schedule a binding."""
    spec = binding.spec
    if binding.metadata.deletion_timestamp is not None:
        return Need.DELETING
    if spec.placement is None:
        return Need.NO_PLACEMENT
    edited = is_edited(binding)
    if edited and (not spec.clusters or may_move(binding, gates, RescheduleTrigger.POLICY_CHANGE)):
        return Need.PLACEMENT_CHANGED
    if _replicas_changed(binding, spec.placement, gates):
        return Need.REPLICAS_CHANGED
    if is_rescheduled(binding):
        return Need.RESCHEDULE_TRIGGERED
    if not edited and is_failing_back(binding) and gates.enabled("ControlledMoves"):
        return Need.FAILBACK_TRIGGERED
    is_workload = spec.replicas > 0 or spec.replica_requirements is not None or bool(spec.components)
    if not edited and (not is_workload or strategy_of(spec.placement) is Strategy.DUPLICATED):
        return Need.DUPLICATED
    if any(is_terminating(target.name) for target in spec.clusters):
        return Need.TERMINATING_CLUSTER
    return Need.NONE


def is_edited(binding: Binding) -> bool:
    """Whether the placement is another than the one that chose the clusters."""
    applied = binding.metadata.annotations.get(annotations.APPLIED_PLACEMENT, "")
    if binding.spec.placement is None:
        return False
    observed = binding.status.scheduler_observing_affinity_name
    return not applied or _placement_changed(applied, binding.spec.placement, observed)


def may_move(binding: Binding, gates: FeatureGates, trigger: RescheduleTrigger) -> bool:
    """Whether an event may move replicas that run well: any may, unless the policy names those that may."""
    failover = binding.spec.failover
    triggers = failover.reschedule_triggers if failover is not None else None
    return triggers is None or trigger in triggers or not gates.enabled("ControlledMoves")


def _placement_changed(applied: str, placement: Placement, observed: str) -> bool:
    if applied == encode(placement).decode():
        return False
    try:
        before = decode(applied, Placement)
    except DecodeError:
        return False
    if (
        before.cluster_affinity != placement.cluster_affinity
        or before.cluster_tolerations != placement.cluster_tolerations
        or before.spread_constraints != placement.spread_constraints
        or before.replica_scheduling != placement.replica_scheduling
    ):
        return True
    if before == placement:
        return False
    # Of what else differs only the term in use counts: editing another one moves nothing.
    in_use = _term(placement, observed)
    return in_use is None or _term(before, observed) != in_use


def _term(placement: Placement, name: str) -> ClusterAffinity | None:
    return next((term for term in placement.cluster_affinities if term.affinity_name == name), None)


def _replicas_changed(binding: Binding, placement: Placement, gates: FeatureGates) -> bool:
    spec = binding.spec
    if placement.replica_scheduling is None:
        return False
    if spec.components and gates.enabled("MultiplePodTemplatesScheduling") and not spec.clusters:
        return True
    if strategy_of(placement) is Strategy.DUPLICATED:
        return any(target.replicas != spec.replicas for target in spec.clusters)
    return sum(target.replicas for target in spec.clusters) != spec.replicas


def is_ours(binding: Binding, scheduler_name: str) -> bool:
    """Whether this scheduler is in charge of the binding and may schedule it."""
    spec = binding.spec
    suspended = spec.suspension is not None and bool(spec.suspension.scheduling)
    return not suspended and (spec.scheduler_name or "default-scheduler") == scheduler_name


def versions_to_check(old: Cluster | None, new: Cluster) -> tuple[Cluster, ...]:
    """The states of a changed cluster that bindings are matched with; none when the change concerns nobody."""
    if old is None:
        # One that has just come serves nothing yet. One that does joined unseen: no event of that will follow.
        return (new,) if new.status.api_enablements else ()
    if old.metadata.deletion_timestamp is None and new.metadata.deletion_timestamp is not None:
        return (new,)
    if old.metadata.labels != new.metadata.labels or old.metadata.generation != new.metadata.generation:
        return old, new
    return ()


def concerns(binding: Binding, clusters: tuple[Cluster, ...], scheduler_name: str) -> bool:
    """Whether a change of a cluster makes a binding worth another look."""
    placement = binding.spec.placement
    if placement is None or not clusters or not is_ours(binding, scheduler_name):
        return False
    if placement.cluster_affinities:
        if binding.status.scheduler_observed_generation != binding.metadata.generation:
            return True
        affinity = affinity_in_use(binding, placement)
    else:
        affinity = placement.cluster_affinity
    return affinity is None or any(cluster_matches(affinity, cluster) for cluster in clusters)


def affinity_in_use(binding: Binding, placement: Placement) -> ClusterAffinity | None:
    """The affinity that chose the present clusters; of a name that nobody knows, the first."""
    if not placement.cluster_affinities:
        return placement.cluster_affinity
    observed = binding.status.scheduler_observing_affinity_name
    return _term(placement, observed) or placement.cluster_affinities[0]
