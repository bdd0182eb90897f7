"""Where a copy differs from what was sent."""

from karmada.dashboard.events_and_drift import different


def test_what_a_member_added_is_no_difference() -> None:
    sent = {"replicas": 2, "template": {"spec": {"containers": [{"name": "main"}]}}}
    there = {
        "replicas": 2,
        "strategy": {"type": "RollingUpdate"},
        "template": {"spec": {"containers": [{"name": "main", "imagePullPolicy": "Always"}]}},
    }
    assert different(sent, there, "spec") == []


def test_changed_lost_and_shortened_fields_are_named() -> None:
    sent = {"replicas": 2, "image": "a", "ports": [1, 2], "labels": {"a": "b"}}
    there = {"replicas": 3, "ports": [1]}
    assert different(sent, there, "spec") == ["spec.replicas", "spec.image", "spec.ports", "spec.labels"]


def test_empty_values_that_a_server_leaves_out_are_no_difference() -> None:
    assert different({"paused": False, "count": 0, "text": "", "none": None, "map": {}, "list": []}, {}, "spec") == []
