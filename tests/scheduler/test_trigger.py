"""Which affinity counts as the one in use, and when a placement has changed."""

import msgspec
import pytest
from tests.scheduler.facts import DUPLICATED, DYNAMIC, Tree, binding

from karmada.api import annotations
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import encode, from_tree
from karmada.api.feature_gates import DEFAULTS
from karmada.api.policy.v1alpha1 import Placement
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.scheduler.core.trigger import Need, affinity_in_use, concerns, is_ours, need, versions_to_check

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


def settled(replicas: int, placement: Tree, clusters: dict[str, int], **spec: object) -> ResourceBinding:
    """A binding whose placement has chosen its clusters."""
    subject = binding(replicas, placement, clusters, **spec)
    text = encode(subject.spec.placement).decode()
    metadata = msgspec.structs.replace(subject.metadata, annotations={annotations.APPLIED_PLACEMENT: text})
    return msgspec.structs.replace(subject, metadata=metadata)


TWICE, DIVIDED = {"replicaScheduling": DUPLICATED}, {"replicaScheduling": DYNAMIC}
LATER = {"status": {"lastScheduledTime": "2026-01-01T00:00:00Z"}}
AGAIN = "2026-01-01T00:00:01Z"
PARTS = [{"name": "c", "replicas": 1}]


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (settled(2, DIVIDED, {"m1": 2}), Need.NONE),
        (settled(3, DIVIDED, {"m1": 2}), Need.REPLICAS_CHANGED),
        (settled(2, TWICE, {"m1": 2, "m2": 2}), Need.DUPLICATED),
        (settled(2, TWICE, {"m1": 2, "m2": 3}), Need.REPLICAS_CHANGED),
        (settled(0, DIVIDED, {}), Need.DUPLICATED),
        (settled(0, DIVIDED, {}, replicaRequirements={}), Need.NONE),
        (settled(0, DIVIDED, {}, components=PARTS), Need.NONE),
        (settled(2, DIVIDED, {"m1": 2}, rescheduleTriggeredAt=AGAIN, **LATER), Need.RESCHEDULE_TRIGGERED),
        (settled(2, DIVIDED, {"m1": 2}, failbackTriggeredAt=AGAIN, **LATER), Need.FAILBACK_TRIGGERED),
        (settled(2, DIVIDED, {"m1": 1, "leaving": 1}), Need.TERMINATING_CLUSTER),
        (settled(2, {}, {"m1": 1}), Need.DUPLICATED),
        (binding(2, DIVIDED, {"m1": 2}), Need.PLACEMENT_CHANGED),
        (applied(TWICE, DIVIDED, ""), Need.PLACEMENT_CHANGED),
        (
            applied({"clusterAffinities": TERMS} | TWICE, {"clusterAffinities": TERMS} | DIVIDED, "near"),
            Need.PLACEMENT_CHANGED,
        ),
        (applied({"clusterAffinity": {"clusterNames": ["m2"]}}, {}, ""), Need.PLACEMENT_CHANGED),
        (applied({"clusterTolerations": [{"key": "k"}]}, {}, ""), Need.PLACEMENT_CHANGED),
        (
            applied({"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1}]}, {}, ""),
            Need.PLACEMENT_CHANGED,
        ),
    ],
)
def test_a_binding_is_scheduled_for_the_first_reason_that_holds(subject: ResourceBinding, expected: Need) -> None:
    gates = DEFAULTS.with_overrides({"ControlledMoves": True, "MultiplePodTemplatesScheduling": False})
    assert need(subject, gates, lambda name: name == "leaving") is expected


def test_components_without_a_cluster_are_scheduled() -> None:
    gates = DEFAULTS.with_overrides({"MultiplePodTemplatesScheduling": True})
    assert need(settled(0, DIVIDED, {}, components=PARTS), gates, lambda name: False) is Need.REPLICAS_CHANGED


def test_what_is_deleted_or_has_no_placement_is_not_scheduled() -> None:
    subject = binding(2, DIVIDED)
    deleted = msgspec.structs.replace(subject.metadata, deletion_timestamp=AGAIN)
    bare = msgspec.structs.replace(subject.spec, placement=None)
    gates = DEFAULTS
    assert need(msgspec.structs.replace(subject, metadata=deleted), gates, lambda name: False) is Need.DELETING
    assert need(msgspec.structs.replace(subject, spec=bare), gates, lambda name: False) is Need.NO_PLACEMENT


@pytest.mark.parametrize(
    ("spec", "name", "ours"),
    [
        ({}, "default-scheduler", True),
        ({}, "own", False),
        ({"schedulerName": "own"}, "own", True),
        ({"schedulerName": "own"}, "default-scheduler", False),
        ({"suspension": {"scheduling": True}}, "default-scheduler", False),
        ({"suspension": {"scheduling": False}}, "default-scheduler", True),
    ],
)
def test_a_scheduler_is_in_charge_of_what_names_it_unless_scheduling_is_suspended(
    spec: Tree, name: str, ours: bool
) -> None:
    assert is_ours(binding(1, {}, **spec), name) is ours


SERVING = {"apiEnablements": [{"groupVersion": "v1", "resources": [{"name": "secrets", "kind": "Secret"}]}]}


def version(labels: Tree | None = None, generation: int = 1, **metadata: object) -> Cluster:
    tree = {"metadata": {"name": "m1", "labels": labels or {}, "generation": generation, **metadata}, "spec": {}}
    return from_tree(tree, Cluster)


def test_a_cluster_is_looked_at_when_its_labels_or_spec_change_or_it_leaves() -> None:
    old, leaving = version(), version(deletionTimestamp=AGAIN)
    assert versions_to_check(old, version()) == ()
    assert versions_to_check(old, leaving) == (leaving,)
    assert versions_to_check(leaving, leaving) == ()
    for new in (version({"a": "b"}), version(generation=2)):
        assert versions_to_check(old, new) == (old, new)


def test_a_cluster_is_looked_at_when_it_serves_something_at_first_sight() -> None:
    serving = from_tree({"metadata": {"name": "m1"}, "spec": {}, "status": SERVING}, Cluster)
    assert versions_to_check(None, version()) == ()
    assert versions_to_check(None, serving) == (serving,)


@pytest.mark.parametrize(
    ("placement", "status", "concerned"),
    [
        ({}, {}, True),
        ({"clusterAffinity": {"clusterNames": ["m1"]}}, {}, True),
        ({"clusterAffinity": {"clusterNames": ["m2"]}}, {}, False),
        ({"clusterAffinities": TERMS}, {"schedulerObservingAffinityName": "near"}, True),
        ({"clusterAffinities": TERMS}, {"schedulerObservingAffinityName": "far"}, False),
        (
            {"clusterAffinities": TERMS},
            {"schedulerObservingAffinityName": "far", "schedulerObservedGeneration": 7},
            True,
        ),
    ],
)
def test_a_change_concerns_bindings_whose_affinity_means_the_cluster(
    placement: Tree, status: Tree, concerned: bool
) -> None:
    subject = binding(1, placement, status=status)
    assert concerns(subject, (version(),), "default-scheduler") is concerned
    assert concerns(subject, (), "default-scheduler") is False
    assert concerns(subject, (version(),), "another") is False
    bare = msgspec.structs.replace(subject, spec=msgspec.structs.replace(subject.spec, placement=None))
    assert concerns(bare, (version(),), "default-scheduler") is False
