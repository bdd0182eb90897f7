"""The components beside an API server that keeps its objects itself: what each serves with and how its health is seen.

For `karmadactl init` and the operator's embedded flavour.
"""

from collections.abc import Sequence

from karmada.install.manifests import PKI, Component

KEEPS_CLUSTERS, SEARCH = "karmada-aggregated-apiserver", "karmada-search"
PARTS = {
    KEEPS_CLUSTERS: (4443, ("/readyz", 4443, "HTTPS")),
    "karmada-controller-manager": (0, ("/healthz", 10357, "HTTP")),
    "karmada-scheduler": (0, ("/healthz", 10351, "HTTP")),
    "karmada-webhook": (8443, ("/readyz", 8000, "HTTP")),
}
"""Components, the ports that the API server calls, and their readiness probes."""
OPTIONAL = {
    "karmada-descheduler": (0, ("/healthz", 10358, "HTTP")),
    "karmada-metrics-adapter": (4443, ("/readyz", 4443, "HTTPS")),
    SEARCH: (4443, ("/readyz", 4443, "HTTPS")),
}
"""Those that are installed when they are asked for."""
_PAIR = (f"--tls-cert-file={PKI}/server/tls.crt", f"--tls-private-key-file={PKI}/server/tls.key", "--secure-port=4443")
SERVING = {
    "karmada-webhook": (f"--cert-dir={PKI}/server", "--secure-port=8443"),
    KEEPS_CLUSTERS: _PAIR,
    "karmada-metrics-adapter": _PAIR,
    SEARCH: _PAIR,
}
"""With what components that are called serve."""
KEEPING = {
    KEEPS_CLUSTERS: ("--storage=sqlite:///var/lib/karmada/clusters.db",),
    SEARCH: ("--storage=sqlite:///var/lib/karmada/registries.db", "--cache-file=/var/lib/karmada/search.sqlite"),
}
"""Where those that keep objects of their own do so, in a volume."""


def component(
    name: str,
    replicas: int,
    priority_class: str,
    arguments: Sequence[str] = (),
    etcd: Sequence[str] = (),
    *,
    certificate: bool = False,
) -> Component:
    """A component; `etcd` are the flags of an etcd elsewhere, for which it may need a certificate."""
    port, probe = (PARTS | OPTIONAL)[name]
    elsewhere = etcd if name == KEEPS_CLUSTERS else ()
    flags = [*SERVING.get(name, ()), *(elsewhere or KEEPING.get(name, ())), *arguments]
    stateful = name in KEEPING and not elsewhere
    uses_etcd = name == KEEPS_CLUSTERS and certificate
    return Component(name, replicas, priority_class, flags, port, name in SERVING, probe, stateful, uses_etcd)
