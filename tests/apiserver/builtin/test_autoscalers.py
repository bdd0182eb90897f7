"""What a kube-apiserver 1.36.3 says of HorizontalPodAutoscalers that are wrong."""

from typing import Any

import pytest
from tests.apiserver.builtin.test_what_is_allowed import LABEL, TYPES, errors

from karmada.apiserver.schema.decoding import decode

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
SHARE = {"type": "Utilization", "averageUtilization": 50}
AMOUNT = {"type": "AverageValue", "averageValue": "1"}
METRIC = {"name": "m"}
SPEED = {"type": "Pods", "value": 1, "periodSeconds": 15}
TYPE = 'supported values: "ContainerResource", "External", "Object", "Pods", "Resource"'
NO_TYPE = [
    "target.type: Required value: must specify a metric target type",
    'target.type: Invalid value: "": must be either Utilization, Value, or AverageValue',
]
NO_SHARE = "target.averageUtilization: Required value: must set either a target raw value or a target utilization"
TO_ZERO = "must specify at least one Object or External metric to support scaling to zero replicas"


def wrong(version: str = "v2", **spec: Any) -> list[str]:
    body = {"spec": {"maxReplicas": 3, "scaleTargetRef": TARGET, **spec}}
    return errors("autoscaling", version, "HorizontalPodAutoscaler", body)


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            {"minReplicas": 0},
            [
                "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
                f"spec.metrics: Forbidden: {TO_ZERO}",
            ],
            id="none at least",
        ),
        pytest.param(
            {"maxReplicas": 0},
            [
                "spec.maxReplicas: Required value: must be set and greater than 0",
                "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
            ],
            id="none at most",
        ),
        pytest.param(
            {"maxReplicas": -1},
            [
                "spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1",
                "spec.maxReplicas: Invalid value: -1: must be greater than or equal to `minReplicas`",
            ],
            id="less than none",
        ),
        pytest.param(
            {"scaleTargetRef": {}},
            [
                "spec.scaleTargetRef.kind: Required value",
                "spec.scaleTargetRef.name: Required value",
                'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group',
            ],
            id="no target",
        ),
        pytest.param(
            {"scaleTargetRef": {"apiVersion": "a/b/c", "kind": "a/b", "name": "."}},
            [
                "spec.scaleTargetRef.kind: Invalid value: \"a/b\": may not contain '/'",
                "spec.scaleTargetRef.name: Invalid value: \".\": may not be '.'",
                'spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
            ],
            id="a target that cannot be",
        ),
        pytest.param({"scaleTargetRef": {"kind": "ReplicationController", "name": "r"}}, [], id="a kind of no group"),
    ],
)
def test_replicas_and_target(version, spec, expected):
    assert wrong(version, **spec) == expected


def test_the_percentage_of_the_older_version_is_shown_as_a_metric():
    field = "spec.metrics[0].resource.target.averageUtilization"
    assert wrong("v1", targetCPUUtilizationPercentage=0) == [f"{field}: Invalid value: 0: must be greater than 0"]


