"""Overriding leaves an object what it is: which one, and what Karmada finds it by."""

from typing import Any

import pytest
from tests.overrides.test_dialect import MEMBER, cluster_policy, deployment, policy

from karmada.overrides.apply import apply_overrides
from karmada.overrides.errors import OverrideError
from karmada.overrides.identity import Identity, IdentityChanged, touched_by

CLAIM = {"propagationpolicy.karmada.io/permanent-id": "p"}


def plain(path: str, value: Any, operator: str = "replace") -> dict[str, Any]:
    return {"plaintext": [{"path": path, "operator": operator, "value": value}]}


IMAGE = {"component": "Repository", "operator": "replace", "value": "other"}
OTHERS = [
    (plain("/kind", "ClusterRoleBinding"), "kind"),
    (plain("/apiVersion", "rbac.authorization.k8s.io/v1"), "apiVersion"),
    (plain("/metadata/name", "other"), "metadata.name"),
    (plain("/metadata/namespace", "kube-system"), "metadata.namespace"),
    ({"plaintext": [{"path": "/metadata/namespace", "operator": "remove"}]}, "metadata.namespace"),
    (plain("/metadata/uid", "other", "add"), "metadata.uid"),
    (plain("/metadata", {"name": "other", "namespace": "default"}), "metadata.name"),
    (plain("/metadata", "none"), "metadata.name"),
    (plain("/metadata/labels", ["x"]), "metadata.labels"),
    (plain("", {"apiVersion": "v1", "kind": "Secret"}, "add"), "apiVersion"),
    (
        plain("/metadata/labels/work.karmada.io~1permanent-id", "x", "add"),
        "metadata.labels[work.karmada.io/permanent-id]",
    ),
    (plain("/metadata/labels", {"karmada.io/managed": "x"}), "metadata.labels[karmada.io/managed]"),
    ({"imageOverrider": [{**IMAGE, "predicate": {"path": "/metadata/namespace"}}]}, "metadata.namespace"),
    ({"imageOverrider": [{**IMAGE, "predicate": {"path": "/metadata/name"}}]}, "metadata.name"),
    (
        {"labelsOverrider": [{"operator": "add", "value": {next(iter(CLAIM)): "x"}}]},
        "metadata.labels[propagationpolicy.karmada.io/permanent-id]",
    ),
    (
        {"annotationsOverrider": [{"operator": "add", "value": {"work.karmada.io/name": "x"}}]},
        "metadata.annotations[work.karmada.io/name]",
    ),
]


@pytest.mark.parametrize(("overriders", "field"), OTHERS, ids=[str(number) for number in range(len(OTHERS))])
@pytest.mark.parametrize("wide", [False, True], ids=["namespaced", "cluster-wide"])
def test_an_override_that_makes_another_object_of_a_copy_fails_and_names_itself(
    overriders: dict[str, Any], field: str, wide: bool
) -> None:
    template = deployment(labels=dict(CLAIM), uid="u")
    wide_policies = [cluster_policy("forging", **overriders)] if wide else []
    policies = [] if wide else [policy("forging", **overriders)]
    with pytest.raises(OverrideError) as failure:
        apply_overrides(template, MEMBER, wide_policies, policies)
    assert f"override policy forging changes {field}:" in str(failure.value)
    assert failure.value.policy == "forging"


@pytest.mark.parametrize(
    "overriders",
    [
        plain("/metadata/name", "web"),
        plain("/metadata/labels", {"tier": "front"}),
        plain("/metadata/annotations", {"note": "x"}, "add"),
        plain("/spec/template/metadata", {"name": "x", "labels": {"karmada.io/managed": "x"}}, "add"),
        {"labelsOverrider": [{"operator": "add", "value": {"resourcetemplate.karmada.io/retain-replicas": "true"}}]},
        {"labelsOverrider": [{"operator": "remove", "value": CLAIM}]},
    ],
    ids=["same name", "labels", "annotations", "elsewhere", "a wish", "an entry less"],
)
def test_what_leaves_an_object_what_it_is_may_be_overridden(overriders: dict[str, Any]) -> None:
    template = deployment(labels=dict(CLAIM), uid="u")
    before = Identity.of(template)
    copy = apply_overrides(template, MEMBER, [], [policy(**overriders)]).resource
    before.restore(copy)
    assert Identity.of(copy) == before


def test_entries_of_its_own_are_given_back_to_a_copy_and_no_others() -> None:
    before = Identity.of(deployment(labels={"a": "1", **CLAIM}))
    copy = deployment(labels={"b": "2", "karmada.io/managed": "x"}, annotations={"work.karmada.io/name": "x"})
    before.restore(copy)
    assert copy["metadata"]["labels"] == {"b": "2", **CLAIM}
    assert copy["metadata"]["annotations"] == {}


def test_a_copy_on_its_way_to_a_member_may_be_given_the_members_uid() -> None:
    Identity.of(deployment()).require(deployment(uid="members"), "retention")
    with pytest.raises(IdentityChanged, match=r"retention changed metadata\.uid"):
        Identity.of(deployment(uid="templates")).require(deployment(uid="members"), "retention")


@pytest.mark.parametrize(
    ("pointer", "touched"),
    [
        ("/kind", True),
        ("/apiVersion", True),
        ("/metadata/name", True),
        ("/metadata/namespace", True),
        ("/metadata/uid", True),
        ("/metadata/labels/karmada.io~1managed", True),
        ("/metadata/annotations/work.karmada.io~1name", True),
        ("/metadata/labels/app", False),
        ("/metadata/annotations/karmada.io~1managed", False),
        ("/metadata/labels", False),
        ("/metadata", False),
        ("/spec/kind", False),
        ("", False),
    ],
)
def test_a_pointer_shows_whether_it_leads_to_what_an_object_is(pointer: str, touched: bool) -> None:
    assert touched_by(pointer) is touched
