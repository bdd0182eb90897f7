"""Why an affinity does not mean a cluster, and which clusters it names that do not exist."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.label_selector import LabelSelectorError, LabelSelectorLike, Operator, from_struct
from karmada.api.policy.v1alpha1 import ClusterAffinity, Placement
from karmada.explain.nearest import did_you_mean
from karmada.policies.cluster_affinity import cluster_matches, zones_of

HINTS = 10
"""Unknown names for which the name that was meant is looked for: each is compared with all clusters."""


def affinities(placement: Placement) -> Iterator[tuple[str, ClusterAffinity]]:
    """Every affinity of a placement with the field it stands in, weights included."""
    if placement.cluster_affinity is not None:
        yield "clusterAffinity", placement.cluster_affinity
    for term in placement.cluster_affinities:
        yield f"clusterAffinities[{term.affinity_name}]", term
        for overflow in term.overflow_affinities:
            yield f"overflowAffinities[{overflow.affinity_name}]", overflow
    scheduling = placement.replica_scheduling
    preference = scheduling.weight_preference if scheduling is not None else None
    for index, weight in enumerate(preference.static_weight_list if preference is not None else ()):
        yield f"staticWeightList[{index}].targetCluster", weight.target_cluster


def unknown_names(placement: Placement | None, clusters: Iterable[Cluster]) -> list[str]:
    """One sentence per cluster that a placement names and that is no member."""
    known = {cluster.metadata.name for cluster in clusters}
    found: dict[str, str] = {}
    for field, affinity in affinities(placement) if placement is not None else ():
        for part, names in (("clusterNames", affinity.cluster_names), ("exclude", affinity.exclude)):
            for name in names:
                if name not in known:
                    found.setdefault(name, f"{field}.{part}")
    hints = {name: did_you_mean(name, known) for name in islice(found, HINTS)}
    return [f"{field} names {name}, which is no member{hints.get(name, '')}" for name, field in found.items()]


def misses(affinity: ClusterAffinity, cluster: Cluster) -> tuple[str, str]:
    """What keeps a cluster out of an affinity, and what would let it in; both empty if it is meant."""
    name = cluster.metadata.name
    if name in affinity.exclude:
        return "it is in exclude", f"take {name} out of exclude"
    if affinity.cluster_names and name not in affinity.cluster_names:
        return "it is not in clusterNames", f"let the policy's placement include {name} (clusterAffinity)"
    if affinity.label_selector is not None and (
        text := missed_labels(affinity.label_selector, cluster.metadata.labels)
    ):
        return text, f"{_labelling(affinity.label_selector, cluster)}change clusterAffinity.labelSelector"
    if cluster_matches(affinity, cluster):
        return "", ""
    spec = cluster.spec
    present = {"provider": spec.provider, "region": spec.region, "zones": ",".join(zones_of(cluster))}
    wanted = ", ".join(
        f"{test.key} {test.operator} ({','.join(test.values)})"
        for test in (affinity.field_selector.match_expressions if affinity.field_selector is not None else ())
    )
    has = ", ".join(f"{key}={value}" for key, value in present.items() if value) or "none of them"
    return (
        f"wants {wanted}; it has {has}",
        f"change clusterAffinity.fieldSelector, or provider, region and zones of {name}",
    )


def _labelling(selector: LabelSelectorLike, cluster: Cluster) -> str:
    """The command that gives a cluster the labels it lacks; empty where none can be worked out."""
    try:
        tests = [test for test in from_struct(selector).requirements if not test.matches(cluster.metadata.labels)]
    except LabelSelectorError:
        return ""
    if not all(test.operator in (Operator.EQUALS, Operator.IN) for test in tests):
        return ""
    pairs = " ".join(f"{test.key}={test.values[0]}" for test in tests)
    return f"label it (karmadactl label cluster {cluster.metadata.name} {pairs} --overwrite), or "


def missed_labels(selector: LabelSelectorLike, labels: Mapping[str, str]) -> str:
    """The labels that a selector wants and that are not so, with what is there; empty if it matches."""
    try:
        tests = [test for test in from_struct(selector).requirements if not test.matches(labels)]
    except LabelSelectorError as error:
        return f"the label selector makes no sense: {error}"
    if not tests:
        return ""
    keys = list(dict.fromkeys(test.key for test in tests))
    there = ", ".join(f"{key}={labels[key]}" if key in labels else f"no {key}" for key in keys)
    return f"wants {', '.join(map(str, tests))}; it has {there}"
