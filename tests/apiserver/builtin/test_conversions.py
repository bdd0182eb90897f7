"""Autoscalers and events in their old and new forms: nothing is lost on the way there and back."""

from typing import Any

from karmada.apiserver.builtin import builtin_types
from karmada.apiserver.builtin.conversions import convert_autoscaler, convert_event, converter_of


def autoscaler(**spec: Any) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h", "annotations": {"mine": "kept"}},
        "spec": {"maxReplicas": 3, "scaleTargetRef": target, **spec},
        "status": {"desiredReplicas": 0, "currentMetrics": None},
    }


def metric(name: str) -> dict[str, Any]:
    return {"type": "Resource", "resource": {"name": name, "target": {"type": "Utilization", "averageUtilization": 50}}}


def test_the_cpu_metric_is_a_field_of_the_old_form() -> None:
    old = convert_autoscaler(autoscaler(metrics=[metric("cpu")]))
    assert old["apiVersion"] == "autoscaling/v1"
    assert old["spec"]["targetCPUUtilizationPercentage"] == 50
    assert old["status"] == {"desiredReplicas": 0, "currentReplicas": 0}


def test_what_the_old_form_cannot_say_comes_back() -> None:
    behavior = {"scaleDown": {"selectPolicy": "Max"}}
    new = autoscaler(metrics=[metric("cpu"), metric("memory")], behavior=behavior)
    old = convert_autoscaler(new)
    assert old["metadata"]["annotations"].keys() == {
        "mine",
        "autoscaling.alpha.kubernetes.io/metrics",
        "autoscaling.alpha.kubernetes.io/behavior",
    }
    assert convert_autoscaler(old) == new


def test_events_change_names_only() -> None:
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod"},
        "message": "hello",
        "source": {"component": "c"},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "reportingComponent": "",
        "reportingInstance": "",
    }
    new = convert_event(event)
    assert (new["apiVersion"], new["note"], new["regarding"]) == ("events.k8s.io/v1", "hello", {"kind": "Pod"})
    assert convert_event(new) == event


def test_only_kinds_with_two_forms_are_converted() -> None:
    found = {(t.group, t.version, t.kind) for t in builtin_types() if converter_of(t) is not None}
    assert found == {("autoscaling", "v1", "HorizontalPodAutoscaler"), ("events.k8s.io", "v1", "Event")}
