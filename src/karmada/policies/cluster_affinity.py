"""Which clusters an affinity means. All given parts must hold; an empty affinity means every cluster."""

from karmada.api.caching import Same, weighed_cache
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.label_selector import FIELD_OPERATORS, holds, matches
from karmada.api.policy.v1alpha1 import ClusterAffinity, FieldSelectorRequirement, Placement

_FEW = 64
"""Names that are quicker to look at one by one."""


def placement_matches(placement: Placement, cluster: Cluster) -> bool:
    """Whether any affinity of a placement means the cluster, those that it overflows to included."""
    terms = placement.cluster_affinities
    given = (placement.cluster_affinity, *terms, *(each for term in terms for each in term.overflow_affinities))
    affinities = [affinity for affinity in given if affinity is not None]
    return not affinities or any(cluster_matches(affinity, cluster) for affinity in affinities)


def cluster_matches(affinity: ClusterAffinity, cluster: Cluster) -> bool:
    """Whether the cluster is meant."""
    name = cluster.metadata.name
    if _among(name, affinity.exclude):
        return False
    if affinity.label_selector is not None and not matches(affinity.label_selector, cluster.metadata.labels):
        return False
    if affinity.field_selector is not None and not all(
        _field_holds(test, cluster) for test in affinity.field_selector.match_expressions
    ):
        return False
    return not affinity.cluster_names or _among(name, affinity.cluster_names)


def _among(name: str, names: tuple[str, ...]) -> bool:
    return name in (names if len(names) <= _FEW else _known(Same(names)))


def _weight(known: frozenset[str], names: Same[tuple[str, ...]]) -> int:
    return len(names.value)


@weighed_cache(1_000_000, _weight)
def _known(names: Same[tuple[str, ...]]) -> frozenset[str]:
    """Many names, to be found without looking at each for each cluster."""
    return frozenset(names.value)


def zones_of(cluster: Cluster) -> tuple[str, ...]:
    """All zones of a cluster, whichever way they are spelled."""
    spec = cluster.spec
    return spec.zones or ((spec.zone,) if spec.zone else ())


def _field_holds(test: FieldSelectorRequirement, cluster: Cluster) -> bool:
    """A cluster has one provider and one region, which are tested like labels, and any number of zones."""
    if test.key != "zone":
        fields = {"provider": cluster.spec.provider, "region": cluster.spec.region}
        return holds(test, {key: value for key, value in fields.items() if value}, FIELD_OPERATORS)
    present = zones_of(cluster)
    match test.operator:
        case "In":
            return any(value in test.values for value in present)
        case "NotIn":
            return not any(value in test.values for value in present)
        case "Exists":
            return bool(present)
        case "DoesNotExist":
            return not present
        case _:
            return False
