"""What a fleet file says: members, their nodes, how they behave and what is wrong with them from the start.

    members:
    - name: member1
      provider: alpha
      region: north
      zones: [north-1]
      labels: {tier: gold}
      nodePools:
      - count: 3
        cpu: "8"
        memory: 32Gi

Unknown fields are errors that name the field. `count` on a member makes several of it: `edge` becomes `edge-1`,
`edge-2` and so on.
"""

from pathlib import Path
from typing import Any, Literal

import msgspec

from karmada.api import annotations, yaml
from karmada.api.name_rules import dns_label
from karmada.api.quantity import Quantity, QuantityError
from karmada.simulator.behaviour import USUAL, ImageRule
from karmada.simulator.faults import Faults
from karmada.works.networks import Network
from karmada.works.networks import parse as parse_network

FEWEST_ADDRESSES = 16
SHIPPED = Path(__file__).parent / "fleets"


class FleetError(ValueError):
    """A fleet that makes no sense; the message names the field."""


class _Spec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Strict about names."""


class TaintSpec(_Spec, frozen=True):
    """A taint of all nodes of a pool."""

    key: str
    value: str = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"


class NodePool(_Spec, frozen=True):
    """Nodes that are alike."""

    name: str = "pool"
    nodes: tuple[str, ...] = ()
    """Names of the nodes; made from member, pool and number when empty."""
    count: int = 1
    cpu: str = "8"
    memory: str = "32Gi"
    pods: int = 110
    resources: dict[str, str] = {}
    """Further resources, for example `nvidia.com/gpu`."""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    taints: tuple[TaintSpec, ...] = ()
    zone: str = ""
    """The zones of the member take turns when empty."""


class ProcessSpec(_Spec, frozen=True):
    """Pods that really run, as processes of this machine."""

    namespaces: tuple[str, ...] = ()
    """Where: whoever may create pods there starts known programs as the user who runs the simulator. Empty: nowhere."""
    programs: dict[str, str] = {}
    """Files of etcd, kube-apiserver and kube-controller-manager; without one, containers of its image are simulated."""


class MemberSpec(_Spec, frozen=True):
    """One simulated cluster, or `count` of them."""

    name: str
    count: int = 1
    provider: str = ""
    region: str = ""
    zones: tuple[str, ...] = ()
    labels: dict[str, str] = {}
    """Labels of the Cluster object."""
    sync_mode: Literal["Push", "Pull"] = "Push"
    node_pools: tuple[NodePool, ...] = (NodePool(),)
    latency_milliseconds: int = 0
    """How long requests take to get there and back."""
    topology_labels: bool = True
    """Whether nodes carry region, zone and architecture labels as clouds set them."""
    ready_seconds: float = 0.0
    """How long containers take to become ready."""
    job_seconds: float = 0.0
    """How long containers of Jobs run whose command does not say."""
    images: tuple[ImageRule, ...] = USUAL
    faults: Faults = Faults()
    metrics_server: bool = True
    """Whether it serves what pods and nodes use."""
    pod_address: str = ""
    """The address of all pods; one of its own for each when empty."""
    networks: tuple[str, ...] = ()
    """Networks that its pods are in: those of members that share none have no route to each other. Not declared when
    empty, and every pod is reached."""
    pod_cidr: str = msgspec.field(default="", name="podCIDR")
    """Where its pods have their addresses; the same in all members when empty."""
    dead_nodes: tuple[str, ...] = ()
    workloads: bool = True
    """Whether workloads run; otherwise the member is an API server with nodes, and objects stay as they are written."""
    port: int = 0
    """Port of the API server; 0 lets the system choose."""
    processes: ProcessSpec = ProcessSpec()


class FleetSpec(_Spec, frozen=True):
    """Several members."""

    members: tuple[MemberSpec, ...]
    api_version: Literal["simulator.karmada.io/v1alpha1"] = "simulator.karmada.io/v1alpha1"
    kind: Literal["Fleet"] = "Fleet"

    def each(self) -> list[MemberSpec]:
        """One entry per cluster."""
        found: list[MemberSpec] = []
        for member in self.members:
            if member.count == 1:
                found.append(member)
                continue
            for number in range(1, member.count + 1):
                zones = member.zones and (member.zones[(number - 1) % len(member.zones)],)
                name = f"{member.name}-{number}"
                found.append(msgspec.structs.replace(member, name=name, count=1, zones=zones))
        return found


def network_of(member: MemberSpec) -> Network | None:
    """What a member declares about the network of its pods."""
    return parse_network(",".join(member.networks), member.pod_cidr)


def network_annotations(member: MemberSpec) -> dict[str, str]:
    """The same as annotations of its Cluster."""
    declared = {annotations.NETWORKS: ",".join(member.networks), annotations.POD_CIDRS: member.pod_cidr}
    return {key: value for key, value in declared.items() if value}


def load(source: str | Path) -> FleetSpec:
    """Read a fleet file, or one that comes with the distribution by its name (`three`)."""
    path = Path(source)
    # A folder is no fleet, whatever its name: somebody may keep work in one called `three`.
    if (not path.exists() or path.is_dir()) and (SHIPPED / f"{source}.yaml").exists():
        path = SHIPPED / f"{source}.yaml"
    try:
        text = path.read_text()
    except OSError as error:
        shipped = ", ".join(sorted(file.stem for file in SHIPPED.glob("*.yaml")))
        raise FleetError(f"{source}: {error.strerror}; give a file, or one of {shipped}") from None
    return parse(yaml.load(text), str(source))


def shipped(name: str) -> FleetSpec:
    """A fleet that comes with the distribution, whatever lies in the working directory."""
    return load(SHIPPED / f"{name}.yaml")


def parse(tree: Any, name: str = "fleet") -> FleetSpec:
    """Check a fleet."""
    try:
        fleet = msgspec.convert(tree, FleetSpec)
    except msgspec.ValidationError as error:
        raise FleetError(f"{name}: {error}") from None
    names: set[str] = set()
    for member in fleet.each():
        for problem in dns_label(member.name):
            raise FleetError(f"{name}: member {member.name!r}: {problem}")
        if member.name in names:
            raise FleetError(f"{name}: two members are named {member.name!r}")
        names.add(member.name)
        if (network := network_of(member)) is not None and network.problem:
            raise FleetError(f"{name}: member {member.name!r}: networks or podCIDR: {network.problem}")
        if network is not None and any(each.num_addresses < FEWEST_ADDRESSES for each in network.ranges):
            raise FleetError(f"{name}: member {member.name!r}: podCIDR: it has fewer than {FEWEST_ADDRESSES} addresses")
        for pool in member.node_pools:
            _check_pool(name, member.name, pool)
    return fleet


def _check_pool(fleet: str, member: str, pool: NodePool) -> None:
    where = f"{fleet}: member {member!r}: node pool {pool.name!r}"
    if pool.count < 0:
        raise FleetError(f"{where}: count must not be negative")
    for field, text in {"cpu": pool.cpu, "memory": pool.memory, **pool.resources}.items():
        try:
            Quantity.parse(text)
        except QuantityError as error:
            raise FleetError(f"{where}: {field}: {error}") from None


def numbered(count: int) -> FleetSpec:
    """Members like those of the fleet `three`, as many as wanted."""
    if count < 1:
        raise FleetError("a fleet needs at least one member")
    models = shipped("three").members
    members = tuple(
        msgspec.structs.replace(models[number % len(models)], name=f"member{number + 1}") for number in range(count)
    )
    return FleetSpec(members)
