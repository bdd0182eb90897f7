"""Facts about clusters that controllers act on: ready, back, and what they offer."""

import pytest
from tests.controllers.changes import change

from karmada.api.cluster.v1alpha1 import APIEnablement, APIResource, Cluster, ClusterSpec, ClusterStatus, Taint
from karmada.api.meta import Condition, ObjectMeta
from karmada.controllers.cluster_status import enablements_of
from karmada.controllers.clusters import is_back, is_ready, offers_changed
from karmada.machinery.discovery import ApiResource
from karmada.machinery.transport import GroupVersionResource


def cluster(ready=None, endpoint="", taints=(), deleted=None, at="", **status):
    found = [Condition(type="Other", status="True", reason="R", message="", last_transition_time="")]
    if ready is not None:
        found.append(Condition(type="Ready", status=ready, reason="R", message="", last_transition_time=at))
    return Cluster(
        metadata=ObjectMeta(name="m1", deletion_timestamp=deleted),
        spec=ClusterSpec(sync_mode="Push", api_endpoint=endpoint, taints=taints),
        status=ClusterStatus(conditions=tuple(found), **status),
    )


@pytest.mark.parametrize(("status", "expected"), [("True", True), ("False", False), ("Unknown", False), (None, False)])
def test_a_cluster_is_ready_if_its_condition_says_so(status, expected):
    assert is_ready(cluster(status)) is expected


UP, DOWN = cluster("True"), cluster("False")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, UP, True, id="new and ready"),
        pytest.param(None, DOWN, False, id="new and not ready"),
        pytest.param(DOWN, UP, True, id="ready again"),
        pytest.param(UP, UP, False, id="still ready"),
        pytest.param(UP, DOWN, False, id="lost"),
        pytest.param(DOWN, DOWN, False, id="still lost"),
        pytest.param(UP, cluster("True", "https://b"), True, id="reached by another way"),
        pytest.param(DOWN, cluster("False", "https://b"), False, id="moved while it is lost"),
        pytest.param(UP, cluster("True", taints=(Taint(key="k", effect="NoSchedule"),)), False, id="tainted"),
        pytest.param(UP, None, False, id="gone"),
    ],
)
def test_a_cluster_is_back_when_nobody_followed_what_happened_there(old, new, expected):
    assert is_back(change(old, new)) is expected


def test_what_a_start_finds_is_not_back():
    assert not is_back(change(None, UP, initial=True))


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        pytest.param(UP, False, id="the same"),
        pytest.param(None, True, id="gone"),
        pytest.param(DOWN, True, id="not ready"),
        pytest.param(cluster("True", at="2020-01-01T00:00:00Z"), True, id="was away between two events"),
        pytest.param(cluster("True", deleted="2020-01-01T00:00:00Z"), True, id="leaving"),
        pytest.param(cluster("True", remedy_actions=("TrafficControl",)), True, id="remedied"),
        pytest.param(cluster("True", api_enablements=(APIEnablement(group_version="v1"),)), True, id="serves more"),
        pytest.param(cluster("True", kubernetes_version="v1.40.0"), False, id="another version"),
    ],
)
def test_what_decides_about_offering_endpoints_is_noticed(new, expected):
    assert offers_changed(change(UP, new)) is expected
    assert offers_changed(change(new, UP)) is expected


def served(group_version, resource, kind):
    group, _, version = group_version.rpartition("/")
    type_ = GroupVersionResource(group, version, resource)
    return ApiResource(type_, kind, True, frozenset({"get"}), frozenset())


def test_what_a_member_serves_is_listed_in_order():
    found = enablements_of(
        [served("v1", "pods", "Pod"), served("apps/v1", "deployments", "Deployment"), served("v1", "events", "Event")]
    )
    assert [(one.group_version, one.resources) for one in found] == [
        ("apps/v1", (APIResource(name="deployments", kind="Deployment"),)),
        ("v1", (APIResource(name="events", kind="Event"), APIResource(name="pods", kind="Pod"))),
    ]
