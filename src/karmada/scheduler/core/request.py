"""What is asked of the scheduler: one binding under one affinity term, in the form the steps of the algorithm read.

`Request` is made once per attempt. Filters and scores may read anything in it; what they remember between requests is
keyed by their `aspect` of it.
"""

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from karmada.api import timestamps
from karmada.api.feature_gates import DEFAULTS, FeatureGates
from karmada.api.policy.v1alpha1 import ClusterAffinity, ClusterAffinityTerm, Placement, SpreadConstraint
from karmada.api.work.v1alpha2 import ClusterResourceBinding, ResourceBinding, ResourceBindingSpec

Binding = ResourceBinding | ClusterResourceBinding


class Strategy(Enum):
    """How replicas are shared, normalised from the several ways to spell it."""

    DUPLICATED = "Duplicated"
    STATIC_WEIGHT = "StaticWeight"
    DYNAMIC_WEIGHT = "DynamicWeight"
    AGGREGATED = "Aggregated"
    UNKNOWN = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the operator of the scheduler chose."""

    gates: FeatureGates = DEFAULTS
    empty_workload_propagation: bool = False


DEFAULT_SETTINGS = Settings()


def strategy_of(placement: Placement) -> Strategy:
    """The strategy a placement asks for."""
    scheduling = placement.replica_scheduling
    if scheduling is None or scheduling.replica_scheduling_type == "Duplicated":
        return Strategy.DUPLICATED
    match scheduling.replica_division_preference:
        case "Aggregated":
            return Strategy.AGGREGATED
        case "Dynamic":
            return Strategy.DYNAMIC_WEIGHT
        case "Weighted":
            preference = scheduling.weight_preference
            dynamic = (preference.dynamic_weight if preference else "") or scheduling.dynamic_weight
            return Strategy.DYNAMIC_WEIGHT if dynamic else Strategy.STATIC_WEIGHT
    return Strategy.UNKNOWN


def is_rescheduled(binding: Binding) -> bool:
    """Whether somebody asked to schedule everything anew after it was last scheduled."""
    asked, done = binding.spec.reschedule_triggered_at, binding.status.last_scheduled_time
    if not asked or not done:
        return False
    return timestamps.parse(asked) > timestamps.parse(done)


@dataclass(frozen=True)
class Request:
    """A binding under one affinity term."""

    binding: Binding
    placement: Placement
    settings: Settings
    term: ClusterAffinityTerm | None = None
    """The term under trial; None when the placement has no list of terms."""
    fresh: bool = False
    """Whether replicas are divided without regard to where they are."""
    attracted: tuple[frozenset[str], ...] = ()
    """Where each placed binding of the same affinity group goes."""
    repelled: frozenset[str] = frozenset()
    """The clusters of the other bindings of the same anti-affinity group."""

    @property
    def spec(self) -> ResourceBindingSpec:
        return self.binding.spec

    @cached_property
    def targets(self) -> dict[str, int]:
        """The clusters the binding goes to now, with their replicas."""
        return {target.name: target.replicas for target in self.spec.clusters}

    @cached_property
    def leaving(self) -> frozenset[str]:
        """The clusters the binding is being withdrawn from."""
        return frozenset(task.from_cluster for task in self.spec.graceful_eviction_tasks)

    @cached_property
    def strategy(self) -> Strategy:
        return strategy_of(self.placement)

    @cached_property
    def affinity(self) -> ClusterAffinity | None:
        return self.term if self.term is not None else self.placement.cluster_affinity

    @cached_property
    def tiers(self) -> tuple[ClusterAffinity, ...]:
        """The affinity and those it overflows to; only replicas overflow."""
        if self.affinity is None:
            return ()
        overflow = self.term.overflow_affinities if self.term is not None and self.is_workload else ()
        return (self.affinity, *overflow)

    @cached_property
    def is_workload(self) -> bool:
        """Whether there are replicas to assign."""
        spec = self.spec
        return (spec.replicas > 0 or spec.replica_requirements is not None) and len(spec.components) <= 1

    @cached_property
    def spread(self) -> dict[str, SpreadConstraint]:
        """Constraints by field; `label` stands for a label."""
        return {
            "label" if constraint.spread_by_label else constraint.spread_by_field: constraint
            for constraint in self.placement.spread_constraints
        }

    @cached_property
    def places_sets(self) -> bool:
        """Whether all components go to one cluster as a set."""
        if not self.spec.components or not self.settings.gates.enabled("MultiplePodTemplatesScheduling"):
            return False
        constraint = self.spread.get("cluster")
        return constraint is not None and constraint.min_groups == 1 and constraint.max_groups == 1
