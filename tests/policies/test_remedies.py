"""Which actions the conditions of a cluster call for."""

from typing import Any

import pytest

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree
from karmada.api.remedy.v1alpha1 import Remedy
from karmada.policies.remedies import actions, is_about

CLUSTER = from_tree(
    {"metadata": {"name": "m1"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}, Cluster
)


def remedy(*matches: dict[str, Any], clusters: list[str] | None = None, does: tuple[str, ...] = ("act",)) -> Remedy:
    spec: dict[str, Any] = {"decisionMatches": list(matches), "actions": list(does)}
    if clusters is not None:
        spec["clusterAffinity"] = {"clusterNames": clusters}
    return from_tree({"metadata": {"name": "r"}, "spec": spec}, Remedy)


def when(type_: str, operator: str, status: str) -> dict[str, Any]:
    wanted = {"conditionType": type_, "operator": operator, "conditionStatus": status}
    return {"clusterConditionMatch": wanted}


@pytest.mark.parametrize(("clusters", "expected"), [(None, True), (["m1", "m2"], True), (["m2"], False), ([], False)])
def test_a_remedy_without_an_affinity_is_about_every_cluster(clusters: list[str] | None, expected: bool) -> None:
    assert is_about(remedy(clusters=clusters), "m1") is expected
    assert (actions([remedy(clusters=clusters)], CLUSTER) == ("act",)) is expected


@pytest.mark.parametrize(
    ("matches", "expected"),
    [
        ((), True),
        ((when("Ready", "Equal", "True"),), True),
        ((when("Ready", "Equal", "False"),), False),
        ((when("Ready", "NotEqual", "False"),), True),
        ((when("Ready", "NotEqual", "True"),), False),
        ((when("Ready", "Like", "True"),), False),
        ((when("Ready", "Like", "False"),), False),
        ((when("Disk", "Equal", "True"),), False),
        ((when("Disk", "NotEqual", "True"),), False),
        ((when("Disk", "Equal", "True"), when("Ready", "Equal", "True")), True),
        (({},), False),
    ],
)
def test_one_decision_match_is_enough_and_an_absent_condition_matches_nothing(
    matches: tuple[dict[str, Any], ...], expected: bool
) -> None:
    assert actions([remedy(*matches)], CLUSTER) == (("act",) if expected else ())


def test_actions_of_several_remedies_are_named_once_and_sorted() -> None:
    remedies = [remedy(does=("b", "a")), remedy(does=("a", "c")), remedy(clusters=["m2"], does=("z",))]

    assert actions(remedies, CLUSTER) == ("a", "b", "c")
