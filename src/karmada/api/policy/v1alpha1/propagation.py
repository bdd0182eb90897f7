"""PropagationPolicy and ClusterPropagationPolicy: what is propagated, where to, and what happens on failure."""

from enum import StrEnum
from typing import Annotated, Literal

from karmada.api.base import Int32, IntOrString, Schema, Struct, always
from karmada.api.meta import LabelSelector, ObjectMeta
from karmada.api.policy.v1alpha1.placement import Placement


class PreemptionBehavior(StrEnum):
    """Whether a policy may take over resources that a lower policy has claimed."""

    ALWAYS = "Always"
    NEVER = "Never"


class ConflictResolution(StrEnum):
    """What happens to an object that already exists in the member cluster."""

    ABORT = "Abort"
    OVERWRITE = "Overwrite"


class ActivationPreference(StrEnum):
    """When a changed policy takes effect."""

    LAZY = "Lazy"


class PurgeMode(StrEnum):
    """How the old copy is removed from a cluster that is being left."""

    DIRECTLY = "Directly"
    GRACEFULLY = "Gracefully"
    NEVER = "Never"


class ClusterPurgeMode(StrEnum):
    """The purge modes for a failed cluster."""

    DIRECTLY = "Directly"
    GRACEFULLY = "Gracefully"


class MigrationPurgePolicy(StrEnum):
    """Purge modes in the spelling of applicationMigrationPolicy; Immediately means Directly."""

    IMMEDIATELY = "Immediately"
    DIRECTLY = "Directly"
    GRACEFULLY = "Gracefully"
    NEVER = "Never"


class RescheduleTrigger(StrEnum):
    """Events that may move replicas which run well."""

    CLUSTER_LABELS = "ClusterLabels"
    POLICY_CHANGE = "PolicyChange"
    CAPACITY = "Capacity"


class PriorityClassSource(StrEnum):
    """Where a priority class is looked up."""

    KUBE_PRIORITY_CLASS = "KubePriorityClass"


class ResourceSelector(Struct, frozen=True, kw_only=True):
    """Chooses resource templates."""

    api_version: str
    """API version of the resources."""
    kind: str
    """Kind of the resources."""
    namespace: str = ""
    """Namespace of the resources; that of the policy if empty."""
    name: str = ""
    """Name of the resource; empty means any. Takes precedence over labelSelector."""
    label_selector: LabelSelector | None = None
    """Resources whose labels match."""


class StatePreservationRule(Struct, frozen=True, kw_only=True):
    """One value to carry over."""

    alias_label_name: str
    """Label under which the new copy receives the value."""
    json_path: str
    """Where the value stands in the status of the old copy."""


class StatePreservation(Struct, frozen=True, kw_only=True):
    """Values of the old copy's status that the new copy receives as labels."""

    rules: tuple[StatePreservationRule, ...]
    """The values to carry over."""


class DecisionConditions(Struct, frozen=True, kw_only=True):
    """When an application counts as failed."""

    toleration_seconds: Annotated[Int32, Schema(default=300)] | None = None
    """How long the application may be unhealthy before it is moved."""


class ApplicationFailoverBehavior(Struct, frozen=True, kw_only=True):
    """What happens when the application is unhealthy in a cluster."""

    decision_conditions: DecisionConditions = always(DecisionConditions())
    """When to act."""
    purge_mode: Annotated[str, Schema(enum=PurgeMode, default="Gracefully")] = ""
    """How the unhealthy copy is removed: Directly at once, Gracefully when its replacement is healthy, Never leaves
    that to the user."""
    grace_period_seconds: Int32 | None = None
    """With Gracefully: remove the unhealthy copy after this time even if its replacement is not healthy yet."""
    state_preservation: StatePreservation | None = None
    """Values the new copy inherits."""


class ClusterFailoverBehavior(Struct, frozen=True, kw_only=True):
    """What happens when a cluster fails."""

    purge_mode: Annotated[str, Schema(enum=ClusterPurgeMode, default="Gracefully")] = ""
    """How the copy in the failed cluster is removed: Directly at once, Gracefully when its replacement is healthy."""
    state_preservation: StatePreservation | None = None
    """Values the new copy inherits."""


class ApplicationMigrationPolicy(Struct, frozen=True, kw_only=True):
    """Another spelling of the application failover behaviour."""

    decision_conditions: DecisionConditions = always(DecisionConditions())
    """When to act."""
    purge_policy: Annotated[str, Schema(enum=MigrationPurgePolicy, default="Gracefully")] = ""
    """How the unhealthy copy is removed."""


class FailbackBehavior(Struct, frozen=True, kw_only=True):
    """When replicas go back to the clusters that the placement prefers."""

    window_seconds: Annotated[Int32, Schema(default=600, minimum=1)] | None = None
    """How long a cluster must have been ready without a break before replicas go back to it."""
    hysteresis_seconds: Annotated[Int32, Schema(default=600, minimum=0)] | None = None
    """How long the workload stays where it was last scheduled before it may go back."""
    max_moves: Annotated[Int32, Schema(default=1, minimum=1)] | None = None
    """How many workloads of the policy go back at the same time."""


