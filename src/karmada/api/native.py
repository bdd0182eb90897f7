"""The few native Kubernetes objects that the control plane itself reads, as far as it reads them.

These are views: they hold only the fields listed here, and reading skips the rest without decoding it, which is what
makes counting thousands of pods cheap. Never write one back, that would drop what it does not know. Resource templates
of users are never seen through these types.
"""

from msgspec import field

from karmada.api.base import ResourceList, Struct, Time
from karmada.api.meta import ObjectMeta, Toleration


class Condition(Struct, frozen=True, kw_only=True):
    """A condition of a native object; unlike those of Karmada's kinds every part may be missing."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None


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
