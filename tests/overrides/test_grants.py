"""Who may write override policies in a namespace grants nobody anything by them."""

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


IMAGE = {"component": "Repository", "operator": "replace", "value": "x", "predicate": {"path": "/roleRef/name"}}
GRANTING = [
    (binding(), replace("/roleRef/name", "cluster-admin")),
    (binding(), replace("/subjects/0/name", "mallory")),
    (binding(), {"plaintext": [{"path": "/subjects", "operator": "remove"}]}),
    (binding(), {"imageOverrider": [IMAGE]}),
    (role(), replace("/rules/0/verbs/0", "*")),
    (role(), {"plaintext": [{"path": "/rules/-", "operator": "add", "value": {"verbs": ["*"]}}]}),
]


@pytest.mark.parametrize(("resource", "overriders"), GRANTING, ids=[str(number) for number in range(len(GRANTING))])
def test_a_policy_of_a_namespace_changes_no_rules_role_or_subjects(
    resource: dict[str, Any], overriders: dict[str, Any]
) -> None:
    with pytest.raises(OverrideError) as failure:
        apply_overrides(resource, MEMBER, [], [policy("granting", **overriders)])
    assert f"override policy granting changes what a {resource['kind']} grants" in str(failure.value)
    assert failure.value.policy == "granting"


def test_an_administrator_s_policy_may_and_labels_are_anybody_s() -> None:
    wide = cluster_policy("wide", **replace("/subjects/0/name", "dave"))
    labelled = policy("labelled", labelsOverrider=[{"operator": "add", "value": {"tier": "front"}}])
    copy = apply_overrides(binding(), MEMBER, [wide], [labelled]).resource
    assert copy["subjects"][0]["name"] == "dave"
    assert copy["metadata"]["labels"] == {"tier": "front"}
