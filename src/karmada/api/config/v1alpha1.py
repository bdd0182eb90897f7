"""Interpreter customisations and webhooks, the interpreter's wire protocol, and ReplicaSchedulingPolicy."""

from enum import StrEnum
from typing import Annotated, Literal

from msgspec import field

from karmada.api.base import (
    ABSENT,
    Base64,
    Int32,
    Int64,
    OpenObject,
    OpenValue,
    Schema,
    Struct,
    Time,
    always,
)
from karmada.api.meta import Condition, LabelSelector, ObjectMeta
from karmada.api.work.v1alpha2 import AggregatedStatusItem, Component, ReplicaRequirements


class InterpreterOperation(StrEnum):
    """The questions the interpreter answers about a resource."""

    ALL = "*"
    INTERPRET_REPLICA = "InterpretReplica"
    INTERPRET_COMPONENT = "InterpretComponent"
    REVISE_REPLICA = "ReviseReplica"
    RETAIN = "Retain"
    AGGREGATE_STATUS = "AggregateStatus"
    INTERPRET_DEPENDENCY = "InterpretDependency"
    INTERPRET_STATUS = "InterpretStatus"
    INTERPRET_HEALTH = "InterpretHealth"


class CustomizationTarget(Struct, frozen=True, kw_only=True):
    """The resources a customisation is for."""

    api_version: str
    """Their API version."""
    kind: str
    """Their kind."""


class LuaScript(Struct, frozen=True, kw_only=True):
    """A function in Lua."""

    lua_script: str
    """Its source."""


class CustomizationRules(Struct, frozen=True, kw_only=True):
    """One script per question; questions without one are answered as before."""

    retention: LuaScript | None = None
    """`Retain(desiredObj, observedObj)`: which values the cluster owns."""
    replica_resource: LuaScript | None = None
    """`GetReplicas(desiredObj)`: number of replicas and what one needs. `ReplicasCount(desiredObj)` gives only the
    number."""
    component_resource: LuaScript | None = None
    """`GetComponents(desiredObj)`: the parts of a workload with several pod templates."""
    replica_revision: LuaScript | None = None
    """`ReviseReplica(desiredObj, desiredReplica)`: the object with another number of replicas."""
    status_reflection: LuaScript | None = None
    """`ReflectStatus(observedObj)`: what to report of its status."""
    status_aggregation: LuaScript | None = None
    """`AggregateStatus(desiredObj, statusItems)`: the template with the status of all clusters."""
    health_interpretation: LuaScript | None = None
    """`InterpretHealth(observedObj)`: whether it is healthy."""
    dependency_interpretation: LuaScript | None = None
    """`GetDependencies(desiredObj)`: what it refers to."""


class ResourceInterpreterCustomizationSpec(Struct, frozen=True, kw_only=True):
    """Which resources, and how they are read."""

    target: CustomizationTarget
    """The resources."""
    customizations: CustomizationRules
    """The scripts."""


class ResourceInterpreterCustomization(Struct, frozen=True, kw_only=True):
    """Teaches the interpreter a kind by scripts."""

    api_version: Literal["config.karmada.io/v1alpha1"] = always("config.karmada.io/v1alpha1")
    kind: Literal["ResourceInterpreterCustomization"] = always("ResourceInterpreterCustomization")
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceInterpreterCustomizationSpec
    """Which resources, and how they are read."""


class ServiceReference(Struct, frozen=True, kw_only=True):
    """A Service that answers."""

    namespace: str
    """Its namespace."""
    name: str
    """Its name."""
    path: str | None = None
    """Path of the requests."""
    port: Int32 | None = None
    """Its port; 443 if absent."""


class WebhookClientConfig(Struct, frozen=True, kw_only=True):
    """How a webhook is called."""

    url: str | None = None
    """Its address. Excludes service."""
    service: ServiceReference | None = None
    """The Service that answers. Excludes url."""
    ca_bundle: Base64 = ""
    """Certificates that may sign its certificate."""


class RuleWithOperations(Struct, frozen=True, kw_only=True):
    """The questions and resources a webhook is asked about."""

    operations: tuple[str, ...]
    """The questions; * alone means all."""
    api_groups: tuple[str, ...]
    """API groups of the resources; * alone means all."""
    api_versions: tuple[str, ...]
    """API versions of the resources; * alone means all."""
    kinds: tuple[str, ...]
    """Kinds of the resources; * alone means all."""


class ResourceInterpreterWebhook(Struct, frozen=True, kw_only=True):
    """One webhook."""

    name: str
    """Its full name, like `interpreter.example.com`."""
    client_config: WebhookClientConfig
    """How it is called."""
    rules: tuple[RuleWithOperations, ...] = ()
    """What it is asked about."""
    timeout_seconds: Int32 | None = None
    """How long to wait for it, 1 to 30; 10 if absent."""
    interpreter_context_versions: tuple[str, ...]
    """Versions of the protocol it speaks."""


class ResourceInterpreterWebhookConfiguration(Struct, frozen=True, kw_only=True):
    """Teaches the interpreter kinds by webhooks."""

    api_version: Literal["config.karmada.io/v1alpha1"] = always("config.karmada.io/v1alpha1")
    kind: Literal["ResourceInterpreterWebhookConfiguration"] = always("ResourceInterpreterWebhookConfiguration")
    metadata: ObjectMeta = ObjectMeta()
    webhooks: tuple[ResourceInterpreterWebhook, ...]
    """The webhooks."""


