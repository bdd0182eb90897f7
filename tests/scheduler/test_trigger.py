"""Which affinity counts as the one in use, and when a placement has changed."""

import msgspec
import pytest
from tests.scheduler.facts import DUPLICATED, Tree, binding

from karmada.api import annotations
from karmada.api.codec import encode, from_tree
from karmada.api.feature_gates import DEFAULTS
from karmada.api.policy.v1alpha1 import Placement
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.scheduler.core.trigger import Need, affinity_in_use, need

TERMS = [{"affinityName": "near", "clusterNames": ["m1"]}, {"affinityName": "far", "clusterNames": ["m2"]}]
TOGETHER = {"affinity": {"groupByLabelKey": "app"}}


@pytest.mark.parametrize(("observed", "used"), [("", "m1"), ("near", "m1"), ("far", "m2"), ("gone", "m1")])
def test_an_observed_affinity_that_nobody_knows_counts_as_the_first(observed: str, used: str) -> None:
    subject = binding(1, {"clusterAffinities": TERMS}, status={"schedulerObservingAffinityName": observed})
    assert subject.spec.placement is not None
    affinity = affinity_in_use(subject, subject.spec.placement)
    assert affinity is not None
    assert affinity.cluster_names == (used,)


def applied(before: Tree, placement: Tree, observed: str) -> ResourceBinding:
    subject = binding(1, placement, {"m1": 1}, status={"schedulerObservingAffinityName": observed})
    text = encode(from_tree(before, Placement)).decode()
    metadata = msgspec.structs.replace(subject.metadata, annotations={annotations.APPLIED_PLACEMENT: text})
    return msgspec.structs.replace(subject, metadata=metadata)


@pytest.mark.parametrize(
    ("before", "after", "observed", "expected"),
    [
        ({}, {"workloadAffinity": TOGETHER}, "", Need.PLACEMENT_CHANGED),
        ({"clusterAffinities": TERMS}, {"clusterAffinities": TERMS[:1]}, "near", Need.DUPLICATED),
        ({"clusterAffinities": TERMS}, {"clusterAffinities": TERMS[:1]}, "far", Need.PLACEMENT_CHANGED),
        ({"clusterAffinities": TERMS}, {"clusterAffinities": TERMS}, "", Need.DUPLICATED),
    ],
    ids=["workload affinity", "another term", "the term in use", "nothing"],
)
def test_a_placement_has_changed_unless_only_terms_out_of_use_did(
    before: Tree, after: Tree, observed: str, expected: Need
) -> None:
    scheduling = {"replicaScheduling": DUPLICATED}
    subject = applied(before | scheduling, after | scheduling, observed)
    assert need(subject, DEFAULTS, lambda name: False) is expected
