"""Who may write override policies in a namespace changes by them no copy of what is not theirs to write."""

import copy
from typing import Any

import pytest
from tests.overrides.test_dialect import MEMBER, cluster_policy, policy

from karmada.overrides.apply import apply_overrides
from karmada.overrides.errors import OverrideError

RBAC = "rbac.authorization.k8s.io/v1"


def binding() -> dict[str, Any]:
    return {
        "apiVersion": RBAC,
        "kind": "RoleBinding",
        "metadata": {"name": "carol", "namespace": "default"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "carol"}],
    }


def role() -> dict[str, Any]:
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    return {"apiVersion": RBAC, "kind": "Role", "metadata": {"name": "reader", "namespace": "default"}, "rules": rules}


def replace(path: str, value: Any) -> dict[str, Any]:
    return {"plaintext": [{"path": path, "operator": "replace", "value": value}]}


def quota(kind: str = "ResourceQuota") -> dict[str, Any]:
    spec = {"hard": {"pods": "1"}}
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "q", "namespace": "default"}, "spec": spec}


def slice_() -> dict[str, Any]:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "s", "namespace": "default"},
        "endpoints": [{"addresses": ["10.0.0.1"]}],
        "ports": [{"port": 80}],
    }


OVERWRITE = {"operator": "add", "value": {"work.karmada.io/conflict-resolution": "overwrite"}}
IMAGE = {"component": "Repository", "operator": "replace", "value": "x", "predicate": {"path": "/roleRef/name"}}
WITHHELD = [
    (binding(), replace("/roleRef/name", "cluster-admin"), "roleRef"),
    (binding(), replace("/subjects/0/name", "mallory"), "subjects"),
    (binding(), {"plaintext": [{"path": "/subjects", "operator": "remove"}]}, "subjects"),
    (binding(), {"imageOverrider": [IMAGE]}, "roleRef"),
    (role(), replace("/rules/0/verbs/0", "*"), "rules"),
    (role(), {"plaintext": [{"path": "/rules/-", "operator": "add", "value": {"verbs": ["*"]}}]}, "rules"),
    (quota(), replace("/spec/hard/pods", "1000"), "spec"),
    (quota("LimitRange"), replace("/spec", {"limits": []}), "spec"),
    (slice_(), replace("/endpoints/0/addresses/0", "169.254.169.254"), "endpoints"),
    (slice_(), replace("/ports/0/port", 22), "ports"),
    (quota(), {"annotationsOverrider": [OVERWRITE]}, "metadata.annotations[work.karmada.io/conflict-resolution]"),
    (role(), {"annotationsOverrider": [OVERWRITE]}, "metadata.annotations[work.karmada.io/conflict-resolution]"),
]


@pytest.mark.parametrize(
    ("resource", "overriders", "field"), WITHHELD, ids=[str(number) for number in range(len(WITHHELD))]
)
def test_a_policy_of_a_namespace_grants_nothing_and_changes_no_quota_and_no_endpoint(
    resource: dict[str, Any], overriders: dict[str, Any], field: str
) -> None:
    made = apply_overrides(copy.deepcopy(resource), MEMBER, [], [policy("mine", **overriders)])
    assert made.resource == resource
    assert f"override policy mine changes {field} of a {resource['kind']}" in str(made.failure)
    assert made.failure is not None
    assert made.failure.policy == "mine"


LABEL = {"labelsOverrider": [{"operator": "add", "value": {"tier": "front"}}]}
MISSING = {"plaintext": [{"path": "/no/such/path", "operator": "replace", "value": 1}]}


@pytest.mark.parametrize("given", [binding(), role(), quota(), slice_()], ids=lambda one: one["kind"])
def test_what_grants_or_limits_is_copied_without_its_namespaces_policies_when_one_of_them_fails(
    given: dict[str, Any],
) -> None:
    wide = cluster_policy("wide", annotationsOverrider=[{"operator": "add", "value": {"by": "administrator"}}])
    made = apply_overrides(copy.deepcopy(given), MEMBER, [wide], [policy("a", **LABEL), policy("b", **MISSING)])
    assert made.resource == given | {"metadata": given["metadata"] | {"annotations": {"by": "administrator"}}}
    assert [rule.policy_name for rule in made.by_cluster_policies] == ["wide"]
    assert made.by_policies == []
    assert made.failure is not None
    assert made.failure.policy == "b"


def test_other_kinds_and_failures_of_cluster_wide_policies_make_no_copy() -> None:
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "s", "namespace": "default"}}
    with pytest.raises(OverrideError):
        apply_overrides(settings, MEMBER, [], [policy("b", **MISSING)])
    with pytest.raises(OverrideError) as failure:
        apply_overrides(role(), MEMBER, [cluster_policy("wide", **MISSING)], [policy("a", **LABEL)])
    assert failure.value.policy == "wide"


def test_an_administrator_s_policy_may_and_labels_are_anybody_s() -> None:
    wide = cluster_policy("wide", **replace("/subjects/0/name", "dave"), annotationsOverrider=[OVERWRITE])
    labelled = policy("labelled", labelsOverrider=[{"operator": "add", "value": {"tier": "front"}}])
    made = apply_overrides(binding(), MEMBER, [wide], [labelled])
    assert made.failure is None
    assert made.resource["subjects"][0]["name"] == "dave"
    assert made.resource["metadata"]["labels"] == {"tier": "front"}
    assert made.resource["metadata"]["annotations"] == OVERWRITE["value"]
