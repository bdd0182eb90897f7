"""From a Karmada object to everything that should be in the host cluster: the installer's objects, named and dressed.

Pure: the same object gives the same plan. Nothing here decides when objects are written;
they are grouped by the order in which they need each other.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass

from karmada.api.labels import APP_NAME
from karmada.api.operator.v1alpha1 import Karmada
from karmada.install.certificates import ETCD as ISSUER_OF_ETCD
from karmada.install.certificates import Leaf, leaves
from karmada.install.chart import default_values, merge, render
from karmada.install.manifests import PORT, Installation, components, server, service
from karmada.install.naming import Names, renamed
from karmada.install.parts import component
from karmada.machinery.transport import JSONObject
from karmada.operator.overrides import budget, dressed, stamped
from karmada.operator.settings import (
    AGGREGATED,
    CRITICAL,
    ETCD,
    METRICS,
    SERVER,
    SUBNET,
    Part,
    domain_of,
    etcd_of,
    is_embedded,
    parts_of,
    server_of,
)

MANAGER = "karmada-operator"
CALLED = (AGGREGATED, METRICS, "karmada-webhook")
RUNNING = ("Deployment", "StatefulSet")


@dataclass(frozen=True, slots=True)
class Plan:
    """Objects in the order in which they are written; what runs in one group is ready before the next."""

    store: Sequence[JSONObject]
    server: Sequence[JSONObject]
    called: Sequence[JSONObject]
    others: Sequence[JSONObject]

    @property
    def everything(self) -> list[JSONObject]:
        """All of them."""
        return [*self.store, *self.server, *self.called, *self.others]

    @property
    def mounted(self) -> set[str]:
        """The Secrets that pods mount."""
        pods = [one["spec"]["template"]["spec"] for one in self.everything if one["kind"] in RUNNING]
        volumes = [volume for pod in pods for volume in pod["volumes"]]
        return {volume["secret"]["secretName"] for volume in volumes if "secret" in volume}

    def with_digests(self, digests: Mapping[str, str]) -> "Plan":
        """The same with pods that are rolled when what their Secrets hold changes."""
        groups = [deepcopy(group) for group in (self.store, self.server, self.called, self.others)]
        for tree in (tree for group in groups for tree in group if tree["kind"] in RUNNING):
            stamped(tree, digests)
        return Plan(*groups)


def plan(karmada: Karmada, image: str) -> Plan:
    """What should be there; `image` has our programs."""
    names, parts = Names(karmada.metadata.name), parts_of(karmada)
    registry = karmada.spec.private_registry
    prefix = f"{registry.registry.rstrip('/')}/" if registry is not None else ""
    usual = (_embedded if is_embedded(karmada) else _engine)(karmada, names, prefix, image, parts)
    groups: dict[str, list[JSONObject]] = {group: [] for group in ("store", "server", "called", "others")}
    for tree in usual:
        made = renamed(tree, names, MANAGER)
        part = parts[_part_of(tree)]
        group = groups[_group(part.name)]
        group.append(made)
        if made["kind"] in RUNNING:
            default = made["spec"]["template"]["spec"]["containers"][0]["image"]
            dressed(made, part, default)
            group += budget(made, part)
        elif made["kind"] == "Service" and part.name == SERVER:
            _set_service(made, karmada)
    if not is_embedded(karmada) and etcd_of(karmada) is None:
        _use_external_etcd(karmada, [*groups["server"], *groups["called"], *groups["others"]])
    return Plan(**groups)


def wanted_leaves(karmada: Karmada, hosts: Sequence[str], server: str) -> list[Leaf]:
    """All certificates that an instance may need; `server` is where administrators reach it, if not inside."""
    names, settings = Names(karmada.metadata.name), server_of(karmada)
    etcd = etcd_of(karmada)
    members = _members(names, parts_of(karmada))
    found = leaves(karmada.metadata.namespace, domain_of(karmada), members, [*settings.cert_sans, *hosts], names)
    if etcd is None:
        found = [leaf for leaf in found if leaf.authority != ISSUER_OF_ETCD]
    components = karmada.spec.components
    aggregated = components.karmada_aggregated_api_server if components is not None else None
    further = {names.of(f"{AGGREGATED}-cert"): aggregated.cert_sans if aggregated is not None else ()}
    if etcd is not None:
        further[names.of("karmada-etcd-cert")] = (*etcd.server_cert_sans, *etcd.peer_cert_sans)
    made = [leaf._replace(hosts=[*leaf.hosts, *further.get(leaf.secret, ())]) for leaf in found]
    admin = names.of("karmada-admin-config")
    return [leaf._replace(server=server or leaf.server) if leaf.secret == admin else leaf for leaf in made]


def _engine(karmada: Karmada, names: Names, prefix: str, image: str, parts: Mapping[str, Part]) -> list[JSONObject]:
    """Kubernetes' own API server and etcd, as the chart has them."""
    usual, server, space = default_values(), server_of(karmada), karmada.metadata.namespace
    given = {
        "imageRegistry": prefix,
        "image": image,
        "clusterDomain": domain_of(karmada),
        "etcd": {"members": _members(names, parts) or ["none"]},
        "apiserver": {
            "serviceType": server.service_type or "ClusterIP",
            "serviceClusterIPRange": server.service_subnet or SUBNET,
        },
        "networkPolicies": True,
        "components": {name: {"enabled": name in parts} for name in usual["components"]},
    }
    values = merge(usual, given)
    return [tree for tree in render(values, space) if _part_of(tree) in parts]


