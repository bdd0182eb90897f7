"""A resource is claimed by at most one policy, and a claim counts only when it is complete."""

import pytest

from karmada.api import annotations, labels
from karmada.api.codec import from_tree
from karmada.api.policy.v1alpha1 import ClusterPropagationPolicy, PropagationPolicy
from karmada.policies.claims import Claim, claim_metadata, claim_of, claimed, holds, read_claim

OWN = Claim("default", "nginx", "id-1")
WIDE = Claim("", "all", "id-2")
LABEL, WIDE_LABEL = labels.PROPAGATION_POLICY_PERMANENT_ID, labels.CLUSTER_PROPAGATION_POLICY_PERMANENT_ID
NAMESPACE, NAME = annotations.PROPAGATION_POLICY_NAMESPACE, annotations.PROPAGATION_POLICY_NAME
WIDE_NAME = annotations.CLUSTER_PROPAGATION_POLICY_NAME


def test_a_policy_claims_with_its_permanent_id() -> None:
    both = {LABEL: "id-1", WIDE_LABEL: "id-2"}
    own = from_tree(
        {"metadata": {"name": "nginx", "namespace": "default", "labels": both}, "spec": {}}, PropagationPolicy
    )
    wide = from_tree({"metadata": {"name": "all", "labels": both}, "spec": {}}, ClusterPropagationPolicy)

    assert claim_of(own) == OWN
    assert claim_of(wide) == WIDE
    new = from_tree({"metadata": {"name": "new", "namespace": "a"}, "spec": {}}, PropagationPolicy)
    assert claim_of(new).permanent_id == ""


@pytest.mark.parametrize("claim", [OWN, WIDE])
def test_what_is_written_down_is_read_again(claim: Claim) -> None:
    assert read_claim(*claim_metadata(claim)) == claim
    assert claim.is_cluster_wide is (claim is WIDE)


def test_a_claim_of_a_namespace_goes_before_a_cluster_wide_one() -> None:
    own, wide = claim_metadata(OWN), claim_metadata(WIDE)

    assert read_claim(own.labels | wide.labels, own.annotations | wide.annotations) == OWN


@pytest.mark.parametrize("missing", [LABEL, NAMESPACE, NAME])
@pytest.mark.parametrize("empty", [False, True])
def test_an_incomplete_claim_is_none(missing: str, empty: bool) -> None:
    marks = claim_metadata(OWN)
    for part in marks:
        if missing in part:
            del part[missing]
            if empty:
                part[missing] = ""

    assert read_claim(*marks) is None


@pytest.mark.parametrize("missing", [WIDE_LABEL, WIDE_NAME])
def test_an_incomplete_cluster_wide_claim_is_none(missing: str) -> None:
    marks = claim_metadata(WIDE)
    for part in marks:
        part.pop(missing, None)

    assert read_claim(*marks) is None


def test_labels_alone_show_whether_a_claim_is_held() -> None:
    assert holds({LABEL: "id-1", "app": "x"}, OWN)
    assert not holds({LABEL: "id-other"}, OWN)
    assert not holds({WIDE_LABEL: "id-1"}, OWN)
    assert not holds({}, WIDE)


def test_a_new_claim_removes_what_another_left_and_nothing_else() -> None:
    before = claim_metadata(OWN)
    marked = claimed({**before.labels, "app": "x"}, {**before.annotations, "note": "y"}, WIDE)

    assert marked.labels == {"app": "x", WIDE_LABEL: "id-2"}
    assert marked.annotations == {"note": "y", WIDE_NAME: "all"}
    assert claimed(marked.labels, marked.annotations, None) == ({"app": "x"}, {"note": "y"})
