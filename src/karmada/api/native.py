"""The few native Kubernetes objects that the control plane itself reads, as far as it reads them.

These are views: they hold only the fields listed here, and reading skips the rest without decoding it, which is what
makes counting thousands of pods cheap. Never write one back, that would drop what it does not know; the exception is
`Lease`, which is complete. Resource templates of users are never seen through these types.
"""

from msgspec import field

from karmada.api.base import IntOrString, ResourceList, Struct, Time, always
from karmada.api.meta import ObjectMeta, Toleration


class Condition(Struct, frozen=True, kw_only=True):
    """A condition of a native object; unlike those of Karmada's kinds every part may be missing."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None


class Namespace(Struct, frozen=True, kw_only=True):
    """A namespace; only its metadata matters."""

    metadata: ObjectMeta = ObjectMeta()


class Secret(Struct, frozen=True, kw_only=True):
    """A Secret; values are base64. `repr` shows no values, so that none ends up in a log."""

    metadata: ObjectMeta = ObjectMeta()
    type: str = ""
    data: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Secret({self.metadata.namespace}/{self.metadata.name}, keys={sorted(self.data)})"


class NodeTaint(Struct, frozen=True, kw_only=True):
    """A taint of a node."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Struct, frozen=True, kw_only=True):
    """What keeps pods off a node."""

    unschedulable: bool = False
    taints: tuple[NodeTaint, ...] = ()


class NodeStatus(Struct, frozen=True, kw_only=True):
    """What a node offers, and whether it is ready."""

    allocatable: ResourceList = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()


class Node(Struct, frozen=True, kw_only=True):
    """A node of a member."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class Resources(Struct, frozen=True, kw_only=True):
    """Amounts of a container."""

    requests: ResourceList = field(default_factory=dict)
    limits: ResourceList = field(default_factory=dict)


class Container(Struct, frozen=True, kw_only=True):
    """A container. `restart_policy` Always on an init container makes it a sidecar."""

    name: str = ""
    restart_policy: str = ""
    resources: Resources = Resources()


class PodSpec(Struct, frozen=True, kw_only=True):
    """What a pod asks for, and where it runs."""

    node_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: ResourceList = field(default_factory=dict)
    resources: Resources = Resources()
    node_selector: dict[str, str] = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()
    priority_class_name: str = ""


class PodStatus(Struct, frozen=True, kw_only=True):
    """How far a pod is."""

    phase: str = ""
    conditions: tuple[Condition, ...] = ()


class Pod(Struct, frozen=True, kw_only=True):
    """A pod of a member."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class ScopeRequirement(Struct, frozen=True, kw_only=True):
    """One test of what a quota counts."""

    scope_name: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class ScopeSelector(Struct, frozen=True, kw_only=True):
    """What a quota counts."""

    match_expressions: tuple[ScopeRequirement, ...] = ()


class ResourceQuotaSpec(Struct, frozen=True, kw_only=True):
    """The limits."""

    hard: ResourceList = field(default_factory=dict)
    scopes: tuple[str, ...] = ()
    scope_selector: ScopeSelector | None = None


class ResourceQuotaStatus(Struct, frozen=True, kw_only=True):
    """The limits in force and what is used."""

    hard: ResourceList = field(default_factory=dict)
    used: ResourceList = field(default_factory=dict)


class ResourceQuota(Struct, frozen=True, kw_only=True):
    """A quota of a namespace of a member."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()


class PriorityClass(Struct, frozen=True, kw_only=True):
    """A priority by name."""

    metadata: ObjectMeta = ObjectMeta()
    value: int = 0
    global_default: bool = False


class ServicePort(Struct, frozen=True, kw_only=True):
    """A port of a Service."""

    name: str = ""
    protocol: str = ""
    app_protocol: str | None = None
    port: int = 0
    target_port: IntOrString = 0
    node_port: int = 0


class ServiceSpec(Struct, frozen=True, kw_only=True):
    """What a Service offers."""

    type: str = ""
    cluster_ip: str = field(default="", name="clusterIP")
    ports: tuple[ServicePort, ...] = ()
    selector: dict[str, str] = field(default_factory=dict)


class Service(Struct, frozen=True, kw_only=True):
    """A Service."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()


class LeaseSpec(Struct, frozen=True, kw_only=True):
    """Who holds a lease, since when, and for how long."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: Time | None = None
    renew_time: Time | None = None
    lease_transitions: int | None = None
    strategy: str | None = None
    preferred_holder: str | None = None


class Lease(Struct, frozen=True, kw_only=True):
    """A sign of life, or a claim to leadership."""

    api_version: str = always("coordination.k8s.io/v1")
    kind: str = always("Lease")
    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec = LeaseSpec()
