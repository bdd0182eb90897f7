"""Conditions of a Deployment's template, from the numbers that members report."""

from typing import Any

import pytest

from karmada.works.availability import is_judged, with_conditions, without_ours

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"


def deployment(replicas: int = 4, status: dict[str, Any] | None = None, **strategy: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {"replicas": replicas}
    if strategy:
        spec["strategy"] = strategy
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"generation": 2},
        "spec": spec,
        "status": status or {},
    }


def counted(number: int, updated: int | None = None, observed: int = 2) -> dict[str, Any]:
    found = {
        "replicas": number,
        "updatedReplicas": number if updated is None else updated,
        "availableReplicas": number,
        "observedGeneration": observed,
    }
    return {name: value for name, value in found.items() if value}


def reported(status: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {one["type"]: (one["status"], one["reason"]) for one in status.get("conditions", ())}


ENOUGH, TOO_FEW = ("True", "MinimumReplicasAvailable"), ("False", "MinimumReplicasUnavailable")
DONE, UNDER_WAY = ("True", "NewReplicaSetAvailable"), ("True", "ReplicaSetUpdated")


@pytest.mark.parametrize(
    ("status", "replicas", "available", "progress"),
    [
        (counted(4), [2, 2], ENOUGH, DONE),
        (counted(3), [2, 2], TOO_FEW, UNDER_WAY),
        (counted(3), [4], ENOUGH, UNDER_WAY),  # a quarter may be missing, of each copy
        (counted(7), [4, 4], ENOUGH, UNDER_WAY),
        (counted(5), [4, 4], TOO_FEW, UNDER_WAY),
        (counted(4, updated=3), [2, 2], ENOUGH, UNDER_WAY),
        (counted(4, observed=1), [2, 2], ENOUGH, UNDER_WAY),
        (counted(4), [4, 4], TOO_FEW, UNDER_WAY),  # every cluster has all replicas
        (counted(3), [], ENOUGH, UNDER_WAY),
        (counted(0), [0], ENOUGH, DONE),
        (counted(0), [1], TOO_FEW, UNDER_WAY),
    ],
)
def test_the_numbers_of_all_members_are_judged_together(status, replicas, available, progress) -> None:
    found = with_conditions(status, deployment(), replicas, NOW)
    assert reported(found) == {"Available": available, "Progressing": progress}


@pytest.mark.parametrize(
    ("strategy", "enough"),
    [
        ({"type": "Recreate"}, TOO_FEW),
        ({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}, ENOUGH),
        ({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}}, TOO_FEW),
        ({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%", "maxSurge": 0}}, ENOUGH),
        ({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "x%"}}, TOO_FEW),
    ],
)
def test_how_many_may_be_missing_says_the_strategy(strategy, enough) -> None:
    assert reported(with_conditions(counted(3), deployment(**strategy), [4], NOW))["Available"] == enough


def test_nothing_is_reported_before_a_member_reports() -> None:
    assert with_conditions({}, deployment(), [4], NOW) == {}


def test_times_move_only_when_the_condition_does() -> None:
    first = with_conditions(counted(4), deployment(), [4], NOW)
    assert [one["lastUpdateTime"] for one in first["conditions"]] == [NOW, NOW]
    assert with_conditions(counted(4), deployment(status=first), [4], LATER) == first
    fewer = with_conditions(counted(1), deployment(status=first), [4], LATER)
    assert [one["lastTransitionTime"] for one in fewer["conditions"]] == [LATER, NOW]


def test_conditions_of_an_interpreter_are_left_alone() -> None:
    own = [
        {"type": "Available", "status": "True", "reason": "MembersReport"},
        {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
    ]
    status = {**counted(1), "conditions": own}
    for given in (status, {**status, "conditions": own[:1]}):
        assert with_conditions(given, deployment(), [4], NOW) == given
    template = deployment(status=status)
    assert without_ours(template) is template


def test_an_interpreter_sees_none_of_ours() -> None:
    other = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}
    status = with_conditions({**counted(4), "conditions": [other]}, deployment(), [4], NOW)
    assert without_ours(deployment(status=status))["status"]["conditions"] == [other]
    assert without_ours(deployment(status=with_conditions(counted(4), deployment(), [4], NOW)))["status"] == counted(4)


def test_only_deployments_are_judged() -> None:
    assert is_judged(deployment())
    assert not is_judged({"apiVersion": "apps/v1", "kind": "StatefulSet"})


def test_a_deployment_that_names_no_replicas_wants_one() -> None:
    template = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "new"}}
    found = with_conditions({"updatedReplicas": 1, "availableReplicas": 1}, template, [], NOW)
    assert reported(found) == {"Available": ENOUGH, "Progressing": DONE}


def test_a_rollout_without_surge_may_miss_one_and_no_more() -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%", "maxSurge": "0%"}}
    assert reported(with_conditions(counted(2), deployment(**strategy), [4], NOW))["Available"] == TOO_FEW
