"""Endpoints of a backend from the EndpointSlices of several clusters. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from karmada.api import annotations, conditions, labels, names
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.meta import is_true
from karmada.api.name_rules import dns_subdomain
from karmada.api.networking.v1alpha1 import MultiClusterService
from karmada.api.remedy.v1alpha1 import RemedyAction
from karmada.machinery.transport import JSONObject
from karmada.works.networks import Network

DERIVED = "derived-"
REMEMBERED = 50_000
"""Addresses of a cluster that are remembered before all of them are forgotten."""
LONGEST_ADDRESS = 64
"""Characters of an address that is remembered: members send longer texts, which are none."""


class Endpoint(NamedTuple):
    """A pod that answers."""

    cluster: str
    namespace: str
    pod: str
    """Empty where the slice does not name one."""
    address: str
    port: int

    def __str__(self) -> str:
        return f"{self.cluster}/{self.pod or self.address}:{self.port}"


class Standing(Enum):
    """Whether a cluster gets requests."""

    UP = "up"
    DOWN = "down"
    """Not ready: only when nobody else answers, as it may be the control plane that cannot see it."""
    BLOCKED = "blocked"
    """It leaves, or a Remedy says so."""


def standing(cluster: Cluster | None) -> Standing:
    """Whether a cluster gets requests."""
    if cluster is None or cluster.metadata.deletion_timestamp is not None:
        return Standing.BLOCKED
    if RemedyAction.TRAFFIC_CONTROL in cluster.status.remedy_actions:
        return Standing.BLOCKED
    ready = is_true(cluster.status.conditions, conditions.READY)
    return Standing.UP if ready else Standing.DOWN


def objection(address: str, network: Network | None) -> str:
    """Why no connection is made to an address that a member sent; empty when its pods may have it. Members say the
    addresses of endpoints, administrators what networks clusters have."""
    if network is None or not (network.ranges or network.problem):
        return f"its pod CIDRs are not declared: annotate the cluster with {annotations.POD_CIDRS}"
    if network.problem:
        return f"annotation {network.problem}"
    if not network.holds(address):
        return f"{address[:63]!r} is no address in its pod CIDRs, which its annotation {annotations.POD_CIDRS} declares"
    return ""


class Objections:
    """`objection` to the addresses of each cluster, remembered: the same are asked for with every port and change."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Network | None, dict[str, str]]] = {}

    def to(self, cluster: str, network: Network | None, addresses: Iterable[str]) -> dict[str, str]:
        """Why no connection is made to addresses of a cluster with a network; nothing is said of the others."""
        before, known = self._known.get(cluster, (None, {}))
        if before != network or len(known) >= REMEMBERED:
            known = {}
        self._known[cluster] = network, known
        found: dict[str, str] = {}
        for address in addresses:
            why = known.get(address)
            if why is None:
                why = objection(address, network)
                if len(known) < REMEMBERED and len(address) <= LONGEST_ADDRESS:
                    known[address] = why
            if why:
                found[address] = why
        return found


def port_name(wanted: str | int, declared: Sequence[tuple[str, int]]) -> str | None:
    """The name of a Service's port by its name or number; None when the Service has no such port."""
    return next((name for name, number in declared if wanted in (name or number, number)), None)


def declared_ports(service: JSONObject | None, exposed: MultiClusterService | None) -> list[tuple[str, int]]:
    """Names and numbers of a Service's ports; a MultiClusterService stands in where there is no Service."""
    if service is not None:
        return [(port.get("name") or "", port["port"]) for port in service["spec"].get("ports") or ()]
    return [(port.name, port.port) for port in exposed.spec.ports] if exposed is not None else []


def of_slices(slices: Iterable[tuple[str, JSONObject]], namespace: str, name: str) -> list[Endpoint]:
    """The ready endpoints of a Service in a namespace, of slices with their clusters, for the port of a name.

    Members send what they like: a slice of another namespace or shape is passed over, and takes no other cluster's
    endpoints along.
    """
    found: dict[Endpoint, None] = {}
    for cluster, one in slices:
        try:
            if one["metadata"]["namespace"] == namespace:
                found.update(dict.fromkeys(_of_slice(cluster, one, namespace, name)))
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            continue
    return sorted(found)


def _of_slice(cluster: str, one: JSONObject, namespace: str, name: str) -> list[Endpoint]:
    found: list[Endpoint] = []
    number = _port(one, name)
    for endpoint in (one.get("endpoints") or ()) if number else ():
        if not is_ready(endpoint) or not endpoint.get("addresses"):
            continue
        reference = endpoint.get("targetRef") or {}
        pod = ""
        if reference.get("kind") == "Pod":
            # Whoever may write slices in one namespace must not reach the pods of another through the gateway.
            if reference.get("namespace", namespace) != namespace or dns_subdomain(str(reference.get("name"))):
                continue
            pod = str(reference["name"])
        found.append(Endpoint(cluster, namespace, pod, str(endpoint["addresses"][0]), number))
    return found


def is_ready(endpoint: Mapping[str, object]) -> bool:
    """Whether an endpoint takes new requests; one that does not say does."""
    given = endpoint.get("conditions")
    return not isinstance(given, dict) or given.get("ready") is not False


def is_local(one: JSONObject) -> bool:
    """Whether a slice in a member is about that member's own pods: others were put there by Karmada."""
    marks = one["metadata"].get("labels")
    manager = marks.get(labels.KUBERNETES_ENDPOINT_SLICE_MANAGED_BY) if isinstance(marks, dict) else None
    return manager not in (labels.IMPORTED_ENDPOINT_SLICE_CONTROLLER, labels.DISPATCHED_ENDPOINT_SLICE_CONTROLLER)


def provider_of(one: JSONObject, clusters: Iterable[str]) -> str:
    """The cluster that a slice in the control plane was collected from; empty when it does not say."""
    metadata = one["metadata"]
    marks = metadata.get("annotations") or {}
    if provider := marks.get(annotations.ENDPOINT_SLICE_PROVISION_CLUSTER):
        return str(provider)
    if space := str(marks.get(annotations.WORK_NAMESPACE, "")):
        return space.removeprefix(names.EXECUTION_SPACE_PREFIX)
    name = str(metadata["name"])
    return max((each for each in clusters if name.startswith(f"imported-{each}-")), key=len, default="")


def _port(one: JSONObject, name: str) -> int:
    ports = [port for port in one.get("ports") or () if (port.get("protocol") or "TCP") == "TCP" and port.get("port")]
    return next((int(port["port"]) for port in ports if (port.get("name") or "") == name), 0)
