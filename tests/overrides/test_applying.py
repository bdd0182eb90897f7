"""Which override policies apply to a resource in a cluster, in which order, and what they say of themselves."""

from typing import Any

import pytest

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree
from karmada.api.policy.v1alpha1 import ClusterOverridePolicy, OverridePolicy
from karmada.overrides.apply import apply_overrides, overridden_replicas
from karmada.overrides.errors import OverrideError

MEMBER = from_tree({"metadata": {"name": "m", "labels": {"env": "prod"}}, "spec": {}}, Cluster)
ALL: list[dict[str, Any]] = []
KIND = [{"apiVersion": "v1", "kind": "ConfigMap"}]
LABELLED = [KIND[0] | {"labelSelector": {"matchLabels": {"app": "web"}}}]
NAMED = [KIND[0] | {"name": "settings"}]
OTHER = [KIND[0] | {"name": "other"}]


def config(**data: str) -> dict[str, Any]:
    metadata = {"name": "settings", "namespace": "default", "labels": {"app": "web"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"order": "", **data}}


def spec(selectors: list[dict[str, Any]], overriders: dict[str, Any], target: Any = None) -> dict[str, Any]:
    rule = {"overriders": overriders} | ({"targetCluster": target} if target else {})
    return {"resourceSelectors": selectors, "overrideRules": [rule]}


def annotated(name: str) -> dict[str, Any]:
    return {"annotationsOverrider": [{"operator": "add", "value": {"last": name}}]}


def policy(name: str, selectors: list[dict[str, Any]], target: Any = None) -> OverridePolicy:
    tree = {"metadata": {"name": name, "namespace": "default"}, "spec": spec(selectors, annotated(name), target)}
    return from_tree(tree, OverridePolicy)


def last(policies: list[OverridePolicy], wide: list[ClusterOverridePolicy] | None = None) -> str:
    """The policy whose value stays: the one that was applied last."""
    metadata = apply_overrides(config(), MEMBER, wide or [], policies).resource["metadata"]
    return str((metadata.get("annotations") or {}).get("last", ""))


@pytest.mark.parametrize(
    ("weaker", "stronger"),
    [(KIND, LABELLED), (LABELLED, NAMED), (ALL, NAMED)],
    ids=["label", "name", "any"],
)
def test_the_policy_that_selects_more_closely_has_the_last_word(weaker: Any, stronger: Any) -> None:
    policies = [policy("a", stronger), policy("z", weaker)]
    assert last(policies) == last(policies[::-1]) == "a"


def test_of_equal_policies_the_last_by_name_has_the_last_word() -> None:
    policies = [policy("b", KIND), policy("c", KIND), policy("a", KIND)]
    assert last(policies) == last(policies[::-1]) == "c"
    assert [rule.policy_name for rule in apply_overrides(config(), MEMBER, [], policies).by_policies] == ["a", "b", "c"]


def test_a_policy_for_other_resources_does_not_apply() -> None:
    assert last([policy("a", OTHER)]) == ""
    assert apply_overrides(config(), MEMBER, [], [policy("a", OTHER)]).by_policies == []


@pytest.mark.parametrize(
    ("target", "applies"),
    [
        ({"clusterNames": ["m"]}, True),
        ({"clusterNames": ["n"]}, False),
        ({"labelSelector": {"matchLabels": {"env": "prod"}}}, True),
        ({"labelSelector": {"matchLabels": {"env": "test"}}}, False),
        ({"clusterNames": ["m"], "exclude": ["m"]}, False),
    ],
)
def test_a_rule_applies_in_the_clusters_it_targets(target: Any, applies: bool) -> None:
    assert bool(last([policy("a", KIND, target)])) is applies


@pytest.mark.parametrize(("cluster", "applies"), [("m", True), ("n", False)])
def test_a_policy_without_rules_is_one_rule(cluster: str, applies: bool) -> None:
    """The form of before there were rules."""
    old = {"overriders": annotated("old"), "targetCluster": {"clusterNames": [cluster]}}
    tree = {"metadata": {"name": "old", "namespace": "default"}, "spec": old}
    assert bool(last([from_tree(tree, OverridePolicy)])) is applies


def test_namespaced_policies_have_the_last_word_over_cluster_wide_ones() -> None:
    wide = from_tree({"metadata": {"name": "wide"}, "spec": spec(NAMED, annotated("wide"))}, ClusterOverridePolicy)
    assert last([policy("own", KIND)], [wide]) == "own"
    assert last([], [wide]) == "wide"


def test_replicas_are_those_of_the_last_policy_that_sets_some() -> None:
    def replicas(name: str, value: int, selectors: list[dict[str, Any]]) -> OverridePolicy:
        overriders = {"replicasOverrider": [{"operator": "replace", "value": value}]}
        tree = {"metadata": {"name": name, "namespace": "default"}, "spec": spec(selectors, overriders)}
        return from_tree(tree, OverridePolicy)

    policies = [replicas("a", 5, NAMED), replicas("z", 3, KIND), policy("silent", NAMED)]
    assert overridden_replicas(config(), MEMBER, [], policies) == 5
    assert overridden_replicas(config(), MEMBER, [], [policy("silent", NAMED)]) is None


def field(path: str) -> OverridePolicy:
    change = [{"subPath": "/a", "operator": "replace", "value": 2}]
    overriders = {"fieldOverrider": [{"fieldPath": path, "json": change}]}
    tree = {"metadata": {"name": "p", "namespace": "default"}, "spec": spec(KIND, overriders)}
    return from_tree(tree, OverridePolicy)


@pytest.mark.parametrize(
    "path", ["", "data/k", "xdata/k", "/data/none", "/data/k/deeper", "/list/x", "/list/1", "/list/-1", "/data~1k"]
)
def test_a_field_that_is_not_there_is_refused(path: str) -> None:
    resource = config(k='{"a": 1}') | {"list": ['{"a": 1}']}
    with pytest.raises(OverrideError):
        apply_overrides(resource, MEMBER, [], [field(path)])


def test_a_field_is_found_through_lists_and_escaped_keys() -> None:
    resource = config(**{"k/v~w": '{"a": 1}'}) | {"list": ["", '{"a": 1}']}
    policies = [field("/data/k~1v~0w"), field("/list/1")]
    changed = apply_overrides(resource, MEMBER, [], policies).resource
    assert changed["data"]["k/v~w"] == changed["list"][1] == '{"a":2}'
