"""Which resources selectors choose and how closely, and which clusters an affinity means."""

from typing import Any

import msgspec
import pytest
from tests.growth import counted, work

from karmada.api.cluster.v1alpha1 import Cluster, ClusterSpec
from karmada.api.meta import ObjectMeta
from karmada.api.policy.v1alpha1 import ClusterAffinity, ClusterPropagationPolicy, PropagationPolicy, ResourceSelector
from karmada.policies.cluster_affinity import cluster_matches
from karmada.policies.matching import Match, Subject, closest, fit, kinds, match, subject_of

WEB = Subject("apps/v1", "Deployment", "shop", "web", {"tier": "gold"})
KIND = {"apiVersion": "apps/v1", "kind": "Deployment"}
GOLD = {"matchLabels": {"tier": "gold"}}


def selector(**fields: Any) -> ResourceSelector:
    return msgspec.convert(KIND | fields, ResourceSelector)


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, Match.ALL),
        ({"namespace": "shop"}, Match.ALL),
        ({"namespace": "other"}, Match.NONE),
        ({"kind": "StatefulSet"}, Match.NONE),
        ({"apiVersion": "apps/v1beta1"}, Match.NONE),
        ({"name": "web"}, Match.NAME),
        ({"name": "other"}, Match.NONE),
        ({"labelSelector": GOLD}, Match.LABELS),
        ({"labelSelector": {"matchLabels": {"tier": "silver"}}}, Match.NONE),
        ({"name": "web", "labelSelector": {"matchLabels": {"tier": "silver"}}}, Match.NAME),
    ],
)
def test_a_selector_fits_by_name_by_labels_or_all_of_a_kind(fields: dict[str, Any], found: Match) -> None:
    assert match(selector(**fields), WEB) is found


def test_the_closest_of_several_selectors_counts_and_none_is_no_fit() -> None:
    assert closest([selector(), selector(name="web"), selector(labelSelector=GOLD)], WEB) is Match.NAME
    assert closest([selector(), selector(labelSelector=GOLD)], WEB) is Match.LABELS
    assert closest([], WEB) is Match.NONE
    assert sorted(Match) == [Match.NONE, Match.ALL, Match.LABELS, Match.NAME]
    assert not Match.NONE


def test_a_policy_selects_in_its_own_namespace_alone() -> None:
    def policy(namespace: str) -> dict[str, Any]:
        return {"metadata": {"name": "p", "namespace": namespace}, "spec": {"resourceSelectors": [KIND]}}

    assert fit(msgspec.convert(policy("shop"), PropagationPolicy), WEB) is Match.ALL
    assert fit(msgspec.convert(policy("other"), PropagationPolicy), WEB) is Match.NONE
    assert fit(msgspec.convert(policy(""), ClusterPropagationPolicy), WEB) is Match.ALL


def test_an_object_without_proper_metadata_is_a_subject_too() -> None:
    assert subject_of({"metadata": "x"}) == Subject("", "", "", "", {})
    assert subject_of({"metadata": {"labels": ["x"], "name": "n"}}) == Subject("", "", "", "n", {})
    tree = {**KIND, "metadata": {"name": "web", "namespace": "shop", "labels": {"tier": "gold"}}}
    assert subject_of(tree) == WEB


def cluster(**spec: Any) -> Cluster:
    metadata = ObjectMeta(name="m1", labels={"tier": "gold"})
    return Cluster(metadata=metadata, spec=ClusterSpec(**{"sync_mode": "Push", "provider": "alpha", **spec}))


def field(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"fieldSelector": {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}}


ZONED = cluster(zones=("z1", "z2"))