@pytest.mark.parametrize(
    ("kind", "source", "expected"),
    [
        pytest.param("Pods", {"metric": METRIC, "target": AMOUNT}, [], id="pods"),
        pytest.param(
            "Pods",
            {"metric": METRIC, "target": SHARE},
            ["target.averageValue: Required value: must specify a positive target averageValue"],
            id="pods without an amount",
        ),
        pytest.param(
            "Pods",
            {"metric": {"name": "a/b"}, "target": {"type": "AverageValue", "averageValue": "0"}},
            [
                "metric.name: Invalid value: \"a/b\": may not contain '/'",
                'target.averageValue: Invalid value: "0": must be positive',
            ],
            id="pods at nothing",
        ),
        pytest.param(
            "Object",
            {},
            [
                "describedObject.kind: Required value",
                "describedObject.name: Required value",
                "metric.name: Required value: must specify a metric name",
                *NO_TYPE,
                "target.averageValue: Required value: must set either a target value or averageValue",
            ],
            id="an object without anything",
        ),
        pytest.param(
            "External",
            {"metric": METRIC, "target": SHARE},
            ["target.averageValue: Required value: must set either a target value for metric or a per-pod target"],
            id="external without an amount",
        ),
        pytest.param(
            "External",
            {"metric": METRIC, "target": {"type": "Value", "value": "1", "averageValue": "1"}},
            ["target.value: Forbidden: may not set both a target value for metric and a per-pod target"],
            id="external with both",
        ),
        pytest.param(
            "Resource",
            {"target": {**SHARE, "averageValue": "1"}},
            [
                "name: Required value: must specify a resource name",
                "target.averageValue: Forbidden: may not set both a target raw value and a target utilization",
            ],
            id="a resource with both",
        ),
        pytest.param(
            "ContainerResource",
            {},
            [
                "name: Required value: must specify a resource name",
                "container: Required value: must specify a container",
                *NO_TYPE,
                NO_SHARE,
            ],
            id="a container without anything",
        ),
        pytest.param(
            "ContainerResource",
            {"name": "foo", "container": "a%", "target": {**SHARE, "averageUtilization": 0}},
            [
                'name: Invalid value: "foo": must be a standard resource type or fully qualified',
                'name: Invalid value: "foo": must be a standard resource for containers',
                f'container: Invalid value: "a%": {LABEL}',
                "target.averageUtilization: Invalid value: 0: must be greater than 0",
            ],
            id="a container of a bad name",
        ),
        pytest.param(
            "ContainerResource",
            {"name": "requests.a/b", "container": "c", "target": SHARE},
            ['name: Invalid value: "requests.a/b": doesn\'t follow extended resource name standard'],
            id="a reserved resource",
        ),
    ],
)
def test_metrics(kind, source, expected):
    field = kind[0].lower() + kind[1:]
    assert wrong(metrics=[{"type": kind, field: source}]) == [f"spec.metrics[0].{field}.{text}" for text in expected]


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        pytest.param(
            {},
            [
                "type: Required value: must specify a metric source type",
                *[f'type: Unsupported value: "": {TYPE}'] * 2,
            ],
            id="no type",
        ),
        pytest.param({"type": "Foo"}, [f'type: Unsupported value: "Foo": {TYPE}'] * 2, id="unknown type"),
        pytest.param(
            {"type": "Object", "resource": {"name": "cpu", "target": SHARE}},
            ["object: Required value: must populate information for the given metric source"],
            id="another source",
        ),
        pytest.param(
            {
                "type": "Pods",
                "resource": {"name": "cpu", "target": SHARE},
                "pods": {"metric": METRIC, "target": AMOUNT},
            },
            ["resource: Forbidden: must populate the given metric source only"],
            id="two sources",
        ),
    ],
)
def test_sources(metric, expected):
    assert wrong(metrics=[metric]) == [f"spec.metrics[0].{text}" for text in expected]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        pytest.param({}, [], id="defaults"),
        pytest.param(
            {"stabilizationWindowSeconds": -1},
            ["stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero"],
            id="a window before",
        ),
        pytest.param(
            {"stabilizationWindowSeconds": 3601},
            ["stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600"],
            id="a long window",
        ),
        pytest.param(
            {"selectPolicy": "Foo"},
            ['selectPolicy: Unsupported value: "Foo": supported values: "Disabled", "Max", "Min"'],
            id="an unknown choice",
        ),
        pytest.param(
            {"policies": []},
            ["policies: Required value: must specify at least one Policy"],
            id="an empty list of policies",
        ),
        pytest.param(
            {"policies": [SPEED, {}]},
            [
                'policies[1].type: Unsupported value: "": supported values: "Percent", "Pods"',
                "policies[1].value: Invalid value: 0: must be greater than zero",
                "policies[1].periodSeconds: Invalid value: 0: must be greater than zero",
            ],
            id="an empty policy",
        ),
        pytest.param(
            {"policies": [{**SPEED, "periodSeconds": 1801}]},
            ["policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800"],
            id="a long period",
        ),
        pytest.param(
            {"tolerance": "-0.1"},
            ['tolerance: Invalid value: "-100m": must be greater than or equal to 0'],
            id="a tolerance below nothing",
        ),
    ],
)
@pytest.mark.parametrize("direction", ["scaleUp", "scaleDown"])
def test_behavior(direction, rules, expected):
    assert wrong(behavior={direction: rules}) == [f"spec.behavior.{direction}.{text}" for text in expected]


