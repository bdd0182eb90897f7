"""Autoscalers and events in their old and new forms: nothing is lost on the way there and back."""

from typing import Any

import pytest

from karmada.apiserver.builtin import builtin_types
from karmada.apiserver.builtin.autoscaler_forms import convert_autoscaler
from karmada.apiserver.builtin.conversions import convert_event, converter_of

ALPHA = "autoscaling.alpha.kubernetes.io/"


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


WANTED = {"type": "AverageValue", "averageValue": "1"}
LABELLED = {"name": "m", "selector": {"matchLabels": {"a": "b"}}}
INGRESS = {"kind": "Ingress", "name": "i"}


@pytest.mark.parametrize(
    ("new", "old"),
    [
        pytest.param(
            {"type": "Resource", "resource": {"name": "memory", "target": WANTED}},
            '{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1"}}',
            id="a resource",
        ),
        pytest.param(
            {
                "type": "ContainerResource",
                "containerResource": {
                    "name": "cpu",
                    "container": "c",
                    "target": {"type": "Utilization", "averageUtilization": 5},
                },
            },
            '{"type":"ContainerResource","containerResource":'
            '{"name":"cpu","targetAverageUtilization":5,"container":"c"}}',
            id="a container's resource",
        ),
        pytest.param(
            {"type": "Pods", "pods": {"metric": LABELLED, "target": WANTED}},
            '{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"1","selector":{"matchLabels":{"a":"b"}}}}',
            id="pods",
        ),
        pytest.param(
            {"type": "Object", "object": {"describedObject": INGRESS, "metric": {"name": "m"}, "target": WANTED}},
            '{"type":"Object","object":{"target":{"kind":"Ingress","name":"i"},"metricName":"m","targetValue":"0",'
            '"averageValue":"1"}}',
            id="an object's average",
        ),
        pytest.param(
            {
                "type": "Object",
                "object": {
                    "describedObject": INGRESS,
                    "metric": {"name": "m"},
                    "target": {"type": "Value", "value": "2k"},
                },
            },
            '{"type":"Object","object":{"target":{"kind":"Ingress","name":"i"},"metricName":"m","targetValue":"2k"}}',
            id="an object",
        ),
        pytest.param(
            {"type": "External", "external": {"metric": LABELLED, "target": {"type": "Value", "value": "2"}}},
            '{"type":"External","external":{"metricName":"m","metricSelector":{"matchLabels":{"a":"b"}},"targetValue":"2"}}',
            id="something else",
        ),
    ],
)
def test_metrics_are_noted_as_older_versions_spelled_them(new: dict[str, Any], old: str) -> None:
    given = autoscaler(metrics=[new, metric("cpu")])
    noted = convert_autoscaler(given)
    assert noted["metadata"]["annotations"] == {"mine": "kept", f"{ALPHA}metrics": f"[{old}]"}
    assert convert_autoscaler(noted) == given


def test_behavior_is_noted_with_names_as_in_go() -> None:
    policies = [{"type": "Pods", "value": 4, "periodSeconds": 15}]
    given = autoscaler(metrics=[metric("cpu")], behavior={"scaleUp": {"selectPolicy": "Max", "policies": policies}})
    noted = convert_autoscaler(given)
    assert noted["metadata"]["annotations"][f"{ALPHA}behavior"] == (
        '{"ScaleUp":{"StabilizationWindowSeconds":null,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":4,'
        '"PeriodSeconds":15}],"Tolerance":null},"ScaleDown":null}'
    )
    assert convert_autoscaler(noted) == given


def test_values_and_conditions_are_noted() -> None:
    given = autoscaler(metrics=[metric("cpu")])
    given["status"]["currentMetrics"] = [
        {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 7, "averageValue": "70m"}}}
    ]
    given["status"]["conditions"] = [{"type": "AbleToScale", "status": "True", "lastTransitionTime": None}]
    noted = convert_autoscaler(given)
    assert noted["status"]["currentCPUUtilizationPercentage"] == 7
    assert noted["metadata"]["annotations"][f"{ALPHA}current-metrics"] == (
        '[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":7,"currentAverageValue":"70m"}}]'
    )
    assert convert_autoscaler(noted) == given


@pytest.mark.parametrize("text", ["{", "7", '"x"', '{"a": 1}', "[1]", '[{"type": 5}]'])
@pytest.mark.parametrize("note", ["metrics", "behavior", "current-metrics", "conditions"])
def test_notes_that_cannot_be_read_are_as_good_as_none(note: str, text: str) -> None:
    old = convert_autoscaler(autoscaler(metrics=[metric("cpu")]))
    old["metadata"]["annotations"] = {"mine": "kept", f"{ALPHA}{note}": text}
    assert convert_autoscaler(old) == autoscaler(metrics=[metric("cpu")])


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
