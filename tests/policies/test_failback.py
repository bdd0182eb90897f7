"""When replicas may go back, and which fields need a feature gate."""

from typing import Any

import pytest

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree
from karmada.api.feature_gates import DEFAULTS
from karmada.api.policy.v1alpha1 import FailbackBehavior, PropagationSpec
from karmada.api.timestamps import parse
from karmada.api.work.v1alpha2 import ResourceBindingSpec, ResourceBindingStatus, TargetCluster
from karmada.policies.failover.failback import gained, is_settled, max_moves, wait
from karmada.policies.gated_fields import gated_fields

START = "2026-01-01T12:00:00Z"
NOW = parse(START).timestamp()


def cluster(ready: str = "True", since: str = START, **metadata: Any) -> Cluster:
    condition = {"type": "Ready", "status": ready, "reason": "R", "message": "", "lastTransitionTime": since}
    tree = {"metadata": {"name": "m1", **metadata}, "spec": {}, "status": {"conditions": [condition]}}
    return from_tree(tree, Cluster)


def status(scheduled: str | None = None, **conditions: str) -> ResourceBindingStatus:
    made = [
        {"type": name, "status": state, "reason": "R", "message": "", "lastTransitionTime": START}
        for name, state in conditions.items()
    ]
    tree = {"schedulerObservedGeneration": 2, "conditions": made}
    return from_tree(tree | ({"lastScheduledTime": scheduled} if scheduled else {}), ResourceBindingStatus)


def waits(found: Cluster | None, state: ResourceBindingStatus, after: float = 0.0, **given: int) -> float | None:
    clusters = {} if found is None else {"m1": found}
    return wait(FailbackBehavior(**given), ["m1"], clusters, state, NOW + after)


def test_a_cluster_must_have_been_ready_for_the_window() -> None:
    assert waits(cluster(), status()) == 600
    assert waits(cluster(), status(), after=590) == 10
    assert waits(cluster(), status(), after=700) == 0
    assert waits(cluster(), status(), window_seconds=60) == 60


@pytest.mark.parametrize(
    "found",
    [None, cluster("False"), cluster("Unknown"), cluster(deletionTimestamp=START), cluster(since="")],
    ids=["gone", "not ready", "unknown", "leaving", "since never"],
)
def test_nothing_goes_back_to_a_cluster_that_is_not_ready(found: Cluster | None) -> None:
    assert waits(found, status(), after=10_000) is None


def test_a_workload_stays_where_it_is_for_the_hysteresis() -> None:
    assert waits(cluster(), status(START), window_seconds=1) == 600
    assert waits(cluster(), status(START), window_seconds=1, hysteresis_seconds=90) == 90
    assert waits(cluster(), status(START), after=1, window_seconds=1, hysteresis_seconds=0) == 0
    assert waits(cluster(since="2026-01-01T11:00:00Z"), status(START), hysteresis_seconds=0) == 1
    assert waits(cluster(), status(FailingBack="False"), window_seconds=1, hysteresis_seconds=90) == 90
    assert waits(cluster(), status(Scheduled="True"), window_seconds=1, hysteresis_seconds=90) == 1
    assert wait(FailbackBehavior(), [], {}, status(), NOW) is None


def test_one_workload_goes_back_at_a_time_unless_the_policy_says_more() -> None:
    assert max_moves(FailbackBehavior()) == 1
    assert max_moves(FailbackBehavior(max_moves=4)) == 4


def test_clusters_gain_that_run_more_than_they_did() -> None:
    before = [TargetCluster(name="a", replicas=1), TargetCluster(name="b", replicas=2), TargetCluster(name="c")]
    after = [TargetCluster(name="d"), TargetCluster(name="a", replicas=2), TargetCluster(name="b", replicas=2)]
    assert gained(before, after) == ["a", "d"]


@pytest.mark.parametrize(
    ("generation", "tasks", "conditions", "settled"),
    [
        (2, [], {}, True),
        (2, [], {"MovesWaiting": "False"}, True),
        (2, [], {"MovesWaiting": "True"}, False),
        (3, [], {}, False),
        (2, [{"fromCluster": "a", "reason": "R", "producer": "p"}], {}, False),
    ],
    ids=["settled", "waited", "waiting", "not scheduled yet", "evicting"],
)
def test_a_result_is_settled_when_nothing_of_it_is_under_way(
    generation: int, tasks: list[Any], conditions: dict[str, str], settled: bool
) -> None:
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}
    spec = from_tree({"resource": resource, "gracefulEvictionTasks": tasks}, ResourceBindingSpec)
    assert is_settled(spec, status(**conditions), generation) is settled


@pytest.mark.parametrize(
    ("fields", "gate", "named"),
    [
        ({"placement": {"workloadAffinity": {}}}, "WorkloadAffinity", "spec.placement.workloadAffinity"),
        ({"preemption": "Always"}, "PropagationPolicyPreemption", "spec.preemption"),
        (
            {"schedulePriority": {"priorityClassSource": "Kube", "priorityClassName": "high"}},
            "PriorityBasedScheduling",
            "spec.schedulePriority",
        ),
        ({"propagateDeps": True}, "PropagateDeps", "spec.propagateDeps"),
        ({"failover": {"cluster": {}}}, "Failover", "spec.failover.cluster"),
        (
            {"failover": {"application": {"statePreservation": {"rules": []}}}},
            "StatefulFailoverInjection",
            "statePreservation",
        ),
        ({"failover": {"failback": {}}}, "ControlledMoves", "spec.failover.failback"),
        (
            {"failover": {"disruptionBudget": {"maxUnavailable": 1}}},
            "ControlledMoves",
            "spec.failover.disruptionBudget",
        ),
        ({"failover": {"fencing": {}}}, "ControlledMoves", "spec.failover.fencing"),
        ({"failover": {"rescheduleTriggers": []}}, "ControlledMoves", "spec.failover.rescheduleTriggers"),
    ],
)
def test_a_field_whose_gate_is_off_is_named(fields: dict[str, Any], gate: str, named: str) -> None:
    spec = from_tree({"resourceSelectors": [], **fields}, PropagationSpec)
    on = DEFAULTS.with_overrides({gate: True})
    assert gated_fields(spec, DEFAULTS.with_overrides({gate: False})) == [
        f"{named} has no effect: the feature gate {gate} is off"
    ]
    assert gated_fields(spec, on) == []


def test_a_field_that_is_not_set_needs_no_gate() -> None:
    off = DEFAULTS.with_overrides(dict.fromkeys(["WorkloadAffinity", "PropagateDeps", "Failover"], False))
    spec = {"resourceSelectors": [], "preemption": "Never", "failover": {"application": {}}}
    assert gated_fields(from_tree(spec, PropagationSpec), off) == []
    assert gated_fields(from_tree({"resourceSelectors": []}, PropagationSpec), off) == []
