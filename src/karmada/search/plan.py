"""What ResourceRegistries ask for: pure, from registries and clusters to kinds by cluster, and to conditions."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from karmada.api.annotations import CHILDREN_OF_TEMPLATES, TRIMMED_FIELDS
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.counting import counted
from karmada.api.meta import Condition, set_condition
from karmada.api.search.v1alpha1 import ResourceRegistry
from karmada.policies.cluster_affinity import cluster_matches
from karmada.search.opensearch.model import BackendRef, State
from karmada.search.view import ALWAYS_CHILDREN, GroupKind, group_of

READY, BACKEND_READY = "Ready", "BackendReady"
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
PROTECTED = frozenset(
    f"metadata.{name}"
    for name in (
        "annotations",
        "creationTimestamp",
        "deletionTimestamp",
        "labels",
        "name",
        "namespace",
        "ownerReferences",
        "resourceVersion",
        "uid",
    )
) | {"apiVersion", "kind", "metadata"}
"""Fields that every answer has."""


class Part(NamedTuple):
    """What is cached of a kind."""

    namespaces: Namespaces = frozenset()
    trimmed: frozenset[str] = frozenset()
    """Dotted paths of fields that are left out."""


Wanted = dict[str, dict[KindRef, Part]]
"""By cluster."""
Destinations = Mapping[BackendRef, Mapping[KindRef, Namespaces]]
"""Kinds of one cluster by the OpenSearch they are sent to."""
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
                for kind, part in kinds.items():
                    of_cluster[kind] = _both(of_cluster.get(kind), part)
    return found


def children_of(registry: ResourceRegistry) -> set[KindRef]:
    """The kinds that one registry names and that the view of templates shows from members."""
    every = (registry.metadata.annotations or {}).get(CHILDREN_OF_TEMPLATES) == "true"
    kinds = kinds_of(registry)
    return {kind for kind in kinds if every or GroupKind(group_of(kind.api_version), kind.kind) in ALWAYS_CHILDREN}


def kinds_of(registry: ResourceRegistry) -> dict[KindRef, Part]:
    """The kinds that one registry names; a selector without kind or version names none."""
    found: dict[KindRef, Part] = {}
    named = (registry.metadata.annotations or {}).get(TRIMMED_FIELDS, "").split(",")
    trimmed = frozenset(filter(None, map(str.strip, named))) - PROTECTED
    for selector in registry.spec.resource_selectors:
        if selector.kind and selector.api_version:
            kind = KindRef(selector.api_version, selector.kind)
            namespaces = frozenset([selector.namespace]) if selector.namespace else frozenset()
            found[kind] = _both(found.get(kind), Part(namespaces, trimmed))
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
    elif troubles:
        status, reason, message = "False", "NotCached", "; ".join(_named(troubles))
    else:
        status, reason = "True", "Cached"
        message = f"{counted(len(chosen), 'cluster')}: {counted(len(kinds), 'kind')} cached"
    return Condition(
        type=READY,
        status=status,
        reason=reason,
        message=message,
        last_transition_time=now,
        observed_generation=registry.metadata.generation or 0,
    )


def backend_of(registry: ResourceRegistry) -> BackendRef | None:
    """The OpenSearch that a registry names."""
    store = registry.spec.backend_store
    return BackendRef.of(store.open_search) if store is not None and store.open_search is not None else None


def destinations(registries: Iterable[ResourceRegistry], cluster: Cluster) -> Destinations:
    """Where the kinds of a cluster are sent."""
    found: dict[BackendRef, dict[KindRef, Namespaces]] = {}
    for registry in registries:
        ref = backend_of(registry)
        if ref is None or cluster.metadata.deletion_timestamp:
            continue
        if cluster_matches(registry.spec.target_cluster, cluster):
            kinds = found.setdefault(ref, {})
            for kind, part in kinds_of(registry).items():
                known = Part(kinds[kind]) if kind in kinds else None
                kinds[kind] = _both(known, part).namespaces
    return found


def with_backend(conditions: tuple[Condition, ...], state: State | None, condition: Condition) -> tuple[Condition, ...]:
    """The conditions of a registry with how its backend is, or without it where it names none.

    `condition` is that of the cache; the moment and the generation are the same.
    """
    if state is None:
        return tuple(each for each in conditions if each.type != BACKEND_READY)
    found = msgspec.structs.replace(
        condition,
        type=BACKEND_READY,
        status="True" if state.well else "False",
        reason=state.reason,
        message=state.message,
    )
    return set_condition(conditions, found)


def _named(troubles: list[str]) -> list[str]:
    more = len(troubles) - NAMED
    return troubles if more <= 0 else [*troubles[:NAMED], f"and {more} more"]


def _both(one: Part | None, other: Part) -> Part:
    """What covers both: no namespaces stand for all, and a field is left out where nobody wants it."""
    if one is None:
        return other
    namespaces = one.namespaces | other.namespaces if one.namespaces and other.namespaces else frozenset[str]()
    return Part(namespaces, one.trimmed & other.trimmed)
