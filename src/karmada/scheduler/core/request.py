"""What is asked of the scheduler: one binding under one affinity term, in the form the steps of the algorithm read.

`Request` is made once per attempt. Filters and scores may read anything in it; what they remember between requests is
keyed by their `aspect` of it.
"""

from dataclasses import dataclass, field
from enum import Enum

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
    by_model: bool = field(init=False)
    """Whether grade models of clusters are looked at."""
    protects: bool = field(init=False)
    """Whether what was placed recently counts against room."""
    avoids_loops: bool = field(init=False)
    """Whether a toleration that ends opens no cluster to a new copy."""
    heeds_room: bool = field(init=False)
    """Whether fixed weights give no cluster more than it has room for."""

    def __post_init__(self) -> None:
        # Asked for every decision: looked up once.
        object.__setattr__(self, "by_model", self.gates.enabled("CustomizedClusterResourceModeling"))
        object.__setattr__(self, "protects", self.gates.enabled("SchedulingOvercommitProtection"))
        object.__setattr__(self, "avoids_loops", self.gates.enabled("AvoidEvictionLoops"))
        object.__setattr__(self, "heeds_room", self.gates.enabled("RoomAwareScaling"))


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
    triggered, done = binding.spec.reschedule_triggered_at, binding.status.last_scheduled_time
    if not triggered or not done:
        return False
    return timestamps.parse(triggered) > timestamps.parse(done)


def is_failing_back(binding: Binding) -> bool:
    """Whether replicas were asked to go back to preferred clusters after it was last scheduled."""
    triggered, done = binding.spec.failback_triggered_at, binding.status.last_scheduled_time
    if not triggered or not done:
        return False
    return timestamps.parse(triggered) > timestamps.parse(done)


class Request:
    """A binding under one affinity term. Read only."""

    __slots__ = (
        "affinity",
        "attracted",
        "binding",
        "fresh",
        "is_workload",
        "leaving",
        "placement",
        "places_sets",
        "repelled",
        "settings",
        "spec",
        "spread",
        "strategy",
        "targets",
        "term",
        "tiers",
    )

    def __init__(
        self,
        binding: Binding,
        placement: Placement,
        settings: Settings,
        term: ClusterAffinityTerm | None = None,
        fresh: bool = False,
        attracted: tuple[frozenset[str], ...] = (),
        repelled: frozenset[str] = frozenset(),
    ) -> None:
        spec = binding.spec
        self.binding = binding
        self.spec: ResourceBindingSpec = spec
        self.placement = placement
        self.settings = settings
        self.term = term
        """The term under trial; None when the placement has no list of terms."""
        self.fresh = fresh
        """Whether replicas are divided without regard to where they are."""
        self.attracted = attracted
        """Where each placed binding of the same affinity group goes."""
        self.repelled = repelled
        """The clusters of the other bindings of the same anti-affinity group."""
        self.targets = {target.name: target.replicas for target in spec.clusters}
        """The clusters the binding goes to now, with their replicas."""
        self.leaving = frozenset([task.from_cluster for task in spec.graceful_eviction_tasks])
        """The clusters the binding is being withdrawn from."""
        self.strategy = strategy_of(placement)
        self.is_workload = (spec.replicas > 0 or spec.replica_requirements is not None) and len(spec.components) <= 1
        """Whether there are replicas to assign."""
        self.affinity: ClusterAffinity | None = term if term is not None else placement.cluster_affinity
        self.tiers: tuple[ClusterAffinity, ...] = () if self.affinity is None else (self.affinity,)
        """The affinity and those it overflows to; only replicas overflow."""
        if term is not None and self.is_workload:
            self.tiers += term.overflow_affinities
        self.spread: dict[str, SpreadConstraint] = {
            "label" if constraint.spread_by_label else constraint.spread_by_field: constraint
            for constraint in placement.spread_constraints
        }
        """Constraints by field; `label` stands for a label."""
        self.places_sets = bool(spec.components) and self._wants_one_cluster()
        """Whether all components go to one cluster as a set."""

    def _wants_one_cluster(self) -> bool:
        constraint = self.spread.get("cluster")
        if constraint is None or not constraint.min_groups == constraint.max_groups == 1:
            return False
        return self.settings.gates.enabled("MultiplePodTemplatesScheduling")
