"""How many replicas one metric asks for: edges of tolerance, groups of pods and calibration."""

from typing import Any

import pytest

from karmada.policies.autoscaling import proposals
from karmada.policies.autoscaling.pods import MetricsError, Pod, Sample, Timing, group, running_and_ready
from karmada.policies.autoscaling.proposals import Scale

NOW = 10_000.0
TIMING = Timing(NOW, 300, 30)


def pod(name: str, **fields: Any) -> Pod:
    usual = {"phase": "Running", "ready": "True", "ready_changed": 0.0, "started": 0.0}
    return Pod(name, **{**usual, "requests": {"app": {"cpu": "100m"}}, **fields})


def pods(count: int, **fields: Any) -> list[Pod]:
    return [pod(f"p{number}", **fields) for number in range(count)]


def used(*values: int) -> dict[str, Sample]:
    return {f"p{number}": Sample(value, NOW, 30) for number, value in enumerate(values)}


def by_average(replicas: int, target: int, them: list[Pod], samples: dict[str, Sample], share: float = 1.0) -> int:
    return proposals.by_average(Scale(replicas, share), target, "", them, samples, TIMING).replicas


@pytest.mark.parametrize(
    ("mean", "replicas"), [(100, 4), (109, 4), (91, 4), (111, 5), (89, 4), (74, 3), (76, 4), (200, 8), (0, 0), (1, 1)]
)
def test_within_a_tenth_nothing_changes_and_else_it_is_rounded_up(mean: int, replicas: int) -> None:
    assert by_average(4, 100, pods(4), used(mean, mean, mean, mean)) == replicas


@pytest.mark.parametrize(("mean", "replicas"), [(125, 4), (126, 6), (75, 4), (74, 3)])
def test_a_deviation_as_large_as_the_tolerance_changes_nothing(mean: int, replicas: int) -> None:
    scale = Scale(4, tolerance=0.25)
    assert proposals.by_average(scale, 100, "", pods(4), used(mean, mean, mean, mean), TIMING).replicas == replicas


def test_utilization_is_the_use_in_percent_of_what_pods_ask_for() -> None:
    found = proposals.by_utilization(Scale(2), 50, "cpu", "", pods(2), used(70, 90), TIMING)
    assert (found.replicas, found.usage, found.utilization) == (4, 80, 80)
    with pytest.raises(MetricsError, match="no pods returned by selector"):
        proposals.by_utilization(Scale(2), 50, "cpu", "", [], {}, TIMING)
    with pytest.raises(MetricsError, match="no metrics returned matched known pods"):
        proposals.by_utilization(Scale(1), 50, "cpu", "", [pod("other")], used(50), TIMING)


def test_the_use_of_one_container_is_measured_by_its_own_request() -> None:
    both = [pod("p0", requests={"app": {"cpu": "100m"}, "side": {"cpu": "300m"}})]
    assert proposals.by_utilization(Scale(1), 50, "cpu", "side", both, used(300), TIMING).utilization == 100
    assert proposals.by_utilization(Scale(1), 50, "cpu", "", both, used(300), TIMING).utilization == 75


@pytest.mark.parametrize(
    ("values", "replicas"),
    [
        ((200, 200), 4),  # Two idle ones: (200 + 200 + 0 + 0) / 4 is as wanted.
        ((500, 500), 10),  # 250 each on four.
        ((50, 50), 3),  # Two busy ones: 75 each on four.
        ((10, 10), 3),  # 55 each on four.
        ((100, 100), 4),
        ((120, 120), 4),  # Would turn around.
    ],
)
def test_pods_without_a_metric_idle_before_growth_and_are_busy_before_shrinking(
    values: tuple[int, int], replicas: int
) -> None:
    assert by_average(4, 100, pods(4), used(*values)) == replicas


def test_a_count_that_contradicts_its_own_direction_changes_nothing() -> None:
    assert by_average(9, 100, pods(4), used(250, 250)) == 9
    assert by_average(2, 100, pods(4), used(50, 50)) == 2


def test_pods_that_are_not_ready_count_as_idle_before_growth_only() -> None:
    them = [*pods(2), pod("p2", phase="Pending"), pod("p3", phase="Pending")]
    assert by_average(4, 100, them, used(400, 400)) == 8
    assert by_average(4, 100, them, used(150, 150)) == 4
    assert by_average(4, 100, them, used(50, 50)) == 1
    with pytest.raises(MetricsError, match="did not receive metrics for any ready pods"):
        by_average(4, 100, them[2:], {})
    with pytest.raises(MetricsError, match="no pods returned by selector"):
        by_average(4, 100, [], {})


