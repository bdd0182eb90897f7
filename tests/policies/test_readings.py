"""Pods and metrics as members serve them."""

from typing import Any

import orjson
import pytest

from karmada.machinery.clock import parse_rfc3339
from karmada.policies.autoscaling.pods import MetricsError, Sample
from karmada.policies.autoscaling.readings import (
    PodUsage,
    pod_of,
    room_of,
    samples_of_resource,
    samples_of_values,
    sum_of_values,
    usage_of,
)

NOW = "2026-01-01T12:00:00Z"
SECONDS = parse_rfc3339(NOW)


def body(conditions: list[dict[str, Any]] | None = None, **metadata: Any) -> bytes:
    container = {"name": "app", "resources": {"requests": {"cpu": "100m"}}}
    status = {"phase": "Running", "startTime": NOW, "conditions": conditions}
    spec = {"containers": [container, {"name": "bare"}]}
    return orjson.dumps({"metadata": {"name": "web-0", **metadata}, "spec": spec, "status": status})


def condition(type_: str, status: str, **fields: Any) -> dict[str, Any]:
    return {"type": type_, "status": status, **fields}


def unschedulable(message: str, reason: str = "Unschedulable", status: str = "False") -> dict[str, Any]:
    return condition("PodScheduled", status, reason=reason, message=message)


def test_a_pod_is_named_by_its_cluster_and_reduced_to_what_autoscaling_reads() -> None:
    found = pod_of("m1", body([condition("Ready", "True", lastTransitionTime=NOW)], labels={"app": "web"}))
    assert (found.pod.name, found.pod.phase, found.pod.is_deleting) == ("m1/web-0", "Running", False)
    assert (found.pod.ready, found.pod.ready_changed, found.pod.started) == ("True", SECONDS, SECONDS)
    assert found.pod.requests == {"app": {"cpu": "100m"}, "bare": {}}
    assert (found.labels, found.lacks) == ({"app": "web"}, ())


def test_a_pod_that_says_little_is_read_as_far_as_it_goes() -> None:
    found = pod_of("m1", b"{}")
    assert (found.pod.name, found.pod.ready, found.pod.ready_changed, found.pod.started) == ("m1/", "", 0.0, None)
    assert (found.labels, found.lacks) == ({}, ())
    assert pod_of("m1", body([condition("Ready", "False")])).pod.ready == "False"
    assert pod_of("m1", body([condition("Initialized", "True")])).pod.ready == ""
    assert pod_of("m1", body(deletionTimestamp=NOW)).pod.is_deleting is True


@pytest.mark.parametrize(
    ("conditions", "lacks"),
    [
        (
            [unschedulable("0/3 nodes: 2 Insufficient memory, 3 Insufficient cpu, 1 Insufficient cpu.")],
            ("cpu", "memory"),
        ),
        ([unschedulable("0/3 nodes: 3 Insufficient example.com/gpu.")], ("example.com/gpu",)),
        ([condition("Ready", "False"), unschedulable("no node matches")], ("nodes",)),
        ([unschedulable("Insufficient cpu", status="True")], ()),
        ([unschedulable("Insufficient cpu", reason="SchedulerError")], ()),
        ([condition("Ready", "False", reason="Unschedulable", message="Insufficient cpu")], ()),
        (None, ()),
    ],
)
def test_what_no_node_has_enough_of_is_read_from_the_schedulers_word(
    conditions: list[dict[str, Any]] | None, lacks: tuple[str, ...]
) -> None:
    assert pod_of("m1", body(conditions)).lacks == lacks


def test_clusters_without_room_are_named_with_what_they_lack() -> None:
    waiting = [pod_of("m1", body([unschedulable(f"Insufficient {what}")])) for what in ("memory", "cpu")]
    running = pod_of("m2", body())
    assert (
        room_of({"m1": [*waiting, running], "m2": [running]}) == "m1 has no room for 2 pods: insufficient cpu, memory"
    )
    assert room_of({"m1": waiting[:1], "m2": waiting[:1]}).count("has no room for 1 pod:") == 2
    assert room_of({"m2": [running]}) == ""


def usage(**containers: dict[str, Any]) -> PodUsage:
    listed = [{"name": name, "usage": amounts} for name, amounts in containers.items()]
    tree = {"metadata": {"name": "web-0"}, "timestamp": NOW, "window": "15s", "containers": listed}
    return usage_of("m1", orjson.dumps(tree))


def test_the_use_of_a_pod_is_that_of_its_containers_together() -> None:
    both = usage(app={"cpu": "100m"}, side={"cpu": "1"})
    assert samples_of_resource([both], "cpu", "") == {"m1/web-0": Sample(1100, SECONDS, 15.0)}
    assert samples_of_resource([both], "cpu", "side") == {"m1/web-0": Sample(1000, SECONDS, 15.0)}


def test_a_pod_whose_use_is_not_measured_whole_is_left_out() -> None:
    assert samples_of_resource([usage(app={"cpu": "100m"}, side={})], "cpu", "") == {}
    assert samples_of_resource([usage()], "cpu", "") == {}
    assert samples_of_resource([usage(app={"memory": "1Gi"})], "cpu", "app") == {}
    with pytest.raises(MetricsError, match="container side not present in metrics for pod m1/web-0"):
        samples_of_resource([usage(app={"cpu": "100m"})], "cpu", "side")


def values(*items: dict[str, Any]) -> bytes:
    return orjson.dumps({"items": [{"describedObject": {"name": "web-0"}, "timestamp": NOW, **item} for item in items]})


@pytest.mark.parametrize(
    ("fields", "window"), [({}, 60.0), ({"window": 30}, 30.0), ({"windowSeconds": 0, "window": 30}, 0.0)]
)
def test_a_custom_metric_is_measured_over_a_minute_unless_it_says_otherwise(
    fields: dict[str, Any], window: float
) -> None:
    assert samples_of_values("m1", values({"value": "1500m", **fields})) == {"m1/web-0": Sample(1500, SECONDS, window)}


def test_values_are_summed_and_none_are_no_sum() -> None:
    assert sum_of_values(values({"value": "1500m"}, {"value": "2"})) == 3500
    assert sum_of_values(values({"value": 0})) == sum_of_values(values({})) == 0
    assert sum_of_values(values()) is None


def test_a_member_that_invents_resources_makes_no_condition_long() -> None:
    message = " ".join(f"Insufficient {'r' * 300}{number}" for number in range(1000))
    waiting = [unschedulable(message), unschedulable(" ".join(f"Insufficient r{number}" for number in range(1000)))]
    pods = [pod_of("m1", orjson.dumps({"metadata": {"name": "p"}, "status": {"conditions": [one]}})) for one in waiting]
    assert len(room_of({"m1": pods})) < 4096
