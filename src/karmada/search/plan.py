"""What ResourceRegistries ask for: pure, from registries and clusters to kinds by cluster, and to conditions."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.meta import Condition
from karmada.api.search.v1alpha1 import ResourceRegistry
from karmada.policies.cluster_affinity import cluster_matches

READY = "Ready"
NAMED = 5
"""Problems that a condition names."""


class KindRef(NamedTuple):
    """A kind as a registry names it."""

    api_version: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind} ({self.api_version})"


Namespaces = frozenset[str]
"""Of which namespaces objects are cached; all of them when empty."""
Wanted = dict[str, dict[KindRef, Namespaces]]
"""By cluster."""
Problems = Mapping[tuple[str, KindRef], str]
"""Why a kind of a cluster is not served: empty when it is, absent when the cluster was not looked at yet."""


def wanted(registries: Iterable[ResourceRegistry], clusters: Iterable[Cluster]) -> Wanted:
    """The kinds to cache, by cluster. Several registries that name a kind add up."""
    members = [cluster for cluster in clusters if not cluster.metadata.deletion_timestamp]
    found: Wanted = {}
    for registry in registries:
        kinds = kinds_of(registry)
        for cluster in members:
            if kinds and cluster_matches(registry.spec.target_cluster, cluster):
                of_cluster = found.setdefault(cluster.metadata.name, {})
                for kind, namespaces in kinds.items():
                    of_cluster[kind] = _both(of_cluster.get(kind), namespaces)
    return found


def kinds_of(registry: ResourceRegistry) -> dict[KindRef, Namespaces]:
    """The kinds that one registry names; a selector without kind or version names none."""
    found: dict[KindRef, Namespaces] = {}
    for selector in registry.spec.resource_selectors:
        if selector.kind and selector.api_version:
            kind = KindRef(selector.api_version, selector.kind)
            namespaces = frozenset([selector.namespace]) if selector.namespace else frozenset()
            found[kind] = _both(found.get(kind), namespaces)
    return found


def condition(registry: ResourceRegistry, clusters: Iterable[Cluster], problems: Problems, now: str) -> Condition:
    """Whether everything that a registry asks for is served."""
    kinds = kinds_of(registry)
    chosen = sorted(
        cluster.metadata.name for cluster in clusters if cluster_matches(registry.spec.target_cluster, cluster)
    )
    troubles = [
        f"{kind} of cluster {cluster}: {trouble}"
        for kind in kinds
        for cluster in chosen
        if (trouble := problems.get((cluster, kind), "it is being connected"))
    ]
    if not kinds:
        status, reason, message = "False", "NothingSelected", "no selector names an apiVersion and a kind"
    elif not chosen:
        status, reason, message = "False", "NoClusterSelected", "targetCluster matches no cluster"
    elif registry.spec.backend_store is not None:
        text = "spec.backendStore is not supported: objects are searchable through the cache and the proxy only"
        status, reason, message = "False", "BackendNotSupported", "; ".join([text, *_named(troubles)])
    elif troubles:
        status, reason, message = "False", "NotCached", "; ".join(_named(troubles))
    else:
        status, reason = "True", "Cached"
        message = f"{len(kinds)} kinds of {len(chosen)} clusters are cached"
    return Condition(
        type=READY,
        status=status,
        reason=reason,
        message=message,
        last_transition_time=now,
        observed_generation=registry.metadata.generation or 0,
    )


def _named(troubles: list[str]) -> list[str]:
    more = len(troubles) - NAMED
    return troubles if more <= 0 else [*troubles[:NAMED], f"and {more} more"]


def _both(one: Namespaces | None, other: Namespaces) -> Namespaces:
    """What covers both; no namespaces stand for all."""
    if one is None:
        return other
    return one | other if one and other else frozenset()
