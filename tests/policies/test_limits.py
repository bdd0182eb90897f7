"""How far replicas may go at once: edges of bounds, windows and rates."""

import pytest

from karmada.api.autoscaling.v1alpha1 import HorizontalPodAutoscalerBehavior, HPAScalingPolicy, HPAScalingRules
from karmada.policies.autoscaling.limits import Bounds, Memory, Timed, allowed, remembered, scaled

NOW = 1000.0
NOTHING = Memory()


def rules(*policies: tuple[str, int, int], select: str = "Max", window: int | None = 0) -> HPAScalingRules:
    made = tuple(HPAScalingPolicy(type=kind, value=value, period_seconds=seconds) for kind, value, seconds in policies)
    return HPAScalingRules(stabilization_window_seconds=window, select_policy=select, policies=made)


def bounds(
    up: HPAScalingRules | None = None, down: HPAScalingRules | None = None, low: int = 1, high: int = 100
) -> Bounds:
    return Bounds(low, high, 300.0, HorizontalPodAutoscalerBehavior(scale_up=up, scale_down=down))


@pytest.mark.parametrize(
    ("current", "proposed", "replicas", "reason"),
    [
        (1, 4, 4, "DesiredWithinRange"),
        (1, 5, 4, "ScaleUpLimit"),
        (2, 5, 4, "ScaleUpLimit"),
        (3, 6, 6, "DesiredWithinRange"),
        (3, 7, 6, "ScaleUpLimit"),
        (5, 10, 10, "DesiredWithinRange"),
        (5, 11, 10, "TooManyReplicas"),
        (4, 9, 8, "ScaleUpLimit"),
        (6, 11, 10, "TooManyReplicas"),
        (6, 2, 2, "DesiredWithinRange"),
        (6, 1, 2, "TooFewReplicas"),
    ],
)
def test_without_a_behaviour_replicas_double_at_most_and_four_are_always_allowed(
    current: int, proposed: int, replicas: int, reason: str
) -> None:
    found = allowed(current, proposed, Bounds(2, 10, 300.0), NOTHING, NOW)
    assert (found.replicas, found.limited.reason) == (replicas, reason)
    assert found.limited.status is (reason != "DesiredWithinRange")
    assert (found.stabilized.reason, found.stabilized.status) == ("ReadyForNewScale", True)


@pytest.mark.parametrize(("age", "replicas"), [(299.0, 8), (300.0, 8), (301.0, 3)])
def test_without_a_behaviour_the_highest_recommendation_of_the_window_holds(age: float, replicas: int) -> None:
    memory = Memory((Timed(NOW - age, 8), Timed(NOW - 10, 3)))
    found = allowed(8, 3, Bounds(1, 10, 300.0), memory, NOW)
    assert found.replicas == replicas
    assert found.stabilized.reason == ("ScaleDownStabilized" if replicas == 8 else "ReadyForNewScale")
    assert found.stabilized.status is True


@pytest.mark.parametrize(
    ("policies", "select", "wanted", "replicas", "reason"),
    [
        ([("Pods", 4, 60)], "Max", 14, 14, "DesiredWithinRange"),
        ([("Pods", 4, 60)], "Max", 15, 14, "ScaleUpLimit"),
        ([("Percent", 50, 60)], "Max", 20, 15, "ScaleUpLimit"),
        ([("Percent", 1, 60)], "Max", 20, 11, "ScaleUpLimit"),
        ([("Pods", 4, 60), ("Percent", 50, 60)], "Max", 20, 15, "ScaleUpLimit"),
        ([("Pods", 4, 60), ("Percent", 50, 60)], "Min", 20, 14, "ScaleUpLimit"),
        ([("Pods", 4, 60)], "Disabled", 20, 10, "ScaleUpLimit"),
        ([("Pods", 40, 60)], "Max", 60, 40, "TooManyReplicas"),
        ([("Pods", 30, 60)], "Max", 60, 40, "TooManyReplicas"),
    ],
)
def test_growth_keeps_to_the_policies_that_are_selected(
    policies: list[tuple[str, int, int]], select: str, wanted: int, replicas: int, reason: str
) -> None:
    found = allowed(10, wanted, bounds(up=rules(*policies, select=select), high=40), NOTHING, NOW)
    assert (found.replicas, found.limited.reason) == (replicas, reason)


@pytest.mark.parametrize(
    ("policies", "select", "wanted", "replicas", "reason"),
    [
        ([("Pods", 4, 60)], "Max", 6, 6, "DesiredWithinRange"),
        ([("Pods", 4, 60)], "Max", 5, 6, "ScaleDownLimit"),
        ([("Percent", 50, 60)], "Max", 1, 5, "ScaleDownLimit"),
        ([("Percent", 15, 60)], "Max", 1, 8, "ScaleDownLimit"),
        ([("Pods", 4, 60), ("Percent", 50, 60)], "Max", 1, 5, "ScaleDownLimit"),
        ([("Pods", 4, 60), ("Percent", 50, 60)], "Min", 1, 6, "ScaleDownLimit"),
        ([("Pods", 4, 60)], "Disabled", 1, 10, "ScaleDownLimit"),
        ([("Percent", 100, 60)], "Max", 1, 3, "TooFewReplicas"),
        ([("Pods", 7, 60)], "Max", 1, 3, "TooFewReplicas"),
    ],
)
def test_shrinking_keeps_to_the_policies_that_are_selected(
    policies: list[tuple[str, int, int]], select: str, wanted: int, replicas: int, reason: str
) -> None:
    found = allowed(10, wanted, bounds(down=rules(*policies, select=select), low=3), NOTHING, NOW)
    assert (found.replicas, found.limited.reason) == (replicas, reason)


