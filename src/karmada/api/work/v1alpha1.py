"""Work, the parcel delivered to one cluster, and the bindings in their first version (served, no longer stored)."""

from typing import Annotated, Literal

from msgspec import field

from karmada.api.base import ABSENT, Int32, OpenObject, ResourceList, Schema, Struct, always
from karmada.api.meta import Condition, ObjectMeta
from karmada.api.work.v1alpha2 import ResourceHealth


class WorkloadTemplate(Struct, frozen=True, kw_only=True):
    """The objects in the parcel."""

    manifests: tuple[OpenObject, ...] = ()
    """Complete objects as they are to be in the cluster."""


class WorkSpec(Struct, frozen=True, kw_only=True):
    """What is delivered."""

    workload: WorkloadTemplate = WorkloadTemplate()
    """The objects."""
    suspend_dispatching: bool | None = None
    """Do not deliver changes."""
    preserve_resources_on_deletion: bool | None = None
    """Keep the objects in the cluster when the Work is deleted."""


class ResourceIdentifier(Struct, frozen=True, kw_only=True):
    """Names one object of the parcel."""

    ordinal: int
    """Its position in the list of manifests."""
    group: str = ""
    """Its API group; empty for the core group."""
    version: str
    """Its API version."""
    kind: str
    """Its kind."""
    resource: str
    """Its resource name; not filled."""
    namespace: str = ""
    """Its namespace; empty if it has none."""
    name: str
    """Its name."""


class ManifestStatus(Struct, frozen=True, kw_only=True):
    """The observed status of one object of the Work."""

    identifier: ResourceIdentifier
    """Which object."""
    status: OpenObject = ABSENT
    """Its status in the cluster."""
    health: Annotated[str, Schema(enum=ResourceHealth)] = ""
    """Whether it is healthy."""


class WorkStatus(Struct, frozen=True, kw_only=True):
    """Whether the objects were applied, and their observed status."""

    conditions: tuple[Condition, ...] = ()
    """Applied and Dispatching."""
    manifest_statuses: tuple[ManifestStatus, ...] = ()
    """The observed status of each object."""


class Work(Struct, frozen=True, kw_only=True):
    """A parcel of objects for the cluster whose execution namespace it lies in."""

    api_version: Literal["work.karmada.io/v1alpha1"] = always("work.karmada.io/v1alpha1")
    kind: Literal["Work"] = always("Work")
    metadata: ObjectMeta = ObjectMeta()
    spec: WorkSpec
    """What is delivered."""
    status: WorkStatus = WorkStatus()
    """Whether the objects were applied, and their observed status."""


class ObjectReference(Struct, frozen=True, kw_only=True):
    """The resource template a binding is about, with what its replicas need."""

    api_version: str
    """API version of the template."""
    kind: str
    """Kind of the template."""
    namespace: str = ""
    """Namespace of the template; empty if it has none."""
    name: str
    """Name of the template."""
    resource_version: str = ""
    """Version of the template that was looked at."""
    resource_per_replicas: ResourceList = field(default_factory=dict)
    """The amounts one replica asks for."""
    replicas: Int32 = 0
    """How many replicas the template wants."""


class TargetCluster(Struct, frozen=True, kw_only=True):
    """A chosen cluster."""

    name: str
    """The cluster."""
    replicas: Int32 = 0
    """Replicas it runs."""


class ResourceBindingSpec(Struct, frozen=True, kw_only=True):
    """The resource and the clusters chosen for it."""

    resource: ObjectReference
    """The resource template."""
    clusters: tuple[TargetCluster, ...] = ()
    """The scheduler's choice."""


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


class ResourceBindingStatus(Struct, frozen=True, kw_only=True):
    """How far scheduling and delivery are."""

    conditions: tuple[Condition, ...] = ()
    """Scheduled and FullyApplied."""
    aggregated_status: tuple[AggregatedStatusItem, ...] = ()
    """The observed status of the resource per cluster."""


class ResourceBinding(Struct, frozen=True, kw_only=True):
    """Ties a namespaced resource to the clusters chosen for it."""

    api_version: Literal["work.karmada.io/v1alpha1"] = always("work.karmada.io/v1alpha1")
    kind: Literal["ResourceBinding"] = always("ResourceBinding")
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceBindingSpec
    """The resource and the clusters chosen for it."""
    status: ResourceBindingStatus = ResourceBindingStatus()
    """How far scheduling and delivery are."""


class ClusterResourceBinding(Struct, frozen=True, kw_only=True):
    """Ties a cluster-scoped resource to the clusters chosen for it."""

    api_version: Literal["work.karmada.io/v1alpha1"] = always("work.karmada.io/v1alpha1")
    kind: Literal["ClusterResourceBinding"] = always("ClusterResourceBinding")
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceBindingSpec
    """The resource and the clusters chosen for it."""
    status: ResourceBindingStatus = ResourceBindingStatus()
    """How far scheduling and delivery are."""
