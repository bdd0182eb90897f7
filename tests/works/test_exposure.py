"""Where the endpoints of a provider go."""

import pytest

from karmada.api.cluster.v1alpha1 import APIEnablement, APIResource, Cluster, ClusterStatus
from karmada.api.meta import Condition, ObjectMeta
from karmada.api.networking.v1alpha1 import ClusterSelector, MultiClusterService, MultiClusterServiceSpec
from karmada.works.exposure import can_consume, dispatch, lacks_slices, standing

SINCE = "2026-01-01T00:00:00Z"
THEN = 1767225600.0


def enabled(version="discovery.k8s.io/v1", kind="EndpointSlice"):
    return APIEnablement(group_version=version, resources=(APIResource(name=f"{kind.lower()}s", kind=kind),))


SLICES = enabled()


def condition(type_, status, since=SINCE):
    return Condition(type=type_, status=status, reason="Test", last_transition_time=since)


def cluster(name="a", ready="True", leaving=False, actions=(), serves=(SLICES,), complete="True", since=SINCE):
    conditions = (condition("Ready", ready, since), condition("CompleteAPIEnablements", complete))
    status = ClusterStatus(conditions=conditions, remedy_actions=actions, api_enablements=serves)
    return Cluster(metadata=ObjectMeta(name=name, deletion_timestamp=SINCE if leaving else None), status=status)


def service(providers=(), consumers=(), types=("CrossCluster",)):
    spec = MultiClusterServiceSpec(
        types=types,
        provider_clusters=tuple(ClusterSelector(name=name) for name in providers),
        consumer_clusters=tuple(ClusterSelector(name=name) for name in consumers),
    )
    return MultiClusterService(metadata=ObjectMeta(name="web", namespace="shop"), spec=spec)


@pytest.mark.parametrize(
    ("found", "after", "withdrawn", "changes_in"),
    [
        (cluster(), 1000, "", None),
        (cluster(ready="False"), 29, "", 1),
        (cluster(ready="Unknown"), 30, "the cluster has not been ready for 30 s", None),
        (cluster(leaving=True), 0, "the cluster is leaving", None),
        (None, 0, "the cluster does not exist", None),
        (cluster(actions=("TrafficControl",)), 0, "a Remedy asks for TrafficControl", None),
        (cluster(actions=("SomethingElse",)), 0, "", None),
        (Cluster(metadata=ObjectMeta(name="new")), 0, "", None),
    ],
    ids=["ready", "tolerated", "too-long", "leaving", "gone", "traffic-control", "another-action", "just-joined"],
)
def test_endpoints_of_a_cluster_are_offered_unless_it_is_long_unready_leaving_or_blocked(
    found, after, withdrawn, changes_in
):
    answer = standing(found, THEN + after, 30)
    assert (answer.withdrawn, answer.changes_in) == (withdrawn, changes_in)


ALL = {name: cluster(name) for name in "abc"}


@pytest.mark.parametrize(
    ("wanted", "provider", "write"),
    [
        (service(["a"], ["b"]), "a", "b"),
        (service(["a", "b"], ["b"]), "a", "b"),
        (service(["a", "b"], ["b"]), "b", ""),
        (service([], ["b"]), "a", "b"),
        (service(["a"], []), "a", "bc"),
        (service(), "a", "bc"),
        (service(["b"], ["c"]), "a", ""),
        (service(["a"], ["b"], types=("LoadBalancer",)), "a", ""),
        (None, "a", ""),
    ],
    ids=[
        "one-to-one",
        "consumer-provides",
        "not-to-itself",
        "any-provider",
        "any-consumer",
        "all-to-all",
        "no-provider",
        "load-balancer",
        "no-service",
    ],
)
def test_consumers_get_the_endpoints_of_providers_and_never_their_own(wanted, provider, write):
    plan = dispatch(wanted, provider, ALL, THEN, 30)
    assert plan.write == tuple(write)
    assert plan.keep == frozenset(write)


def test_a_consumer_that_cannot_take_them_keeps_what_it_has_and_is_named():
    clusters = {**ALL, "b": cluster("b", ready="False"), "c": cluster("c", serves=())}
    plan = dispatch(service(["a"], ["b", "c", "d"]), "a", clusters, THEN, 30)
    assert plan.write == ()
    assert plan.keep == frozenset("bcd")
    assert [refusal.reason for refusal in plan.refused] == ["SyncServiceFailed", "APIIncompatible", "ClusterNotFound"]
    assert all(name in refusal.text for name, refusal in zip("bcd", plan.refused, strict=True))


def test_endpoints_of_a_blocked_provider_are_taken_from_everybody():
    clusters = {**ALL, "a": cluster("a", actions=("TrafficControl",))}
    plan = dispatch(service(["a"], ["b"]), "a", clusters, THEN, 30)
    assert (plan.write, plan.keep) == ((), frozenset())
    assert "TrafficControl" in plan.withdrawn


def test_a_cluster_lacks_slices_only_when_all_that_it_serves_is_known():
    assert lacks_slices(cluster(serves=()))
    assert not lacks_slices(cluster(serves=(), complete="False"))
    assert not lacks_slices(cluster())
    for other in (enabled("discovery.k8s.io/v1beta1"), enabled(kind="Other")):
        assert lacks_slices(cluster(serves=(other,)))


@pytest.mark.parametrize(
    ("found", "answer"),
    [
        (cluster(), True),
        (cluster(ready="False"), False),
        (cluster(leaving=True), False),
        (cluster(serves=()), False),
        (None, False),
    ],
    ids=["ready", "not-ready", "leaving", "without-slices", "gone"],
)
def test_a_cluster_takes_endpoints_of_others_when_it_is_ready_and_knows_slices(found, answer):
    assert can_consume(found) is answer


def test_a_cluster_whose_time_of_failure_cannot_be_read_is_tolerated_from_now_on():
    assert standing(cluster(ready="False", since="yesterday"), THEN, 30).changes_in == 30
