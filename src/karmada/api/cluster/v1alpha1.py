"""Cluster: a member of the federation.

It is served by the aggregated API server and has no CRD: no schema guards what is stored, so readers accept objects
that lack required fields, and the strategy of that server says what is missing.
"""

from enum import StrEnum
from typing import Annotated, Literal

from msgspec import field

from karmada.api.base import Int32, Quantity, ResourceList, Schema, Struct, Time, always
from karmada.api.meta import Condition, ObjectMeta


class ClusterSyncMode(StrEnum):
    """Who carries changes: the control plane (Push) or an agent in the cluster (Pull)."""

    PUSH = "Push"
    PULL = "Pull"


class LocalSecretReference(Struct, frozen=True, kw_only=True):
    """A Secret of the control plane."""

    namespace: str = always("")
    """Its namespace."""
    name: str = always("")
    """Its name."""


class Taint(Struct, frozen=True, kw_only=True):
    """Keeps resources that do not tolerate it away from the cluster."""

    key: str = always("")
    """Key of the taint."""
    value: str = ""
    """Value of the taint."""
    effect: str = always("")
    """NoSchedule keeps new resources out; NoExecute also evicts those that are there."""
    time_added: Time | None = None
    """When a NoExecute taint was added."""


class ResourceModelRange(Struct, frozen=True, kw_only=True):
    """The range of one resource in a grade: min is inside, max is not."""

    name: str = always("")
    """The resource."""
    min: Quantity = always(0)
    """The least amount in the grade."""
    max: Quantity = always(0)
    """The first amount above the grade; may be left out in the last grade."""


class ResourceModel(Struct, frozen=True, kw_only=True):
    """A grade of nodes by the amounts they offer."""

    grade: int = always(0)
    """Number of the grade, from 0."""
    ranges: tuple[ResourceModelRange, ...] = always(())
    """Range per resource."""


class ClusterSpec(Struct, frozen=True, kw_only=True):
    """How the cluster is reached and what is known about it."""

    id: str = ""
    """The uid of its kube-system namespace; two clusters never share it."""
    sync_mode: Annotated[str, Schema(enum=ClusterSyncMode)] = always("")
    """Push or Pull."""
    api_endpoint: str = ""
    """Address of its API server."""
    secret_ref: LocalSecretReference | None = None
    """Secret with token and caBundle, or with a kubeconfig."""
    impersonator_secret_ref: LocalSecretReference | None = None
    """Secret with a token that may impersonate users, for the proxy."""
    insecure_skip_tls_verification: bool = field(default=False, name="insecureSkipTLSVerification")
    """Do not verify its serving certificate."""
    proxy_url: str = field(default="", name="proxyURL")
    """Proxy through which it is reached."""
    proxy_header: dict[str, str] = field(default_factory=dict)
    """Headers for that proxy; several values are separated by commas."""
    provider: str = ""
    """Its cloud."""
    region: str = ""
    """Its region."""
    zone: str = ""
    """Its zone, counted as one of zones."""
    zones: tuple[str, ...] = ()
    """The zones its nodes are in."""
    taints: tuple[Taint, ...] = ()
    """Taints that keep resources away."""
    resource_models: tuple[ResourceModel, ...] = ()
    """Grades by which its nodes are counted."""


class APIResource(Struct, frozen=True, kw_only=True):
    """One resource of a group version."""

    name: str = always("")
    """Its plural name."""
    kind: str = always("")
    """Its kind."""


class APIEnablement(Struct, frozen=True, kw_only=True):
    """The resources the cluster serves in one group version."""

    group_version: str = always("")
    """The group version."""
    resources: tuple[APIResource, ...] = ()
    """Its resources."""


class NodeSummary(Struct, frozen=True, kw_only=True):
    """Number of nodes."""

    total_num: Int32 = 0
    """All nodes."""
    ready_num: Int32 = 0
    """Nodes that are ready."""


class AllocatableModeling(Struct, frozen=True, kw_only=True):
    """Number of nodes of a grade."""

    grade: int = always(0)
    """The grade."""
    count: int = always(0)
    """Nodes whose free amounts fall into it."""


class ResourceSummary(Struct, frozen=True, kw_only=True):
    """What the cluster offers and what is taken."""

    allocatable: ResourceList = field(default_factory=dict)
    """What its nodes offer."""
    allocating: ResourceList = field(default_factory=dict)
    """What pods ask for that have no node yet."""
    allocated: ResourceList = field(default_factory=dict)
    """What pods on its nodes ask for."""
    allocatable_modelings: tuple[AllocatableModeling, ...] = ()
    """Nodes by what they have left."""


class ClusterStatus(Struct, frozen=True, kw_only=True):
    """What was last seen of the cluster."""

    kubernetes_version: str = ""
    """Version of its API server."""
    api_enablements: tuple[APIEnablement, ...] = ()
    """The resources it serves."""
    conditions: tuple[Condition, ...] = ()
    """Ready, CompleteAPIEnablements and others."""
    node_summary: NodeSummary | None = None
    """Its nodes."""
    resource_summary: ResourceSummary | None = None
    """What it offers and what is taken."""
    remedy_actions: tuple[str, ...] = ()
    """What Remedies ask to be done about it."""


class Cluster(Struct, frozen=True, kw_only=True):
    """A member of the federation."""

    api_version: Literal["cluster.karmada.io/v1alpha1"] = always("cluster.karmada.io/v1alpha1")
    kind: Literal["Cluster"] = always("Cluster")
    metadata: ObjectMeta = ObjectMeta()
    spec: ClusterSpec = always(ClusterSpec())
    """How the cluster is reached and what is known about it."""
    status: ClusterStatus = ClusterStatus()
    """What was last seen of the cluster."""