class DisruptionBudget(Struct, frozen=True, kw_only=True):
    """How much of a workload moves between clusters may make unavailable."""

    max_unavailable: Annotated[IntOrString, Schema(pattern=r"^(100|[0-9]{1,2})%$")]
    """Replicas of all clusters together that may be unavailable while others take their place: a number, or a share
    such as 25%, rounded down. With 0 every replacement is ready before its old copy goes."""


class Fencing(Struct, frozen=True, kw_only=True):
    """Two clusters never run the resource at the same time while it moves."""

    timeout_seconds: Annotated[Int32, Schema(minimum=1)] | None = None
    """Start the new copy after this time even if the cluster that is left has not confirmed the stop; unset waits for
    the confirmation."""


class FailoverBehavior(Struct, frozen=True, kw_only=True):
    """When and how a resource moves to another cluster."""

    application: ApplicationFailoverBehavior | None = None
    """On failure of the application."""
    cluster: ClusterFailoverBehavior | None = None
    """On failure of a cluster."""
    application_migration_policy: ApplicationMigrationPolicy | None = None
    """Same as application, and counts a cluster that stays unavailable for that long as well. Excludes application."""
    failback: FailbackBehavior | None = None
    """When replicas go back to the clusters that the placement prefers; unset leaves them where they are."""
    disruption_budget: DisruptionBudget | None = None
    """How much of the resource moves may make unavailable, whatever their cause. Excludes fencing."""
    fencing: Fencing | None = None
    """Start a copy in another cluster only after the old one has stopped."""
    reschedule_triggers: tuple[Annotated[str, Schema(enum=RescheduleTrigger)], ...] | None = None
    """The events that may move replicas which run well: ClusterLabels (a cluster no longer matches), PolicyChange (the
    placement was edited), Capacity (a cluster is too full). Unset allows all, an empty list none."""


class SuspendClusters(Struct, frozen=True, kw_only=True):
    """A set of clusters by name."""

    cluster_names: tuple[str, ...] = ()
    """Names of the clusters."""


class Suspension(Struct, frozen=True, kw_only=True):
    """What is halted."""

    dispatching: bool | None = None
    """Stop sending changes to every cluster. Excludes dispatchingOnClusters."""
    dispatching_on_clusters: SuspendClusters | None = None
    """Stop sending changes to these clusters."""


class SchedulePriority(Struct, frozen=True, kw_only=True):
    """How urgent the scheduling of the selected resources is."""

    priority_class_source: Annotated[str, Schema(enum=PriorityClassSource)]
    """Where the class is looked up."""
    priority_class_name: str
    """Name of the class."""


class PropagationSpec(Struct, frozen=True, kw_only=True):
    """Which resources are propagated, and how."""

    resource_selectors: Annotated[tuple[ResourceSelector, ...], Schema(min_items=1)] = always(())
    """The resources this policy is for."""
    association: bool = False
    """Has no effect; use propagateDeps."""
    propagate_deps: bool = False
    """Propagate what the resources refer to, such as ConfigMaps and Secrets, along with them."""
    placement: Placement = Placement()
    """Where the resources go."""
    priority: Annotated[Int32, Schema(default=0)] | None = None
    """Of the policies of one kind that match a resource the one with the highest priority wins; then the one that
    selects it most exactly, by name before by labels before by kind; then the one whose name comes first."""
    preemption: Annotated[str, Schema(enum=PreemptionBehavior, default="Never")] = ""
    """Always: take over resources that a policy of lower priority has claimed."""
    dependent_overrides: tuple[str, ...] = ()
    """Override policies that must exist before the resources are propagated."""
    scheduler_name: Annotated[str, Schema(default="default-scheduler")] = ""
    """The scheduler that places the resources. Cannot be changed."""
    failover: FailoverBehavior | None = None
    """When and how the resources move to another cluster by themselves."""
    conflict_resolution: Annotated[str, Schema(enum=ConflictResolution, default="Abort")] = ""
    """What happens to an object of the same name that a cluster already has: Abort leaves it alone and reports the
    conflict, Overwrite takes it over."""
    activation_preference: Annotated[str, Schema(enum=ActivationPreference)] = ""
    """Lazy: changes of the policy reach a resource only when the resource itself changes next."""
    suspension: Suspension | None = None
    """What is halted."""
    preserve_resources_on_deletion: bool | None = None
    """Keep the copies in the clusters when the resource template is deleted."""
    schedule_priority: SchedulePriority | None = None
    """How urgent scheduling is."""


class PropagationPolicy(Struct, frozen=True, kw_only=True):
    """Propagates resources of its own namespace to clusters."""

    api_version: Literal["policy.karmada.io/v1alpha1"] = always("policy.karmada.io/v1alpha1")
    kind: Literal["PropagationPolicy"] = always("PropagationPolicy")
    metadata: ObjectMeta = ObjectMeta()
    spec: PropagationSpec
    """Which resources are propagated, and how."""


class ClusterPropagationPolicy(Struct, frozen=True, kw_only=True):
    """Propagates resources of any namespace, and cluster-scoped ones, to clusters."""

    api_version: Literal["policy.karmada.io/v1alpha1"] = always("policy.karmada.io/v1alpha1")
    kind: Literal["ClusterPropagationPolicy"] = always("ClusterPropagationPolicy")
    metadata: ObjectMeta = ObjectMeta()
    spec: PropagationSpec
    """Which resources are propagated, and how."""
