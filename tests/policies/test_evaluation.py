"""What the metrics of a FederatedHPA come to: which one counts, and what missing ones forbid."""

from typing import Any

import pytest

from karmada.api.autoscaling.v1alpha1 import MetricSpec
from karmada.api.codec import from_tree
from karmada.policies.autoscaling.evaluation import (
    Evaluated,
    Invalid,
    Reading,
    Total,
    Tuning,
    Workload,
    decide,
    evaluate,
)
from karmada.policies.autoscaling.pods import MetricsError, Pod, Sample, Timing

NOW = 10_000.0
TUNING = Tuning(0.1, Timing(NOW, 300, 30))
PODS = tuple(
    Pod(f"m1/p{index}", "Running", ready="True", ready_changed=0.0, started=0.0, requests={"app": {"cpu": "100m"}})
    for index in range(4)
)
WORKLOAD = Workload(4, 4, 1.0, PODS)


def metric(type_: str, **source: Any) -> MetricSpec:
    field = type_[0].lower() + type_[1:]
    return from_tree({"type": type_, field: source}, MetricSpec)


def used(value: int) -> dict[str, Sample]:
    return {pod.name: Sample(value, NOW, 30) for pod in PODS}


CPU = metric("Resource", name="cpu", target={"type": "Utilization", "averageUtilization": 50})
RATE = metric("Pods", metric={"name": "rate"}, target={"type": "AverageValue", "averageValue": "10"})
QUEUE = metric("External", metric={"name": "queue"}, target={"type": "AverageValue", "averageValue": "5"})
INGRESS = metric(
    "Object",
    describedObject={"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "web"},
    metric={"name": "hits"},
    target={"type": "Value", "value": "100"},
)


@pytest.mark.parametrize(
    ("spec", "reading", "replicas", "name", "status"),
    [
        (CPU, used(100), 8, "cpu resource utilization (percentage of request)", {"averageUtilization": 100}),
        (RATE, used(20_000), 8, "pods metric rate", {"averageValue": "20"}),
        (INGRESS, Total(200_000), 8, "Ingress metric hits", {"value": "200"}),
        (QUEUE, Total(40_000), 8, "external metric queue", {"averageValue": "10"}),
    ],
)
def test_every_kind_of_metric_asks_for_replicas_and_says_what_it_saw(
    spec: MetricSpec, reading: Reading, replicas: int, name: str, status: dict[str, Any]
) -> None:
    result = evaluate(spec, reading, WORKLOAD, TUNING)
    assert isinstance(result, Evaluated)
    assert (result.proposal.replicas, result.name) == (replicas, name)
    source = result.status.object or result.status.pods or result.status.resource or result.status.external
    assert source is not None
    for key, value in status.items():
        attribute = {"averageUtilization": "average_utilization", "averageValue": "average_value"}.get(key, key)
        assert getattr(source.current, attribute) == value


def test_the_highest_proposal_counts() -> None:
    results = [evaluate(CPU, used(100), WORKLOAD, TUNING), evaluate(RATE, used(30_000), WORKLOAD, TUNING)]
    decision = decide(results, 4)
    assert (decision.replicas, decision.metric) == (12, "pods metric rate")
    assert (decision.condition.type, decision.condition.status) == ("ScalingActive", True)


def test_a_metric_without_a_value_lets_replicas_grow_and_never_shrink() -> None:
    broken = evaluate(RATE, MetricsError("no answer"), WORKLOAD, TUNING)
    assert isinstance(broken, Invalid)
    up = decide([broken, evaluate(CPU, used(100), WORKLOAD, TUNING)], 4)
    assert (up.replicas, up.condition.reason) == (8, "ValidMetricFound")
    assert up.error.startswith("invalid metrics (1 invalid out of 2), first error is: failed to get pods metric value")
    down = decide([broken, evaluate(CPU, used(10), WORKLOAD, TUNING)], 4)
    assert (down.replicas, down.condition.reason) == (None, "FailedGetPodsMetric")


@pytest.mark.parametrize("spec", [INGRESS, QUEUE])
def test_a_total_that_lacks_a_part_lets_replicas_grow_and_never_shrink(spec: MetricSpec) -> None:
    up = evaluate(spec, Total(400_000, "member2: no answer"), WORKLOAD, TUNING)
    assert isinstance(up, Evaluated)
    assert up.proposal.replicas > 4
    down = evaluate(spec, Total(1_000, "member2: no answer"), WORKLOAD, TUNING)
    assert isinstance(down, Invalid)
    assert "member2: no answer" in down.message
    same = evaluate(spec, Total(100_000 if spec is INGRESS else 20_000, "member2: no answer"), WORKLOAD, TUNING)
    assert isinstance(same, Evaluated)
    assert same.proposal.replicas == 4
    complete = evaluate(spec, Total(1_000), WORKLOAD, TUNING)
    assert isinstance(complete, Evaluated)
    assert complete.proposal.replicas < 4


@pytest.mark.parametrize("type_", ["Bogus", "Resource", "ContainerResource", "Pods", "Object", "External"])
def test_a_metric_of_no_known_type_or_without_its_source_is_named(type_: str) -> None:
    sources = {} if type_ != "Bogus" else {"resource": CPU.resource, "pods": RATE.pods, "external": QUEUE.external}
    result = evaluate(MetricSpec(type=type_, **sources), used(100), WORKLOAD, TUNING)
    assert isinstance(result, Invalid)
    assert (result.reason, result.message) == ("InvalidMetricSourceType", f'unknown metric source type "{type_}"')


def test_a_resource_without_a_target_is_refused() -> None:
    result = evaluate(metric("Resource", name="cpu", target={"type": "Value"}), used(100), WORKLOAD, TUNING)
    assert isinstance(result, Invalid)
    assert "neither an average utilization target nor an average value target was set" in result.message


def test_a_target_that_names_no_amount_is_zero() -> None:
    spec = metric("External", metric={"name": "queue"}, target={"type": "Value"})
    result = evaluate(spec, Total(0), WORKLOAD, TUNING)
    assert isinstance(result, Evaluated)
    assert result.proposal.replicas == 4


SIDE = metric(
    "ContainerResource", name="cpu", container="app", target={"type": "Utilization", "averageUtilization": 50}
)


def test_the_use_of_one_container_asks_for_replicas_and_names_itself() -> None:
    result = evaluate(SIDE, used(100), WORKLOAD, TUNING)
    assert isinstance(result, Evaluated)
    assert (result.proposal.replicas, result.status.type) == (8, "ContainerResource")
    assert result.name == "cpu container resource utilization (percentage of request)"


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (CPU, "FailedGetResourceMetric"),
        (SIDE, "FailedGetContainerResourceMetric"),
        (RATE, "FailedGetPodsMetric"),
        (INGRESS, "FailedGetObjectMetric"),
        (QUEUE, "FailedGetExternalMetric"),
        (metric("Resource", name="cpu", target={"type": "Utilization"}), "FailedGetResourceMetric"),
    ],
)
def test_a_metric_that_cannot_be_used_says_which_kind_it_is(spec: MetricSpec, reason: str) -> None:
    result = evaluate(spec, MetricsError("no answer"), WORKLOAD, TUNING)
    assert isinstance(result, Invalid)
    assert (result.reason, result.condition.status) == (reason, False)
    assert decide([result], 4).condition.status is False
