"""Placement: which clusters a resource goes to and how its replicas are shared among them."""

from enum import StrEnum
from typing import Annotated

from karmada.api.base import AtomicStrings, Int64, Schema, Struct
from karmada.api.meta import LabelSelector, Toleration


class ReplicaSchedulingType(StrEnum):
    """Whether every cluster gets all replicas or a share."""

    DUPLICATED = "Duplicated"
    DIVIDED = "Divided"


class ReplicaDivisionPreference(StrEnum):
    """How replicas are shared. `Dynamic` is a spelling of Weighted with dynamicWeight AvailableReplicas."""

    AGGREGATED = "Aggregated"
    WEIGHTED = "Weighted"
    DYNAMIC = "Dynamic"


class DynamicWeightFactor(StrEnum):
    """What weights are computed from at scheduling time."""

    AVAILABLE_REPLICAS = "AvailableReplicas"


class SpreadField(StrEnum):
    """Cluster fields by which clusters can be grouped."""

    CLUSTER = "cluster"
    REGION = "region"
    ZONE = "zone"
    PROVIDER = "provider"


class FieldSelectorRequirement(Struct, frozen=True, kw_only=True):
    """One test of a cluster field."""

    key: str
    """The field to look at: provider, region or zone."""
    operator: str
    """How to compare: In or NotIn."""
    values: AtomicStrings = ()
    """The values to compare with."""


class FieldSelector(Struct, frozen=True, kw_only=True):
    """Chooses clusters by their provider, region or zone."""

    match_expressions: tuple[FieldSelectorRequirement, ...] = ()
    """Tests that must all hold."""


class ClusterAffinity(Struct, frozen=True, kw_only=True):
    """Chooses clusters. All given parts must hold; with no part given every cluster is chosen."""

    label_selector: LabelSelector | None = None
    """Clusters whose labels match."""
    field_selector: FieldSelector | None = None
    """Clusters whose provider, region or zone matches."""
    cluster_names: tuple[str, ...] = ()
    """Clusters by name; empty means any name."""
    exclude: tuple[str, ...] = ()
    """Clusters that are never chosen, by name."""


class OverflowClusterAffinity(ClusterAffinity, frozen=True, kw_only=True):
    """A further group of clusters that takes what the groups before it cannot hold."""

    affinity_name: Annotated[str, Schema(min_length=1, max_length=32)]
    """Name of the group, unique in the term."""


class ClusterAffinityTerm(ClusterAffinity, frozen=True, kw_only=True):
    """One of several groups of clusters that are tried in order until one fits."""

    affinity_name: Annotated[str, Schema(min_length=1, max_length=32)]
    """Name of the group, unique in the policy."""
    overflow_affinities: tuple[OverflowClusterAffinity, ...] = ()
    """Groups that are used as well, in order, when this group has no room for all replicas."""


class SpreadConstraint(Struct, frozen=True, kw_only=True):
    """Bounds the number of cluster groups a resource is spread over."""

    spread_by_field: Annotated[str, Schema(enum=SpreadField)] = ""
    """Group clusters by this field. Excludes spreadByLabel."""
    spread_by_label: str = ""
    """Group clusters by the value of this label; clusters without it are left out. Excludes spreadByField."""
    max_groups: int = 0
    """Use at most this many groups; 0 means no bound."""
    min_groups: int = 0
    """Use at least this many groups; 1 if not given."""


class StaticClusterWeight(Struct, frozen=True, kw_only=True):
    """A fixed weight for some clusters."""

    target_cluster: ClusterAffinity
    """The clusters that have this weight."""
    weight: Annotated[Int64, Schema(minimum=0)]
    """Share of the replicas relative to the other weights. 0 marks a standby cluster: it gets replicas only when no
    cluster with a weight above 0 is left."""


class ClusterPreferences(Struct, frozen=True, kw_only=True):
    """Weights by which replicas are divided. Without any weight clusters are treated alike."""

    static_weight_list: tuple[StaticClusterWeight, ...] = ()
    """Fixed weights."""
    dynamic_weight: Annotated[str, Schema(enum=DynamicWeightFactor)] = ""
    """Compute weights at scheduling time from this factor; static weights are then ignored."""


class ReplicaSchedulingStrategy(Struct, frozen=True, kw_only=True):
    """How the replicas of a resource are shared among the chosen clusters."""

    replica_scheduling_type: Annotated[str, Schema(enum=ReplicaSchedulingType, default="Divided")] = ""
    """Duplicated: every cluster runs all replicas. Divided: the clusters share them."""
    replica_division_preference: Annotated[str, Schema(enum=ReplicaDivisionPreference)] = ""
    """Aggregated packs replicas into few clusters, Weighted shares them by weight, and Dynamic is Weighted by what
    each cluster has room for. Only for Divided."""
    weight_preference: ClusterPreferences | None = None
    """Weights for Weighted."""
    dynamic_weight: Annotated[str, Schema(enum=DynamicWeightFactor)] = ""
    """Short form of weightPreference.dynamicWeight, used with the preference Dynamic."""


class WorkloadAffinityTerm(Struct, frozen=True, kw_only=True):
    """Workloads with the same value of a label belong to one group and go to the same cluster."""

    group_by_label_key: str
    """Label of the resource template whose value names the group."""


class WorkloadAntiAffinityTerm(Struct, frozen=True, kw_only=True):
    """Workloads with the same value of a label belong to one group and go to different clusters."""

    group_by_label_key: str
    """Label of the resource template whose value names the group."""


class WorkloadAffinity(Struct, frozen=True, kw_only=True):
    """Keeps related workloads together or apart."""

    affinity: WorkloadAffinityTerm | None = None
    """Workloads to be near."""
    anti_affinity: WorkloadAntiAffinityTerm | None = None
    """Workloads to stay away from."""


class Placement(Struct, frozen=True, kw_only=True):
    """Where a resource goes."""

    cluster_affinity: ClusterAffinity | None = None
    """The clusters to consider. Excludes clusterAffinities."""
    cluster_affinities: tuple[ClusterAffinityTerm, ...] = ()
    """Groups of clusters that are tried in order. Excludes clusterAffinity."""
    cluster_tolerations: tuple[Toleration, ...] = ()
    """Taints of clusters that the resource puts up with."""
    spread_constraints: tuple[SpreadConstraint, ...] = ()
    """Bounds on the number of regions, zones, providers, clusters or label values used."""
    replica_scheduling: ReplicaSchedulingStrategy | None = None
    """How replicas are shared; every cluster runs all of them if absent."""
    workload_affinity: WorkloadAffinity | None = None
    """Other workloads to be near to or away from."""
