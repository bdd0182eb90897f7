"""Why a FederatedHPA wants the replicas it wants."""

from typing import Any

import pytest

from karmada.api.autoscaling.v1alpha1 import FederatedHPA
from karmada.api.codec import from_tree
from karmada.explain.why.autoscaling import HEADINGS, explain
from karmada.explain.why.links import Link, first_broken

CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
RATE = {
    "type": "Pods",
    "pods": {"metric": {"name": "rate"}, "target": {"type": "AverageValue", "averageValue": "10"}},
}
ABLE = ("AbleToScale", "True", "ReadyForNewScale", "recommended size matches current size")
ACTIVE = ("ScalingActive", "True", "ValidMetricFound", "the HPA was able to calculate a replica count")
WITHIN = ("ScalingLimited", "False", "DesiredWithinRange", "the desired count is within the acceptable range")


def links(metrics: list[Any], current: list[Any], *conditions: tuple[str, str, str, str]) -> list[Link]:
    keys = ("type", "status", "reason", "message")
    status = {"currentReplicas": 4, "desiredReplicas": 8, "currentMetrics": current}
    status["conditions"] = [dict(zip(keys, one, strict=True)) for one in conditions]
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "minReplicas": 2, "maxReplicas": 10}
    tree = {"metadata": {"name": "web"}, "spec": {**spec, "metrics": metrics}, "status": status}
    return explain(from_tree(tree, FederatedHPA))


def test_every_metric_is_shown_with_its_ratio_and_proposal() -> None:
    current = [
        {"type": "Resource", "resource": {"name": "cpu", "current": {"averageValue": "95m", "averageUtilization": 95}}},
        {"type": "Pods", "pods": {"metric": {"name": "rate"}, "current": {"averageValue": "10500m"}}},
    ]
    target, metrics, limits, result = links([CPU, RATE], current, ABLE, ACTIVE, WITHIN)
    assert target.text == "Deployment web can be scaled"
    assert metrics.table == [
        HEADINGS,
        ["cpu", "95%", "50%", "1.90", "about 8"],
        ["pods rate", "10500m", "10", "1.05", "4"],
    ]
    assert "between 2 and 10 replicas" in limits.details
    assert result.data == {"current": 4, "desired": 8}


def test_clusters_that_were_not_read_are_named_and_break_nothing() -> None:
    unread = ("ClustersRead", "False", "ClusterNotReadable", "member3: its agent has no tunnel open")
    target, *others = links([CPU], [], ABLE, ACTIVE, WITHIN, unread)
    assert target.warnings == [
        "clusters that do not count because they cannot be read: member3: its agent has no tunnel open"
    ]
    assert first_broken([target, *others]) is None
    target, *_ = links([CPU], [], ABLE, ACTIVE, WITHIN, ("ClustersRead", "True", "AllClustersRead", "all were read"))
    assert target.warnings == []


def test_a_metric_without_a_value_ends_the_chain_with_a_remedy() -> None:
    failed = ("ScalingActive", "False", "FailedGetPodsMetric", "no answer")
    found = links([CPU, RATE], [], ABLE, failed)
    end = first_broken(found)
    assert end is not None
    assert end.name == "metrics"
    assert "custom.metrics.k8s.io" in end.remedy
    assert end.table[1] == ["cpu", "unknown", "50%", "", ""]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (("ScalingLimited", "True", "TooManyReplicas", "more than the maximum"), "TooManyReplicas"),
        (
            ("ScalingLimited", "True", "InsufficientCapacity", "member1 has room for 0 more (insufficient cpu)"),
            "member1",
        ),
        (
            ("ScalingLimited", "False", "ScalingOut", "member2 can take the rest"),
            "ScalingOut: member2 can take the rest",
        ),
        (("AbleToScale", "True", "ScaleDownStabilized", "recent recommendations were higher"), "ScaleDownStabilized"),
    ],
)
def test_what_limits_a_proposal_is_said(condition: tuple[str, str, str, str], expected: str) -> None:
    found = links([CPU], [], ABLE, ACTIVE, condition) if condition[0] != "AbleToScale" else links([CPU], [], condition)
    limits = next(link for link in found if link.name == "limits")
    assert expected in " ".join([limits.text, *limits.details])


def test_a_target_that_cannot_be_scaled_is_the_first_broken_link() -> None:
    found = links([CPU], [], ("AbleToScale", "False", "FailedGetScaleTargetRef", "not found"))
    assert [link.name for link in found] == ["target"]
    assert "spec.scaleTargetRef" in found[0].remedy


def test_an_autoscaler_that_nobody_looked_at_says_so() -> None:
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 3}
    (link,) = explain(from_tree({"metadata": {"name": "web"}, "spec": spec}, FederatedHPA))
    assert link.broken