class GroupVersionKind(Struct, frozen=True, kw_only=True):
    """Names a kind."""

    group: str
    """Its API group."""
    version: str
    """Its API version."""
    kind: str
    """Its name."""


class DependentObjectReference(Struct, frozen=True, kw_only=True):
    """Something a resource refers to."""

    api_version: str
    """Its API version."""
    kind: str
    """Its kind."""
    namespace: str = ""
    """Its namespace; empty if it has none."""
    name: str = ""
    """Its name. Excludes labelSelector."""
    label_selector: LabelSelector | None = None
    """Chooses several of them. Excludes name."""


class RequestStatus(Struct, frozen=True, kw_only=True):
    """Why a request was refused."""

    message: str = ""
    """For people."""
    code: Int32 = 0
    """As an HTTP status."""


class ResourceInterpreterRequest(Struct, frozen=True, kw_only=True):
    """One question to a webhook."""

    uid: str
    """Names the question; the answer repeats it."""
    kind: GroupVersionKind
    """Kind of the resource."""
    name: str
    """Name of the resource."""
    namespace: str = ""
    """Namespace of the resource."""
    operation: str
    """The question."""
    object: OpenObject = ABSENT
    """The resource."""
    observed_object: OpenObject = ABSENT
    """The copy in the cluster, for Retain."""
    desired_replicas: Int32 | None = field(default=None, name="replicas")
    """The number wanted, for ReviseReplica."""
    aggregated_status: tuple[AggregatedStatusItem, ...] = ()
    """Status per cluster, for AggregateStatus."""


class ResourceInterpreterResponse(Struct, frozen=True, kw_only=True):
    """The answer of a webhook."""

    uid: str
    """Names the question."""
    successful: bool
    """Whether there is an answer."""
    status: RequestStatus | None = None
    """Why there is none."""
    patch: Base64 = ""
    """Changes to the resource."""
    patch_type: str | None = None
    """Form of the changes: JSONPatch."""
    replica_requirements: ReplicaRequirements | None = None
    """What one replica needs, for InterpretReplica."""
    replicas: Int32 | None = None
    """Number of replicas, for InterpretReplica."""
    components: tuple[Component, ...] = ()
    """Parts of the workload, for InterpretComponent."""
    dependencies: tuple[DependentObjectReference, ...] = ()
    """What the resource refers to, for InterpretDependency."""
    raw_status: OpenValue = ABSENT
    """What to report of the status, for InterpretStatus."""
    healthy: bool | None = None
    """For InterpretHealth."""


class ResourceInterpreterContext(Struct, frozen=True, kw_only=True):
    """A question to an interpreter webhook, and its answer. Only sent, never stored."""

    api_version: Literal["config.karmada.io/v1alpha1"] = always("config.karmada.io/v1alpha1")
    kind: Literal["ResourceInterpreterContext"] = always("ResourceInterpreterContext")
    request: ResourceInterpreterRequest | None = None
    """The question."""
    response: ResourceInterpreterResponse | None = None
    """The answer."""


class UtilizationThreshold(Struct, frozen=True, kw_only=True):
    """Shares of what a cluster offers, in percent, above which it gives up replicas."""

    cpu_utilization: Annotated[Int32, Schema(minimum=1, maximum=100)] | None = None
    """For CPU."""
    memory_utilization: Annotated[Int32, Schema(minimum=1, maximum=100)] | None = None
    """For memory."""


class ReschedulePolicy(Struct, frozen=True, kw_only=True):
    """When and why replicas are moved."""

    enabled: Annotated[bool, Schema(default=True)] | None = None
    """Whether replicas are moved at all."""
    interval: Annotated[str, Schema(default="60s")] = ""
    """Time between two looks, like 60s or 5m."""
    threshold: UtilizationThreshold
    """When a cluster is too full."""


class ReplicaSchedulingPolicySpec(Struct, frozen=True, kw_only=True):
    """When replicas are moved."""

    reschedule_policy: ReschedulePolicy
    """When and why replicas are moved."""


class RescheduledWorkload(Struct, frozen=True, kw_only=True):
    """Replicas that a cluster gave up."""

    api_version: str
    """API version of the workload."""
    kind: str
    """Kind of the workload."""
    namespace: str = ""
    """Namespace of the workload."""
    name: str
    """Name of the workload."""
    from_cluster: str
    """The cluster that was too full."""
    replicas: Int32
    """How many replicas left it."""
    time: Time
    """When."""


class ReplicaSchedulingPolicyStatus(Struct, frozen=True, kw_only=True):
    """What was seen and done."""

    observed_generation: Int64 = 0
    """The generation that was looked at."""
    last_evaluation_time: Time | None = None
    """When clusters were last looked at."""
    overloaded_clusters: tuple[str, ...] = ()
    """Clusters that were above a threshold then."""
    rescheduled: tuple[RescheduledWorkload, ...] = ()
    """The latest moves, newest first."""
    conditions: Annotated[tuple[Condition, ...], Schema(list_type="map", list_map_keys=("type",))] = ()
    """Whether the policy is in force."""


class ReplicaSchedulingPolicy(Struct, frozen=True, kw_only=True):
    """Moves replicas out of clusters that are too full when they fit elsewhere."""

    api_version: Literal["config.karmada.io/v1alpha1"] = always("config.karmada.io/v1alpha1")
    kind: Literal["ReplicaSchedulingPolicy"] = always("ReplicaSchedulingPolicy")
    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicaSchedulingPolicySpec
    """When replicas are moved."""
    status: ReplicaSchedulingPolicyStatus = ReplicaSchedulingPolicyStatus()
    """What was seen and done."""