@pytest.mark.parametrize(
    ("affinity", "given", "meant"),
    [
        ({}, cluster(), True),
        ({"clusterNames": ["m1"]}, cluster(), True),
        ({"clusterNames": ["m2"]}, cluster(), False),
        ({"exclude": ["m1"]}, cluster(), False),
        ({"exclude": ["m1"], "clusterNames": ["m1"]}, cluster(), False),
        ({"exclude": ["m2"]}, cluster(), True),
        ({"labelSelector": GOLD}, cluster(), True),
        ({"labelSelector": {"matchLabels": {"tier": "silver"}}}, cluster(), False),
        ({"labelSelector": GOLD, "clusterNames": ["m2"]}, cluster(), False),
        (field("provider", "In", "alpha"), cluster(), True),
        (field("provider", "In", "beta"), cluster(), False),
        (field("region", "Exists"), cluster(), False),
        (field("region", "DoesNotExist"), cluster(), True),
        (field("zone", "In", "z2"), ZONED, True),
        (field("zone", "In", "z3"), ZONED, False),
        (field("zone", "In", "z3"), cluster(zone="z3"), True),
        (field("zone", "NotIn", "z2"), ZONED, False),
        (field("zone", "NotIn", "z3"), ZONED, True),
        (field("zone", "Exists"), ZONED, True),
        (field("zone", "Exists"), cluster(), False),
        (field("zone", "DoesNotExist"), ZONED, False),
        (field("zone", "DoesNotExist"), cluster(), True),
        (field("zone", "Sounds", "z1"), ZONED, False),
    ],
)
def test_an_affinity_means_the_clusters_for_which_all_its_parts_hold(affinity, given, meant) -> None:
    assert cluster_matches(msgspec.convert(affinity, ClusterAffinity), given) is meant


def test_a_kind_that_many_selectors_name_is_one_kind() -> None:
    selectors = [selector(name=f"web{number}") for number in range(100)] + [selector(kind="StatefulSet")]
    assert kinds(selectors) == [("apps/v1", "Deployment"), ("apps/v1", "StatefulSet")]


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, Match.ALL),
        ({"namespace": "shop"}, Match.ALL),
        ({"namespace": "other"}, Match.NONE),
        ({"kind": "StatefulSet"}, Match.NONE),
        ({"labelSelector": GOLD}, Match.LABELS),
        ({"labelSelector": {"matchLabels": {"tier": "iron"}}}, Match.NONE),
        ({"name": "web"}, Match.NAME),
        ({"name": "web", "namespace": "shop"}, Match.NAME),
        ({"name": "web", "namespace": "other"}, Match.NONE),
        ({"name": "web", "labelSelector": {"matchLabels": {"tier": "iron"}}}, Match.NAME),
    ],
)
def test_a_selector_among_many_fits_as_it_does_alone(fields: dict[str, Any], found: Match) -> None:
    others = [selector(name=f"web{number}") for number in range(50)]
    for _ in range(2):
        assert closest((*others, selector(**fields), *others), WEB) is found
    alone = tuple([selector(**fields)] * 50)
    assert closest(alone, WEB) is found


def test_many_selectors_cost_a_resource_no_more_than_few() -> None:
    named = tuple(selector(name=f"web{number}", namespace="shop") for number in range(1000))
    alike = tuple(selector(kind="StatefulSet") for _ in range(1000))
    for selectors in (named, alike, named + alike):
        assert closest(selectors, WEB) is Match.NONE

        def compared(selectors: tuple[ResourceSelector, ...] = selectors) -> int:
            return sum(closest(selectors, WEB) for _ in range(100))

        assert work(compared).calls < 5_000


def test_many_names_of_an_affinity_cost_a_cluster_no_more_than_few() -> None:
    def compared(count: int) -> float:
        names = tuple(counted([f"m{number}" for number in range(count)]))
        affinity = ClusterAffinity(
            cluster_names=names, exclude=tuple(counted([f"x{number}" for number in range(count)]))
        )
        clusters = [Cluster(metadata=ObjectMeta(name=f"other{number}"), spec=ClusterSpec()) for number in range(20)]
        inside = Cluster(metadata=ObjectMeta(name="m0"), spec=ClusterSpec())
        assert cluster_matches(affinity, inside)

        def matched() -> int:
            return sum(cluster_matches(affinity, cluster) for cluster in clusters)

        return work(matched).comparisons

    assert compared(1000) < 100
