"""Who may write override policies in a namespace changes by them no copy of what is not theirs to write."""

import copy
from typing import Any

import pytest
from tests.overrides.test_dialect import MEMBER, cluster_policy, policy

from karmada.api.codec import from_tree
from karmada.api.policy.v1alpha1 import OverridePolicy
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


LABEL = {"labelsOverrider": [{"operator": "add", "value": {"tier": "front"}}]}
MISSING = {"plaintext": [{"path": "/no/such/path", "operator": "replace", "value": 1}]}
OVERWRITE = {"operator": "add", "value": {"work.karmada.io/conflict-resolution": "overwrite"}}
IMAGE = {"component": "Repository", "operator": "replace", "value": "x", "predicate": {"path": "/roleRef/name"}}
SPELLED = [
    replace("/roleRef/name", "cluster-admin"),
    replace("/subjects/0/name", "mallory"),
    {"plaintext": [{"path": "/subjects", "operator": "remove"}]},
    {"imageOverrider": [IMAGE]},
    {"annotationsOverrider": [OVERWRITE]},
    LABEL,
    MISSING,
    {"plaintext": [{"path": "/metadata/labels", "operator": "add", "value": {"no key of a label!": {}}}]},
    {"annotationsOverrider": [{"operator": "add", "value": {"large": "a" * 300_000}}]},
]


@pytest.mark.parametrize("overriders", SPELLED, ids=[str(number) for number in range(len(SPELLED))])
@pytest.mark.parametrize(
    "given", [binding(), role(), quota(), quota("LimitRange"), slice_()], ids=lambda one: one["kind"]
)
def test_policies_of_a_namespace_leave_copies_of_what_grants_or_limits_alone(
    given: dict[str, Any], overriders: dict[str, Any]
) -> None:
    wide = cluster_policy("wide", annotationsOverrider=[{"operator": "add", "value": {"by": "administrator"}}])
    made = apply_overrides(copy.deepcopy(given), MEMBER, [wide], [policy("mine", **overriders)])
    assert made.resource == given | {"metadata": given["metadata"] | {"annotations": {"by": "administrator"}}}
    assert [rule.policy_name for rule in made.by_cluster_policies] == ["wide"]
    assert made.by_policies == []
    text = f"an OverridePolicy has no effect on {given['kind']}: use a ClusterOverridePolicy"
    assert made.left_out is not None
    assert (made.left_out.policy, str(made.left_out)) == ("mine", text)


def test_a_policy_that_would_not_apply_is_not_left_out() -> None:
    tree = {"metadata": {"name": "mine"}, "spec": {"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap"}]}}
    assert apply_overrides(binding(), MEMBER, [], [from_tree(tree, OverridePolicy)]).left_out is None


def test_other_kinds_and_failures_of_cluster_wide_policies_make_no_copy() -> None:
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "s", "namespace": "default"}}
    with pytest.raises(OverrideError):
        apply_overrides(settings, MEMBER, [], [policy("b", **MISSING)])
    with pytest.raises(OverrideError) as failure:
        apply_overrides(role(), MEMBER, [cluster_policy("wide", **MISSING)], [policy("a", **LABEL)])
    assert failure.value.policy == "wide"


def test_an_administrator_s_policy_may() -> None:
    wide = cluster_policy("wide", **replace("/subjects/0/name", "dave"), annotationsOverrider=[OVERWRITE])
    made = apply_overrides(binding(), MEMBER, [wide], [])
    assert made.left_out is None
    assert made.resource["subjects"][0]["name"] == "dave"
    assert made.resource["metadata"]["annotations"] == OVERWRITE["value"]