@pytest.mark.parametrize(
    ("note", "text", "expected"),
    [
        pytest.param(
            "metrics", '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1"}}]', [], id="right"
        ),
        pytest.param(
            "metrics",
            '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"0"}}]',
            ['spec.metrics[0].pods.target.averageValue: Invalid value: "0": must be positive'],
            id="a metric",
        ),
        pytest.param(
            "behavior",
            '{"ScaleDown":{"Policies":[]}}',
            ["spec.behavior.scaleDown.policies: Required value: must specify at least one Policy"],
            id="behavior",
        ),
    ],
)
def test_what_the_older_version_notes_is_judged(note: str, text: str, expected: list[str]) -> None:
    notes = {f"autoscaling.alpha.kubernetes.io/{note}": text}
    body = {"metadata": {"name": "n", "annotations": notes}, "spec": {"maxReplicas": 3, "scaleTargetRef": TARGET}}
    assert errors("autoscaling", "v1", "HorizontalPodAutoscaler", body) == expected


def test_an_older_version_that_notes_metrics_gets_no_other():
    text = '[{"type":"Resource","resource":{"name":"memory","targetAverageUtilization":50}}]'
    notes = {"autoscaling.alpha.kubernetes.io/metrics": text}
    obj = {"metadata": {"name": "n", "annotations": notes}, "spec": {"maxReplicas": 3, "scaleTargetRef": TARGET}}
    TYPES["autoscaling", "v1", "HorizontalPodAutoscaler"].strategy.default(obj)
    assert "targetCPUUtilizationPercentage" not in obj["spec"]


def test_the_newer_version_has_no_notes_of_the_older_one():
    obj = {"metadata": {"annotations": {"autoscaling.alpha.kubernetes.io/metrics": "[]", "mine": "kept"}}, "spec": {}}
    TYPES["autoscaling", "v2", "HorizontalPodAutoscaler"].strategy.default(obj)
    assert obj["metadata"] == {"annotations": {"mine": "kept"}}


def test_a_target_without_a_group_that_is_there_already_may_stay():
    old: dict[str, Any] = {"metadata": {"name": "n", "namespace": "default"}, "spec": {"maxReplicas": 3}}
    old["spec"]["scaleTargetRef"] = {"kind": "Deployment", "name": "d"}
    type_ = TYPES["autoscaling", "v2", "HorizontalPodAutoscaler"]
    decode(type_.schema, old)
    type_.strategy.default(old)
    new = {**old, "spec": {**old["spec"], "maxReplicas": 4}}
    assert type_.strategy.validate(new, old) == []


def test_the_status_counts_from_zero():
    status = {"currentReplicas": -1, "desiredReplicas": -1}
    obj = {"metadata": {"name": "n", "namespace": "default"}, "status": status}
    messages = TYPES["autoscaling", "v2", "HorizontalPodAutoscaler"].strategy.validate_status(obj, None)
    assert [str(error) for error in messages] == [
        "status.currentReplicas: Invalid value: -1: must be greater than or equal to 0",
        "status.desiredReplicas: Invalid value: -1: must be greater than or equal to 0",
    ]
