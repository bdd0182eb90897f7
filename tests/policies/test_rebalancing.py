"""Which workloads a WorkloadRebalancer still has to trigger, and what its status says."""

from typing import Any

import pytest

from karmada.api.apps.v1alpha1 import ObjectReference, RebalanceResult, WorkloadRebalancer, WorkloadRebalancerStatus
from karmada.api.codec import from_tree
from karmada.policies.rebalancing import NOT_FOUND, is_due, new_status, observed_workloads

NOW, BEFORE = "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"
DONE, FAILED = RebalanceResult.SUCCESSFUL, RebalanceResult.FAILED


def reference(name: str) -> dict[str, str]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "a", "name": name}


def workload(name: str) -> ObjectReference:
    return from_tree(reference(name), ObjectReference)


def rebalancer(*names: str, finish: str | None = None, generation: int = 1, **results: str) -> WorkloadRebalancer:
    observed = [{"workload": reference(name), "result": result} for name, result in results.items()]
    status: dict[str, Any] = {"observedWorkloads": observed, "observedGeneration": generation}
    if finish:
        status["finishTime"] = finish
    tree = {
        "metadata": {"name": "r", "generation": 1},
        "spec": {"workloads": [reference(name) for name in names]},
        "status": status,
    }
    return from_tree(tree, WorkloadRebalancer)


def results(status: WorkloadRebalancerStatus) -> dict[str, tuple[str, str]]:
    return {item.workload.name: (item.result, item.reason) for item in status.observed_workloads}


def test_new_workloads_are_pending_and_removed_ones_stay_only_if_they_succeeded() -> None:
    given = rebalancer("c", "a", b="Successful", d="Failed", e="", a="Successful")

    assert [(item.workload.name, item.result) for item in observed_workloads(given)] == [
        ("a", "Successful"),
        ("b", "Successful"),
        ("c", ""),
    ]


@pytest.mark.parametrize(
    ("triggered", "expected"),
    [(None, True), ("2026-01-01T00:00:00Z", True), ("2026-01-02T00:00:00Z", False), ("2026-01-03T00:00:00Z", False)],
)
def test_a_binding_is_due_unless_it_was_rescheduled_since(triggered: str | None, expected: bool) -> None:
    assert is_due(NOW, triggered) is expected


def test_outcomes_are_reported_and_what_is_pending_keeps_the_request_open() -> None:
    outcomes = {workload("a"): DONE, workload("b"): FAILED, workload("c"): None}
    status = new_status(rebalancer("a", "b", "c", "d"), outcomes, NOW)

    assert results(status) == {"a": ("Successful", ""), "b": ("Failed", NOT_FOUND), "c": ("", ""), "d": ("", "")}
    assert status.finish_time is None
    assert status.observed_generation == 1


def test_a_result_that_is_known_does_not_change() -> None:
    status = new_status(rebalancer("a", a="Failed"), {workload("a"): DONE}, NOW)

    assert results(status) == {"a": ("Failed", "")}


def test_the_finish_time_is_that_of_the_last_change() -> None:
    finished = new_status(rebalancer("a"), {workload("a"): DONE}, NOW)
    unchanged = new_status(rebalancer("a", finish=BEFORE, a="Successful"), {}, NOW)
    edited = new_status(rebalancer("a", finish=BEFORE, generation=7, a="Successful"), {}, NOW)

    assert finished.finish_time == NOW
    assert unchanged.finish_time == BEFORE
    assert edited.finish_time == NOW
