"""Selectors of clusters and nodes read like Kubernetes' own: a term that makes no sense matches nothing."""

from typing import Any

import pytest

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree
from karmada.api.policy.v1alpha1 import ClusterAffinity, Placement
from karmada.api.work.v1alpha2 import NodeClaim
from karmada.estimator.claims import admits
from karmada.policies.cluster_affinity import cluster_matches, placement_matches

CLUSTER = from_tree({"metadata": {"name": "m"}, "spec": {"provider": "aws", "zones": ["a", "b"]}}, Cluster)


def field(key: str, operator: str, *values: str) -> ClusterAffinity:
    term = {"key": key, "operator": operator, "values": list(values)}
    return from_tree({"fieldSelector": {"matchExpressions": [term]}}, ClusterAffinity)


@pytest.mark.parametrize(
    ("affinity", "expected"),
    [
        (field("provider", "In", "aws"), True),
        (field("provider", "NotIn"), False),
        (field("provider", "Exists", "aws"), False),
        (field("region", "NotIn", "eu"), True),
        (field("planet", "NotIn", "mars"), True),
        (field("planet", "In", "mars"), False),
        (field("zone", "NotIn"), True),
        (field("zone", "In", "b"), True),
    ],
)
def test_fields_of_a_cluster_are_tested_like_labels_and_zones_as_a_set(
    affinity: ClusterAffinity, expected: bool
) -> None:
    assert cluster_matches(affinity, CLUSTER) is expected


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": []}]}, False),
        ({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["b"]}]}, True),
        ({"matchExpressions": [{"key": "size", "operator": "Gt", "values": ["3"]}]}, True),
        ({"matchExpressions": [{"key": "size", "operator": "Gt", "values": ["3", "4"]}]}, False),
        ({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}, True),
        ({"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n"]}]}, False),
        ({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n", "o"]}]}, False),
        ({"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}, False),
    ],
)
def test_terms_of_a_node_affinity(term: dict[str, Any], expected: bool) -> None:
    claim = from_tree({"hardNodeAffinity": {"nodeSelectorTerms": [term]}}, NodeClaim)
    assert admits(claim, "n", {"zone": "a", "size": "4"}, ()) is expected


@pytest.mark.parametrize(
    ("placement", "meant"),
    [
        ({}, True),
        ({"clusterAffinity": {"clusterNames": ["m1"]}}, True),
        ({"clusterAffinity": {"clusterNames": ["m2"]}}, False),
        ({"clusterAffinities": [{"affinityName": "a", "clusterNames": ["m2"]}]}, False),
        (
            {
                "clusterAffinities": [
                    {"affinityName": "a", "clusterNames": ["m2"]},
                    {"affinityName": "b", "clusterNames": ["m1"]},
                ]
            },
            True,
        ),
    ],
    ids=["none", "this", "another", "another term", "second term"],
)
def test_a_placement_means_the_clusters_of_any_of_its_affinities_and_without_one_all(
    placement: dict[str, Any], meant: bool
) -> None:
    cluster = from_tree({"metadata": {"name": "m1"}, "spec": {}}, Cluster)
    assert placement_matches(from_tree(placement, Placement), cluster) is meant
