"""ResourceBinding and ClusterResourceBinding: one resource, the clusters chosen for it, and its status there."""

from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from msgspec import field

from karmada.api.base import (
    ABSENT,
    REASON_PATTERN,
    AtomicStrings,
    Int32,
    Int64,
    OpenObject,
    ResourceList,
    Schema,
    Struct,
    Time,
    always,
)
from karmada.api.meta import Condition, ObjectMeta, Toleration
from karmada.api.policy.v1alpha1 import ConflictResolution, FailoverBehavior, Placement, PurgeMode, Suspension


class ResourceHealth(StrEnum):
    """Health of a copy in a cluster."""

    HEALTHY = "Healthy"
    UNHEALTHY = "Unhealthy"
    UNKNOWN = "Unknown"


class ObjectReference(Struct, frozen=True, kw_only=True):
    """The resource template a binding is about."""

    api_version: str
    """API version of the template."""
    kind: str
    """Kind of the template."""
    namespace: str = ""
    """Namespace of the template; empty if it has none."""
    name: str
    """Name of the template."""
    uid: str = ""
    """UID of the template."""
    resource_version: str = ""
    """Version of the template that was looked at."""


class NodeSelectorRequirement(Struct, frozen=True, kw_only=True):
    """One test of a node."""

    key: str
    """The label or field to look at."""
    operator: str
    """How to compare: In, NotIn, Exists, DoesNotExist, Gt or Lt."""
    values: AtomicStrings = ()
    """The values to compare with."""


class NodeSelectorTerm(Struct, frozen=True, kw_only=True):
    """Tests that must all hold for a node."""

    SCHEMA: ClassVar[Schema] = Schema(map_type="atomic")

    match_expressions: Annotated[tuple[NodeSelectorRequirement, ...], Schema(list_type="atomic")] = ()
    """Tests of labels."""
    match_fields: Annotated[tuple[NodeSelectorRequirement, ...], Schema(list_type="atomic")] = ()
    """Tests of fields."""


class NodeSelector(Struct, frozen=True, kw_only=True):
    """Chooses nodes for which at least one term holds."""

    SCHEMA: ClassVar[Schema] = Schema(map_type="atomic")

    node_selector_terms: Annotated[tuple[NodeSelectorTerm, ...], Schema(list_type="atomic")]
    """The terms."""


class NodeClaim(Struct, frozen=True, kw_only=True):
    """The nodes a replica can run on."""

    hard_node_affinity: NodeSelector | None = None
    """Nodes it must run on."""
    node_selector: dict[str, str] = field(default_factory=dict)
    """Labels its node must have."""
    tolerations: tuple[Toleration, ...] = ()
    """Node taints it puts up with."""


class ComponentReplicaRequirements(Struct, frozen=True, kw_only=True):
    """What one replica of a component needs."""

    node_claim: NodeClaim | None = None
    """The nodes it can run on."""
    resource_request: ResourceList = field(default_factory=dict)
    """The amounts it asks for."""
    priority_class_name: str = ""
    """Its priority class."""


class ReplicaRequirements(Struct, frozen=True, kw_only=True):
    """What one replica needs."""

    node_claim: NodeClaim | None = None
    """The nodes it can run on."""
    resource_request: ResourceList = field(default_factory=dict)
    """The amounts it asks for."""
    namespace: str = ""
    """The namespace whose quota it counts against."""
    priority_class_name: str = ""
    """Its priority class."""


class Component(Struct, frozen=True, kw_only=True):
    """One part of a workload that has several pod templates."""

    name: Annotated[str, Schema(max_length=32)]
    """Name of the part."""
    replicas: Int32
    """How many replicas it wants."""
    replica_requirements: ComponentReplicaRequirements | None = None
    """What one of them needs."""


class TargetComponent(Struct, frozen=True, kw_only=True):
    """The share of one part that a cluster runs."""

    name: str
    """Name of the part."""
    replicas: Int32
    """Replicas in the cluster."""


class TargetCluster(Struct, frozen=True, kw_only=True):
    """A chosen cluster."""

    name: str
    """The cluster."""
    replicas: Int32 = 0
    """Replicas it runs."""
    components: tuple[TargetComponent, ...] = ()
    """Replicas it runs per part, for a workload of several."""


class GracefulEvictionTask(Struct, frozen=True, kw_only=True):
    """A copy that is being withdrawn from a cluster once its replacement is healthy."""

    from_cluster: str
    """The cluster that is left."""
    purge_mode: Annotated[str, Schema(enum=PurgeMode)] = ""
    """How the copy is removed."""
    replicas: Int32 | None = None
    """Replicas the copy had."""
    reason: Annotated[str, Schema(min_length=1, max_length=32, pattern=REASON_PATTERN)]
    """Why, as one word for programs."""
    message: Annotated[str, Schema(max_length=1024)] = ""
    """Why, for people."""
    producer: str
    """Who asked for it."""
    grace_period_seconds: Int32 | None = None
    """Remove the copy after this time even if the replacement is not healthy."""
    suppress_deletion: bool | None = None
    """true keeps the copy until someone changes this; false removes it right away."""
    preserved_label_state: dict[str, str] = field(default_factory=dict)
    """Labels the replacement receives."""
    creation_timestamp: Time | None = None
    """When it was asked for."""
    clusters_before_failover: tuple[str, ...] = ()
    """The clusters that ran the resource before."""


