"""What a Karmada object says about each part of its control plane, with what it leaves out filled in. Pure.

Defaults are not written back: the object stays what its owner wrote, and an image that nobody named follows the
operator's own version.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from karmada.api.operator.v1alpha1 import CommonSettings, Karmada, KarmadaAPIServer, LocalEtcd

FLAVOUR = "operator.karmada.io/flavour"
EMBEDDED = "embedded"
"""Value of the annotation: our API server, which keeps its objects in a volume, in place of Kubernetes' and etcd."""
DOMAIN = "cluster.local"
SUBNET = "10.96.0.0/12"
CRITICAL = "system-node-critical"
ETCD, SERVER, KUBE = "etcd", "karmada-apiserver", "kube-controller-manager"
AGGREGATED, METRICS = "karmada-aggregated-apiserver", "karmada-metrics-adapter"
DESCHEDULER, SEARCH = "karmada-descheduler", "karmada-search"
ADDONS = (METRICS, SEARCH)
"""Parts whose groups the control plane answers for as long as they are wanted."""
ADAPTERS = 2
"""Metrics adapters, unless the object says otherwise."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a control plane, by its usual name."""

    name: str
    settings: CommonSettings
    replicas: int
    gates: Mapping[str, bool] = field(default_factory=dict)
    flags: Mapping[str, str] = field(default_factory=dict)
    """Flags without leading dashes; they replace those of the installer."""


def is_embedded(karmada: Karmada) -> bool:
    """Whether the control plane keeps its objects itself."""
    return karmada.metadata.annotations.get(FLAVOUR) == EMBEDDED


def domain_of(karmada: Karmada) -> str:
    """The DNS domain of the host cluster."""
    host = karmada.spec.host_cluster
    return (host.networking.dns_domain if host and host.networking else None) or DOMAIN


def etcd_of(karmada: Karmada) -> LocalEtcd | None:
    """The etcd that the operator runs, if it does."""
    components = karmada.spec.components
    if is_embedded(karmada) or (components is not None and components.etcd.external is not None):
        return None
    return (components.etcd.local if components is not None else None) or LocalEtcd()


def server_of(karmada: Karmada) -> KarmadaAPIServer:
    """What is said about the API server."""
    components = karmada.spec.components
    return (components.karmada_api_server if components is not None else None) or KarmadaAPIServer()


def parts_of(karmada: Karmada) -> dict[str, Part]:
    """The parts that are wanted, by their usual names."""
    components = karmada.spec.components
    wanted: dict[str, CommonSettings | None] = {
        SERVER: server_of(karmada),
        AGGREGATED: components.karmada_aggregated_api_server if components else None,
        "karmada-controller-manager": components.karmada_controller_manager if components else None,
        "karmada-scheduler": components.karmada_scheduler if components else None,
        "karmada-webhook": components.karmada_webhook if components else None,
    }
    if not is_embedded(karmada):
        wanted[KUBE] = components.kube_controller_manager if components else None
        wanted[METRICS] = components.karmada_metrics_adapter if components else None
    elif components is not None and components.karmada_metrics_adapter is not None:
        wanted[METRICS] = components.karmada_metrics_adapter
    if components is not None and components.karmada_descheduler is not None:
        wanted[DESCHEDULER] = components.karmada_descheduler
    if components is not None and components.karmada_search is not None:
        wanted[SEARCH] = components.karmada_search
    if (etcd := etcd_of(karmada)) is not None:
        wanted[ETCD] = etcd
    return {name: _part(karmada, name, given or CommonSettings()) for name, given in wanted.items()}


def _part(karmada: Karmada, name: str, settings: CommonSettings) -> Part:
    own: Mapping[str, bool] = getattr(settings, "feature_gates", {})
    gates = own if name in (SERVER, KUBE, ETCD) else {**karmada.spec.feature_gates, **own}
    flags: dict[str, str] = {}
    if controllers := getattr(settings, "controllers", ()):
        flags["controllers"] = ",".join(controllers)
    flags |= getattr(settings, "extra_args", {})
    usual = ADAPTERS if name == METRICS else 1
    return Part(name, settings, usual if settings.replicas is None else settings.replicas, gates, flags)
