"""Overriders that only the source documents know, and what overriding does when it cannot."""

from typing import Any

import orjson
import pytest

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree
from karmada.api.policy.v1alpha1 import ClusterOverridePolicy, OverridePolicy
from karmada.overrides.apply import apply_overrides, overridden_replicas, record
from karmada.overrides.errors import OverrideError

MEMBER = from_tree(
    {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "m"}, "spec": {}}, Cluster
)


def policy(name: str = "p", selectors: list[dict[str, Any]] | None = None, **overriders: Any) -> OverridePolicy:
    spec: dict[str, Any] = {"overrideRules": [{"overriders": overriders}]}
    if selectors is not None:
        spec["resourceSelectors"] = selectors
    return from_tree({"metadata": {"name": name, "namespace": "default"}, "spec": spec}, OverridePolicy)


def cluster_policy(name: str, **overriders: Any) -> ClusterOverridePolicy:
    spec = {"overrideRules": [{"overriders": overriders}]}
    return from_tree({"metadata": {"name": name}, "spec": spec}, ClusterOverridePolicy)


def deployment(**metadata: Any) -> dict[str, Any]:
    containers = [{"name": "main", "image": "nginx:1", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"} | metadata,
        "spec": {"replicas": 3, "template": {"spec": {"containers": containers}}},
    }


def test_add_if_absent_never_changes_a_key() -> None:
    rule = {"operator": "addIfAbsent", "value": {"team": "b", "tier": "gold"}}
    changed = apply_overrides(
        deployment(labels={"team": "a"}), MEMBER, [], [policy(labelsOverrider=[rule], annotationsOverrider=[rule])]
    ).resource
    assert changed["metadata"]["labels"] == {"team": "a", "tier": "gold"}
    assert changed["metadata"]["annotations"] == {"team": "b", "tier": "gold"}


def test_resources_are_merged_into_the_named_container() -> None:
    value = {"limits": {"cpu": "2"}, "requests": {"cpu": "500m"}}
    given = policy(resourcesOverrider=[{"containerName": "main", "value": value}])
    container = apply_overrides(deployment(), MEMBER, [], [given]).resource["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"] == {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "500m"}}


def test_resources_of_a_container_that_is_not_there_fail_with_its_name() -> None:
    given = policy("limits", resourcesOverrider=[{"containerName": "sidecar", "value": {"limits": {"cpu": "2"}}}])
    with pytest.raises(OverrideError, match='no container named "sidecar"') as failed:
        apply_overrides(deployment(), MEMBER, [], [given])
    assert failed.value.policy == "limits"


def test_replicas_are_left_to_the_caller() -> None:
    given = policy(replicasOverrider=[{"value": 7}])
    assert overridden_replicas(deployment(), MEMBER, [], [given]) == 7
    assert apply_overrides(deployment(), MEMBER, [], [given]).resource["spec"]["replicas"] == 3


@pytest.mark.parametrize(
    ("wide", "own", "replicas"),
    [([5], [], 5), ([5], [7], 7), ([], [7, 8], 8), ([], [], None)],
    ids=["cluster-wide", "namespaced-has-the-last-word", "last-rule-by-name", "nobody"],
)
def test_the_last_word_on_replicas_counts(wide: list[int], own: list[int], replicas: int | None) -> None:
    wides = [cluster_policy(f"w{value}", replicasOverrider=[{"value": value}]) for value in wide]
    owns = [policy(f"p{value}", replicasOverrider=[{"value": value}]) for value in own]
    assert overridden_replicas(deployment(), MEMBER, wides, owns) == replicas


def test_policies_of_a_namespace_do_not_touch_cluster_scoped_resources() -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}}
    rule = {"operator": "add", "value": {"a": "b"}}
    outcome = apply_overrides(role, MEMBER, [], [policy(labelsOverrider=[rule])])
    assert outcome.by_policies == []
    assert "labels" not in outcome.resource["metadata"]
    assert overridden_replicas(role, MEMBER, [], [policy(replicasOverrider=[{"value": 2}])]) is None


def test_a_record_lists_the_dialects_overriders_too() -> None:
    given = policy(replicasOverrider=[{"value": 7}])
    applied = apply_overrides(deployment(), MEMBER, [], [given]).by_policies
    assert orjson.loads(record(applied)) == [{"policyName": "p", "overriders": {"replicasOverrider": [{"value": 7}]}}]


@pytest.mark.parametrize(
    ("form", "text"),
    [("json", '"s3cret"'), ("json", "s3cret"), ("yaml", "s3cret"), ("yaml", "!!int s3cret"), ("yaml", "@s3cret")],
    ids=["json text", "no json", "yaml text", "yaml of another type", "no yaml"],
)
def test_what_a_field_holds_is_not_quoted_when_it_is_no_document(form: str, text: str) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": "default"},
        "stringData": {"key": text},
    }
    change = {"subPath": "/a", "operator": "add", "value": 1}
    given = policy(fieldOverrider=[{"fieldPath": "/stringData/key", form: [change]}])
    with pytest.raises(OverrideError) as failed:
        apply_overrides(secret, MEMBER, [], [given])
    assert "s3cret" not in str(failed.value)
    assert "the field" in str(failed.value)


def test_a_list_of_containers_that_is_null_is_refused() -> None:
    resource = deployment()
    resource["spec"]["template"]["spec"]["containers"] = None
    rule = {"containerName": "main", "operator": "add", "value": ["-v"]}
    with pytest.raises(OverrideError, match="does not hold a list of containers"):
        apply_overrides(resource, MEMBER, [], [policy(argsOverrider=[rule])])


def test_a_document_is_not_replaced_by_a_single_value() -> None:
    resource = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
    resource["data"] = {"conf": "a: 1"}
    change = {"fieldPath": "/data/conf", "yaml": [{"subPath": "", "operator": "replace", "value": "x"}]}
    with pytest.raises(OverrideError, match="only be replaced by an object or a list"):
        apply_overrides(resource, MEMBER, [], [policy(fieldOverrider=[change])])


def test_null_may_replace_a_document() -> None:
    resource = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
    resource["data"] = {"conf": "a: 1"}
    change = {"fieldPath": "/data/conf", "yaml": [{"subPath": "", "operator": "replace", "value": None}]}
    changed = apply_overrides(resource, MEMBER, [], [policy(fieldOverrider=[change])]).resource
    assert changed["data"]["conf"] == "null\n"
