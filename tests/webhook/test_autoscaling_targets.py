"""Targets of zero and metrics of no known kind are refused, and the field is named."""

import asyncio
from typing import Any

import pytest
from tests.webhook.test_exact_rules import review_of

from karmada.webhook.autoscaler import validate_autoscaler
from karmada.webhook.model import Denied

METRIC = {"name": "rate"}
DESCRIBED = {"apiVersion": "v1", "kind": "Service", "name": "web"}


def judged(metric: dict[str, Any]) -> str:
    """Why an autoscaler with a metric is refused; empty when it is not."""
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "minReplicas": 1,
        "maxReplicas": 5,
        "metrics": [metric],
    }
    tree = {"metadata": {"name": "web", "namespace": "default"}, "spec": spec}
    try:
        asyncio.run(validate_autoscaler(review_of(tree)))
    except Denied as denied:
        return str(denied)
    return ""


def metric(kind: str, target: dict[str, Any]) -> dict[str, Any]:
    sources: dict[str, dict[str, Any]] = {
        "Resource": {"resource": {"name": "cpu"}},
        "ContainerResource": {"containerResource": {"name": "cpu", "container": "app"}},
        "Pods": {"pods": {"metric": METRIC}},
        "Object": {"object": {"metric": METRIC, "describedObject": DESCRIBED}},
        "External": {"external": {"metric": METRIC}},
    }
    ((field, source),) = sources[kind].items()
    return {"type": kind, field: {**source, "target": target}}


@pytest.mark.parametrize(
    ("kind", "target", "field"),
    [
        ("Resource", {"type": "Utilization", "averageUtilization": 0}, "resource.target.averageUtilization"),
        ("Resource", {"type": "AverageValue", "averageValue": "0"}, "resource.target.averageValue"),
        (
            "ContainerResource",
            {"type": "Utilization", "averageUtilization": -5},
            "containerResource.target.averageUtilization",
        ),
        ("Pods", {"type": "AverageValue", "averageValue": "0"}, "pods.target.averageValue"),
        ("Object", {"type": "Value", "value": "0"}, "object.target.value"),
        ("Object", {"type": "AverageValue", "averageValue": "-1"}, "object.target.averageValue"),
        ("External", {"type": "Value", "value": "0"}, "external.target.value"),
    ],
)
def test_a_target_of_nothing_is_refused_by_its_field(kind: str, target: dict[str, Any], field: str) -> None:
    found = judged(metric(kind, target))
    assert "spec.metrics[0]." in found
    assert field in found


@pytest.mark.parametrize("kind", ["", "Bogus"])
def test_a_metric_of_no_known_kind_is_refused_by_its_field(kind: str) -> None:
    broken = metric("Resource", {"type": "Utilization", "averageUtilization": 50}) | {"type": kind}
    assert "spec.metrics[0].type" in judged(broken)


def test_a_sound_metric_is_let_in() -> None:
    assert judged(metric("Resource", {"type": "Utilization", "averageUtilization": 50})) == ""