class BindingSnapshot(Struct, frozen=True, kw_only=True):
    """A binding that needs this one, and where it goes."""

    namespace: str = ""
    """Namespace of that binding; empty if it has none."""
    name: str
    """Name of that binding."""
    clusters: tuple[TargetCluster, ...] = ()
    """The clusters chosen for it."""


class BindingSuspension(Suspension, frozen=True, kw_only=True):
    """What is halted for the binding."""

    scheduling: bool | None = None
    """Do not schedule."""


class BindingSchedulePriority(Struct, frozen=True, kw_only=True):
    """How urgent scheduling is."""

    priority: Annotated[Int32, Schema(default=0)] = 0
    """Higher goes first."""


class WorkloadAffinityGroups(Struct, frozen=True, kw_only=True):
    """The groups the workload belongs to."""

    affinity_group: str = ""
    """Workloads of this group share a cluster."""
    anti_affinity_group: str = ""
    """Workloads of this group avoid each other's clusters."""


class ResourceBindingSpec(Struct, frozen=True, kw_only=True):
    """The resource, what it needs, and the clusters chosen for it."""

    resource: ObjectReference
    """The resource template."""
    propagate_deps: bool = False
    """Whether what the resource refers to follows it."""
    replica_requirements: ReplicaRequirements | None = None
    """What one replica needs."""
    replicas: Int32 = 0
    """How many replicas the template wants."""
    components: tuple[Component, ...] = ()
    """The parts of a workload with several pod templates."""
    clusters: tuple[TargetCluster, ...] = ()
    """The scheduler's choice."""
    placement: Placement | None = None
    """The placement of the policy."""
    graceful_eviction_tasks: tuple[GracefulEvictionTask, ...] = ()
    """Copies that are being withdrawn."""
    required_by: tuple[BindingSnapshot, ...] = ()
    """Bindings whose resources need this one; their clusters receive it too."""
    scheduler_name: str = ""
    """The scheduler in charge."""
    failover: FailoverBehavior | None = None
    """When and how the resource moves."""
    conflict_resolution: Annotated[str, Schema(enum=ConflictResolution, default="Abort")] = ""
    """Whether an object that already exists in a cluster is taken over."""
    reschedule_triggered_at: Time | None = None
    """Someone asked at this moment to schedule everything anew."""
    failback_triggered_at: Time | None = None
    """The clusters that the placement prefers were found healthy for long enough at this moment: go back to them."""
    suspension: BindingSuspension | None = None
    """What is halted."""
    preserve_resources_on_deletion: bool | None = None
    """Keep the copies when the template is deleted."""
    schedule_priority: BindingSchedulePriority | None = None
    """How urgent scheduling is."""
    workload_affinity_groups: WorkloadAffinityGroups | None = None
    """Groups the workload belongs to."""


class AggregatedStatusItem(Struct, frozen=True, kw_only=True):
    """The observed status of the resource in one cluster."""

    cluster_name: str
    """The cluster."""
    status: OpenObject = ABSENT
    """The status of the copy, as the cluster reports it."""
    applied: bool = False
    """Whether the copy was written."""
    applied_message: str = ""
    """Why it was not."""
    health: Annotated[str, Schema(enum=ResourceHealth)] = ""
    """Whether the copy is healthy."""


class ResourceBindingStatus(Struct, frozen=True, kw_only=True):
    """How far scheduling and delivery are."""

    scheduler_observed_generation: Int64 = 0
    """The generation the scheduler last looked at."""
    scheduler_observing_affinity_name: str = ""
    """The affinity term in use, if the placement has several."""
    last_scheduled_time: Time | None = None
    """When the scheduler last succeeded."""
    conditions: tuple[Condition, ...] = ()
    """Scheduled, FullyApplied, and what keeps moves waiting."""
    aggregated_status: tuple[AggregatedStatusItem, ...] = ()
    """The observed status of the resource per cluster."""
    unhealthy_since: dict[str, Time] = field(default_factory=dict)
    """When the copy in a cluster was first seen unhealthy; kept while application failover waits for it."""


class ResourceBinding(Struct, frozen=True, kw_only=True):
    """Ties a namespaced resource to the clusters chosen for it."""

    api_version: Literal["work.karmada.io/v1alpha2"] = always("work.karmada.io/v1alpha2")
    kind: Literal["ResourceBinding"] = always("ResourceBinding")
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceBindingSpec
    """The resource, what it needs, and the clusters chosen for it."""
    status: ResourceBindingStatus = ResourceBindingStatus()
    """How far scheduling and delivery are."""


class ClusterResourceBinding(Struct, frozen=True, kw_only=True):
    """Ties a cluster-scoped resource to the clusters chosen for it."""

    api_version: Literal["work.karmada.io/v1alpha2"] = always("work.karmada.io/v1alpha2")
    kind: Literal["ClusterResourceBinding"] = always("ClusterResourceBinding")
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceBindingSpec
    """The resource, what it needs, and the clusters chosen for it."""
    status: ResourceBindingStatus = ResourceBindingStatus()
    """How far scheduling and delivery are."""