def test_what_reachable_clusters_need_is_divided_by_their_share() -> None:
    assert by_average(8, 100, pods(4), used(200, 200, 200, 200), 0.5) == 16
    assert by_average(8, 100, pods(4), used(500, 500), 0.5) == 20
    assert proposals.by_object(Scale(8, 0.5), 100, 200, pods(4)).replicas == 16


@pytest.mark.parametrize(("value", "replicas"), [(109, 4), (111, 5), (91, 4), (89, 4), (50, 2)])
def test_the_metric_of_an_object_is_followed_by_pods_that_are_ready(value: int, replicas: int) -> None:
    them = [*pods(4), pod("x", ready="False"), pod("y", phase="Failed")]
    assert running_and_ready(them) == 4
    found = proposals.by_object(Scale(4), 100, value, them)
    assert (found.replicas, found.usage) == (replicas, value)


def test_the_metric_of_an_object_alone_decides_from_zero() -> None:
    assert proposals.by_object(Scale(0), 100, 250, []).replicas == 3
    with pytest.raises(MetricsError, match="unable to calculate ready pods"):
        proposals.by_object(Scale(4), 100, 250, [])


@pytest.mark.parametrize(
    ("replicas", "value", "wanted", "usage"), [(4, 436, 4, 109), (4, 441, 5, 111), (4, 150, 2, 38), (0, 150, 2, None)]
)
def test_the_metric_of_an_object_per_pod(replicas: int, value: int, wanted: int, usage: int | None) -> None:
    found = proposals.by_object_per_pod(Scale(replicas), 100, value)
    assert (found.replicas, found.usage) == (wanted, usage)


@pytest.mark.parametrize(("count", "replicas"), [(2**31 - 1, 2**31 - 1), (2**31, 7)])
def test_a_count_that_does_not_fit_its_field_changes_nothing(count: int, replicas: int) -> None:
    assert proposals.by_object(Scale(7), 1, count, pods(1)).replicas == replicas


@pytest.mark.parametrize(
    ("expected", "kind"),
    [
        ({}, "ready"),
        ({"is_deleting": True}, "ignored"),
        ({"phase": "Failed"}, "ignored"),
        ({"phase": "Pending"}, "unready"),
        ({"ready": ""}, "unready"),
        ({"started": None}, "unready"),
        ({"started": NOW - 300, "ready": "False", "ready_changed": NOW}, "ready"),
        ({"started": NOW - 299, "ready": "False", "ready_changed": NOW}, "unready"),
        ({"started": NOW - 299, "ready": "Unknown", "ready_changed": NOW - 30}, "ready"),
        ({"started": NOW - 400, "ready": "Unknown", "ready_changed": NOW - 371}, "ready"),
        ({"started": NOW - 299, "ready_changed": NOW - 30}, "ready"),
        ({"started": NOW - 299, "ready_changed": NOW - 29}, "unready"),
        ({"started": NOW - 400, "ready": "False", "ready_changed": NOW - 371}, "unready"),
        ({"started": NOW - 400, "ready": "False", "ready_changed": NOW - 370}, "ready"),
        ({"started": NOW - 400, "ready": "True", "ready_changed": NOW - 390}, "ready"),
    ],
)
def test_which_pods_say_something_about_their_cpu(expected: dict[str, Any], kind: str) -> None:
    found = group([pod("p0", **expected)], used(5), "cpu", TIMING)
    assert getattr(found, kind) == {"p0"}
    assert sum(map(len, (found.ready, found.unready, found.missing, found.ignored))) == 1


def test_pods_without_a_metric_are_missing_and_warming_up_matters_for_cpu_only() -> None:
    assert group([pod("p9")], used(5), "cpu", TIMING).missing == {"p9"}
    assert group([pod("p0", ready="")], used(5), "memory", TIMING).ready == {"p0"}


def test_ready_pods_decide_though_they_are_fewer_than_the_replicas_that_were_asked_for() -> None:
    assert by_average(5, 100, pods(2), used(150, 150)) == 3


def test_utilization_is_in_whole_percent() -> None:
    assert proposals.by_utilization(Scale(1), 50, "cpu", "", pods(1), used(100), TIMING).utilization == 100


def test_a_pod_without_a_metric_is_assumed_to_use_all_that_it_asks_for_before_a_scale_down() -> None:
    them = pods(2, requests={"app": {"cpu": "1000m"}})
    found = proposals.by_utilization(Scale(4, 0.5), 79, "cpu", "", them, used(190), TIMING)
    assert found.replicas == 3


def test_pods_without_a_metric_change_nothing_where_the_others_are_on_target() -> None:
    found = proposals.by_utilization(Scale(4), 50, "cpu", "", pods(4), used(50, 50), TIMING)
    assert found.replicas == 4
