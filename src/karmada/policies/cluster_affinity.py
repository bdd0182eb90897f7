"""Which clusters an affinity means. All given parts must hold; an empty affinity means every cluster."""

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.label_selector import matches
from karmada.api.policy.v1alpha1 import ClusterAffinity, FieldSelectorRequirement


def cluster_matches(affinity: ClusterAffinity, cluster: Cluster) -> bool:
    """Whether the cluster is meant."""
    name = cluster.metadata.name
    if name in affinity.exclude:
        return False
    if affinity.label_selector is not None and not matches(affinity.label_selector, cluster.metadata.labels):
        return False
    if affinity.field_selector is not None and not all(
        _field_holds(test, cluster) for test in affinity.field_selector.match_expressions
    ):
        return False
    return not affinity.cluster_names or name in affinity.cluster_names


def zones_of(cluster: Cluster) -> tuple[str, ...]:
    """All zones of a cluster, whichever way they are spelled."""
    spec = cluster.spec
    return spec.zones or ((spec.zone,) if spec.zone else ())


def _field_holds(test: FieldSelectorRequirement, cluster: Cluster) -> bool:
    match test.key:
        case "zone":
            present = zones_of(cluster)
        case "region":
            present = (cluster.spec.region,) if cluster.spec.region else ()
        case "provider":
            present = (cluster.spec.provider,) if cluster.spec.provider else ()
        case _:
            return False
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