@pytest.mark.parametrize(("age", "replicas"), [(59.0, 11), (60.0, 14), (61.0, 14)])
def test_what_was_added_within_the_period_counts_and_what_was_removed_gives_room(age: float, replicas: int) -> None:
    memory = Memory(scale_ups=(Timed(NOW - age, 3),))
    assert allowed(10, 50, bounds(up=rules(("Pods", 4, 60))), memory, NOW).replicas == replicas
    removed = Memory(scale_downs=(Timed(NOW - age, 3),))
    assert allowed(10, 50, bounds(up=rules(("Pods", 4, 60))), removed, NOW).replicas == (17 if age < 60 else 14)
    assert allowed(10, 1, bounds(down=rules(("Pods", 4, 60))), removed, NOW).replicas == (9 if age < 60 else 6)


def test_growth_beyond_a_rate_never_takes_replicas_away() -> None:
    memory = Memory(scale_ups=(Timed(NOW - 1, 9),))
    assert allowed(10, 50, bounds(up=rules(("Pods", 4, 60))), memory, NOW).replicas == 10
    memory = Memory(scale_downs=(Timed(NOW - 1, 9),))
    assert allowed(10, 1, bounds(down=rules(("Pods", 4, 60))), memory, NOW).replicas == 10


@pytest.mark.parametrize(
    ("age", "replicas", "reason"), [(59.0, 12, "ScaleUpStabilized"), (60.0, 14, "ReadyForNewScale")]
)
def test_a_window_of_growth_takes_the_lowest_recommendation(age: float, replicas: int, reason: str) -> None:
    memory = Memory((Timed(NOW - age, 12),))
    found = allowed(10, 14, bounds(up=rules(("Pods", 50, 60), window=60)), memory, NOW)
    assert found.replicas == replicas
    assert found.stabilized.reason == ("ScaleUpStabilized" if replicas == 12 else "ReadyForNewScale")
    assert found.stabilized.status is True


@pytest.mark.parametrize(
    ("window", "age", "replicas"), [(60, 59.0, 8), (60, 60.0, 6), (None, 299.0, 8), (None, 300.0, 6), (0, 0.5, 6)]
)
def test_a_window_of_shrinking_takes_the_highest_recommendation(window: int | None, age: float, replicas: int) -> None:
    memory = Memory((Timed(NOW - age, 8),))
    found = allowed(10, 6, bounds(down=rules(("Percent", 100, 60), window=window)), memory, NOW)
    assert found.replicas == replicas
    assert found.stabilized.reason == ("ScaleDownStabilized" if replicas == 8 else "ReadyForNewScale")


def test_a_behaviour_that_leaves_a_direction_out_lets_nothing_move_there() -> None:
    assert allowed(10, 14, bounds(), NOTHING, NOW).replicas == 10
    assert allowed(10, 6, bounds(), NOTHING, NOW).replicas == 10
    assert allowed(10, 10, bounds(), NOTHING, NOW).limited.reason == "DesiredWithinRange"


def test_what_is_as_old_as_the_longest_window_is_forgotten() -> None:
    memory = Memory((Timed(NOW - 60, 1), Timed(NOW - 59, 2)), (Timed(NOW - 60, 3),), (Timed(NOW - 60, 4),))
    assert remembered(memory, 5, NOW, 60.0).recommendations == (Timed(NOW - 59, 2), Timed(NOW, 5))
    assert scaled(memory, 5, 7, NOW, 60.0) == Memory(memory.recommendations, (Timed(NOW, 2),), ())
    assert scaled(memory, 7, 5, NOW, 60.0) == Memory(memory.recommendations, (), (Timed(NOW, 2),))
    assert scaled(memory, 7, 7, NOW, 61.0) == memory


@pytest.mark.parametrize(("current", "low", "high"), [(1, 2, 9), (9, 1, 5)])
def test_with_a_behaviour_a_count_that_stays_is_not_held_against_the_bounds(current: int, low: int, high: int) -> None:
    found = allowed(current, current, bounds(rules(), rules(), low, high), NOTHING, NOW)
    assert (found.replicas, found.limited.reason) == (current, "DesiredWithinRange")


def test_growth_without_a_window_looks_at_no_earlier_recommendation() -> None:
    memory = Memory((Timed(NOW - 0.5, 2),))
    up = rules(("Pods", 10, 60), window=None)
    assert allowed(2, 5, bounds(up, rules()), memory, NOW).replicas == 5


@pytest.mark.parametrize(("start", "left"), [(100, 90), (99, 89), (1, 0)])
def test_a_share_that_may_go_is_rounded_in_favour_of_going(start: int, left: int) -> None:
    down = rules(("Percent", 10, 60))
    assert allowed(start, 0, bounds(rules(), down, low=0), NOTHING, NOW).replicas == left


@pytest.mark.parametrize(("current", "value", "grown"), [(50, 10, 56), (100, 10, 111), (40, 10, 44), (100, 100, 200)])
def test_a_percentage_grows_as_kubernetes_counts_it(current: int, value: int, grown: int) -> None:
    found = allowed(current, 900, bounds(up=rules(("Percent", value, 60)), high=1000), NOTHING, NOW)
    assert found.replicas == grown


@pytest.mark.parametrize(("current", "value", "left"), [(100, 90, 9), (20, 90, 1), (90, 30, 62), (10, 50, 5)])
def test_a_percentage_shrinks_as_kubernetes_counts_it(current: int, value: int, left: int) -> None:
    found = allowed(current, 1, bounds(down=rules(("Percent", value, 60))), NOTHING, NOW)
    assert found.replicas == left
