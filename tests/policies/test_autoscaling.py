"""Autoscaling decisions that recorded cases do not show: what is remembered, and input without an answer."""

import pytest

from karmada.api.autoscaling.v1alpha1 import (
    CronFederatedHPARule,
    ExecutionHistory,
    HorizontalPodAutoscalerBehavior,
    HPAScalingPolicy,
    HPAScalingRules,
)
from karmada.policies.autoscaling import executions, limits, proposals
from karmada.policies.autoscaling.pods import MetricsError, Pod, Sample, Timing

TIMING = Timing(now=10_000.0, cpu_initialization=300, readiness_delay=30)
READY = {"phase": "Running", "ready": "True", "ready_changed": 0.0, "started": 0.0}


def pods(count, **requests):
    return [Pod(f"p{index}", **READY, requests={"app": requests}) for index in range(count)]


def samples(count, value):
    return {f"p{index}": Sample(value, TIMING.now, 30) for index in range(count)}


def rule(**fields):
    return CronFederatedHPARule(name="r", schedule="0 * * * *", **fields)


def test_a_lost_cluster_does_not_lower_the_total():
    """Two of four replicas are reachable, each twice as busy as wanted: eight are needed, not four."""
    scale = proposals.Scale(replicas=4, calibration=0.5)
    proposal = proposals.by_average(scale, 100, "", pods(2), samples(2, 200), TIMING)
    assert proposal.replicas == 8


@pytest.mark.parametrize(("value", "target"), [(10**18, 1), (1, 0), (0, 0)])
def test_a_metric_whose_count_is_no_number_changes_nothing(value, target):
    scale = proposals.Scale(replicas=3)
    assert proposals.by_average(scale, target, "", pods(2), samples(2, value), TIMING).replicas == 3
    assert proposals.by_object(scale, target, value, pods(2)).replicas == 3
    assert proposals.by_object_per_pod(scale, target, value).replicas == 3


def test_a_container_without_a_request_is_named():
    with pytest.raises(MetricsError, match="missing request for cpu in container app of Pod p0"):
        proposals.by_utilization(proposals.Scale(1), 50, "cpu", "", pods(1, memory="1Gi"), samples(1, 5), TIMING)


def test_missing_metrics_never_turn_a_change_around():
    """One pod of three idles and nothing is known of the others: they are taken to be busy, so nothing is removed."""
    scale = proposals.Scale(replicas=3)
    assert proposals.by_average(scale, 100, "", pods(3), samples(1, 90), TIMING).replicas == 3


def test_recommendations_and_changes_are_forgotten_in_time():
    memory = limits.remembered(limits.Memory(), 5, 0.0, 300)
    memory = limits.scaled(memory, 2, 5, 0.0, 60)
    memory = limits.scaled(memory, 5, 4, 10.0, 60)
    assert [item.replicas for item in (*memory.scale_ups, *memory.scale_downs)] == [3, 1]
    memory = limits.scaled(limits.remembered(memory, 4, 301.0, 300), 4, 4, 301.0, 60)
    assert memory == limits.Memory(recommendations=(limits.Timed(301.0, 4),))


def test_a_rate_counts_from_the_start_of_its_period():
    up = HPAScalingRules(policies=(HPAScalingPolicy(type="Pods", value=4, period_seconds=60),))
    bounds = limits.Bounds(1, 100, 300, HorizontalPodAutoscalerBehavior(scale_up=up))
    memory = limits.scaled(limits.Memory(), 10, 13, 0.0, 60)
    assert limits.allowed(13, 50, bounds, memory, 30.0).replicas == 14
    assert limits.allowed(13, 50, bounds, memory, 61.0).replicas == 17


def test_a_history_of_no_entries_stays_empty():
    histories = (ExecutionHistory(rule_name="r"),)
    (history,) = executions.failed(histories, rule(failed_history_limit=0), "", "no", 0.0, None)
    assert history.failed_executions == ()


def test_interrupted_executions_do_not_pile_up():
    histories = executions.announced((), [rule()], 0.0)
    for hour in range(1, 9):
        (fire,) = executions.due(histories, [rule()], hour * 3600.0)
        histories = executions.claimed(histories, fire, hour * 3600.0)
    (history,) = histories
    assert len(history.failed_executions) == executions.DEFAULT_LIMIT + 1
    (history,) = executions.ended(histories, fire, "", 8 * 3600.0)
    assert len(history.failed_executions) == executions.DEFAULT_LIMIT


def test_a_suspended_rule_has_no_next_fire():
    assert executions.next_fire(rule(), 10.0) == "1970-01-01T01:00:00Z"
    assert executions.next_fire(rule(time_zone="Asia/Kolkata"), 10.0) == "1970-01-01T00:30:00Z"
    assert executions.next_fire(rule(suspend=True), 10.0) is None
