"""Pods and nodes as the workload controllers read them: frozen structs with the fields that matter, decoded once.

A controller looks at all pods of its owner each time one changes, so pods are the objects that are read most. What only
the scheduler and the kubelet look at, once in a while, stays encoded until then (`Raw` shares the bytes of the body):
a pod costs 2 KB less. Whoever writes one starts from the whole object (`Item.body`), never from a view.
"""

from functools import lru_cache
from typing import Any

import msgspec

from karmada.api.quantity import Quantity
from karmada.machinery.codec import Codec, Identity


class View(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A part of an object."""


class Owner(View, frozen=True, gc=False):
    """A reference to an owner."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class Meta(View, frozen=True, gc=False):
    """Metadata without managed fields."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[Owner] | None = None
    finalizers: list[str] | None = None

    @property
    def controller(self) -> Owner | None:
        """The owner that manages the object."""
        return next((owner for owner in self.owner_references or () if owner.controller), None)


class Condition(View, frozen=True, gc=False):
    """One condition of a status."""

    type: str
    status: str = "Unknown"
    message: str | None = None
    last_transition_time: str | None = None


class Port(View, frozen=True, gc=False):
    """A port of a container."""

    container_port: int = 0
    name: str | None = None
    protocol: str = "TCP"
    host_port: int | None = None


class Resources(View, frozen=True, gc=False):
    """Requests and limits."""

    requests: dict[str, str | int | float] | None = None
    limits: dict[str, str | int | float] | None = None


class Container(View, frozen=True, gc=False):
    """A container as asked for."""

    name: str
    image: str = ""
    command: list[str] | None = None
    args: list[str] | None = None
    env: list[dict[str, Any]] | None = None
    ports: list[Port] | None = None
    resources: Resources = Resources()
    restart_policy: str | None = None
    startup_probe: dict[str, Any] | None = None
    readiness_probe: dict[str, Any] | None = None


class Toleration(View, frozen=True, gc=False):
    """Which taint a pod puts up with."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class ClaimSource(View, frozen=True, gc=False):
    """A volume that is a claim."""

    claim_name: str = ""


class Volume(View, frozen=True, gc=False):
    """A volume of a pod."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None


NOTHING = msgspec.Raw(b"null")
_containers = msgspec.json.Decoder(list[Container] | None)
_tolerations = msgspec.json.Decoder(list[Toleration] | None)


class PodSpec(View, frozen=True, gc=False):
    """What a pod asks for."""

    node_name: str | None = None
    node_selector: dict[str, str] | None = None
    affinity: dict[str, Any] | None = None
    topology_spread_constraints: list[dict[str, Any]] | None = None
    raw_tolerations: msgspec.Raw = msgspec.field(default=NOTHING, name="tolerations")
    raw_containers: msgspec.Raw = msgspec.field(default=NOTHING, name="containers")
    raw_init_containers: msgspec.Raw = msgspec.field(default=NOTHING, name="initContainers")
    overhead: dict[str, str | int | float] | None = None
    volumes: list[Volume] | None = None
    restart_policy: str = "Always"
    scheduler_name: str = "default-scheduler"
    scheduling_gates: list[dict[str, Any]] | None = None
    active_deadline_seconds: int | None = None
    hostname: str | None = None
    host_network: bool | None = None
    priority: int | None = None
    preemption_policy: str | None = None

    @property
    def containers(self) -> list[Container]:
        """Decoded for each reader."""
        return _containers.decode(self.raw_containers) or []

    @property
    def init_containers(self) -> list[Container]:
        """Decoded for each reader."""
        return _containers.decode(self.raw_init_containers) or []

    @property
    def tolerations(self) -> list[Toleration]:
        """Decoded for each reader."""
        return _tolerations.decode(self.raw_tolerations) or []


class State(View, frozen=True, gc=False):
    """One state of a container."""

    reason: str | None = None
    exit_code: int = 0
    started_at: str | None = None
    finished_at: str | None = None


class States(View, frozen=True, gc=False):
    """The state a container is in."""

    waiting: State | None = None
    running: State | None = None
    terminated: State | None = None


class ContainerStatus(View, frozen=True, gc=False):
    """A container as it is."""

    name: str = ""
    ready: bool = False
    restart_count: int = 0
    state: States = States()
    last_state: States = States()


_statuses = msgspec.json.Decoder(list[ContainerStatus] | None)


class PodStatus(View, frozen=True, gc=False):
    """How a pod is."""

    phase: str = "Pending"
    reason: str | None = None
    pod_ip: str | None = msgspec.field(default=None, name="podIP")
    start_time: str | None = None
    conditions: list[Condition] | None = None
    raw_container_statuses: msgspec.Raw = msgspec.field(default=NOTHING, name="containerStatuses")

    @property
    def container_statuses(self) -> list[ContainerStatus]:
        """Decoded for each reader."""
        return _statuses.decode(self.raw_container_statuses) or []


class Pod(View, frozen=True, gc=False):
    """A pod."""

    metadata: Meta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def is_deleted(self) -> bool:
        """Whether its deletion was asked for."""
        return self.metadata.deletion_timestamp is not None

    @property
    def is_finished(self) -> bool:
        """Whether its containers have ended for good."""
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def is_active(self) -> bool:
        """Whether it counts as a replica."""
        return not self.is_deleted and not self.is_finished

    @property
    def ready_since(self) -> str | None:
        """When it became ready; None when it is not."""
        for condition in self.status.conditions or ():
            if condition.type == "Ready":
                return condition.last_transition_time or "" if condition.status == "True" else None
        return None

    @property
    def is_ready(self) -> bool:
        """Whether it serves."""
        return self.ready_since is not None

    def condition(self, type_: str) -> Condition | None:
        """One of its conditions."""
        return next((condition for condition in self.status.conditions or () if condition.type == type_), None)


class Taint(View, frozen=True, gc=False):
    """What keeps pods away from a node."""

    key: str
    value: str = ""
    effect: str = ""
    time_added: str | None = None


class NodeSpec(View, frozen=True, gc=False):
    """What people want of a node."""

    taints: list[Taint] | None = None
    unschedulable: bool | None = None


class Address(View, frozen=True, gc=False):
    """One address of a node."""

    type: str
    address: str = ""


class NodeStatus(View, frozen=True, gc=False):
    """How a node is."""

    allocatable: dict[str, str | int | float] | None = None
    conditions: list[Condition] | None = None
    addresses: list[Address] | None = None


class Node(View, frozen=True, gc=False):
    """A node."""

    metadata: Meta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def is_ready(self) -> bool:
        """Whether its kubelet says so."""
        return any(c.type == "Ready" and c.status == "True" for c in self.status.conditions or ())


def _unwritable(value: Any) -> bytes:
    raise TypeError(f"a view of {value.metadata.name} cannot be written: it is only a part")


def _identity(value: Pod | Node) -> Identity:
    meta = value.metadata
    return Identity(meta.name, meta.namespace, meta.uid, meta.resource_version)


class Head(View, frozen=True, gc=False):
    """The metadata of any object."""

    metadata: Meta


_heads = msgspec.json.Decoder(Head)


def meta_of(body: bytes) -> Meta:
    """The metadata of an encoded object; the rest is skipped, not decoded."""
    return _heads.decode(body).metadata


POD: Codec[Pod] = Codec(msgspec.json.Decoder(Pod).decode, _unwritable, _identity, shareable=True)
NODE: Codec[Node] = Codec(msgspec.json.Decoder(Node).decode, _unwritable, _identity, shareable=True)


@lru_cache(maxsize=4096)
def amount(resource: str, text: str | int | float) -> int:
    """A quantity as the scheduler counts it: thousandths of CPUs, whole units of everything else."""
    quantity = Quantity.parse(text)
    return quantity.milli_value() if resource == "cpu" else quantity.value()


def requests_of(spec: PodSpec) -> dict[str, int]:
    """What a pod takes from its node: the sum of its containers, or its largest init container if that is more."""
    total: dict[str, int] = {}
    for container in spec.containers:
        for name, text in (container.resources.requests or {}).items():
            total[name] = total.get(name, 0) + amount(name, text)
    for container in spec.init_containers:
        for name, text in (container.resources.requests or {}).items():
            value = amount(name, text)
            if container.restart_policy == "Always":
                total[name] = total.get(name, 0) + value
            else:
                total[name] = max(total.get(name, 0), value)
    for name, text in (spec.overhead or {}).items():
        total[name] = total.get(name, 0) + amount(name, text)
    return total