def _embedded(karmada: Karmada, names: Names, prefix: str, image: str, parts: Mapping[str, Part]) -> list[JSONObject]:
    """Our API server with a volume, as `karmadactl init` has it."""
    beside = [component(name, part.replicas, CRITICAL) for name, part in parts.items() if name != SERVER]
    wanted = Installation(karmada.metadata.namespace, prefix + image, storage="PVC", components=beside)
    objects = [
        service(wanted.namespace, SERVER, PORT, PORT),
        server(wanted),
        *components(wanted, called=True),
        *components(wanted, called=False),
    ]
    # Budgets are as the object says.
    return [tree for tree in objects if tree["kind"] != "PodDisruptionBudget"]


def _members(names: Names, parts: Mapping[str, Part]) -> list[str]:
    return [f"{names.of(ETCD)}-{number}" for number in range(parts[ETCD].replicas)] if ETCD in parts else []


def _part_of(tree: JSONObject) -> str:
    labels: Mapping[str, str] = tree["metadata"]["labels"]
    return labels.get(APP_NAME) or labels["app"]


def _group(part: str) -> str:
    if part in (ETCD, SERVER):
        return "store" if part == ETCD else "server"
    return "called" if part in CALLED else "others"


def _set_service(tree: JSONObject, karmada: Karmada) -> None:
    server = server_of(karmada)
    tree["spec"]["type"] = server.service_type or "ClusterIP"
    if server.service_annotations:
        tree["metadata"]["annotations"] = dict(server.service_annotations)
    if server.load_balancer_class and server.service_type == "LoadBalancer":
        tree["spec"]["loadBalancerClass"] = server.load_balancer_class


def _use_external_etcd(karmada: Karmada, workloads: Sequence[JSONObject]) -> None:
    """Have all who keep objects use an etcd that is there already, with the Secret that its owner wrote."""
    components = karmada.spec.components
    assert components is not None
    assert components.etcd.external is not None
    external, names = components.etcd.external, Names(karmada.metadata.name)
    for tree in workloads:
        if tree["kind"] not in RUNNING:
            continue
        pod = tree["spec"]["template"]["spec"]
        for volume in pod["volumes"]:
            if (volume.get("secret") or {}).get("secretName") == names.of("karmada-etcd-client-cert"):
                volume["secret"]["secretName"] = external.secret_ref.name
        command = pod["containers"][0]["command"]
        pod["containers"][0]["command"] = [
            f"--etcd-servers={','.join(external.endpoints)}" if word.startswith("--etcd-servers=") else word
            for word in command
        ]
