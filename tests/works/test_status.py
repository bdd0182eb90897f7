"""What Works report about a binding, and how many of its copies run."""

from typing import Any

import msgspec
import orjson
import pytest

from karmada.api.meta import Condition, ObjectMeta, find_condition
from karmada.api.work.v1alpha1 import ManifestStatus, ResourceIdentifier, Work, WorkloadTemplate, WorkSpec, WorkStatus
from karmada.api.work.v1alpha2 import (
    AggregatedStatusItem,
    Component,
    ObjectReference,
    ResourceBindingSpec,
    TargetCluster,
)
from karmada.machinery import limits
from karmada.works.build import work_name
from karmada.works.copies import Facts, copies_of, counts_replicas, share_of
from karmada.works.status import aggregate, counted, is_applied, is_fully_applied, manifest_status

RESOURCE = ObjectReference(api_version="apps/v1", kind="Deployment", namespace="shop", name="web")
READY = Facts(lambda cluster: True, 0.0)


def spec_of(*clusters: str, replicas: int = 4, **fields: Any) -> ResourceBindingSpec:
    chosen = tuple(TargetCluster(name=name, replicas=replicas) for name in clusters)
    return ResourceBindingSpec(resource=RESOURCE, replicas=replicas, clusters=chosen, **fields)


def report(
    counts: Any = None, health: str = "Healthy", kind: str = "Deployment", group: str = "apps", **names: str
) -> ManifestStatus:
    where = {"namespace": "shop", "name": "web", **names}
    which = ResourceIdentifier(ordinal=0, group=group, version="v1", kind=kind, resource="r", **where)
    status = {} if counts is None else {"status": msgspec.Raw(orjson.dumps(counts))}
    return ManifestStatus(identifier=which, health=health, **status)


def work(
    cluster: str = "m1",
    *reports: ManifestStatus,
    applied: str | None = "True",
    replicas: Any = 4,
    name: str = "",
    deleted: str | None = None,
    message: str = "",
) -> Work:
    tree = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": replicas}}
    manifests = () if replicas is None else (msgspec.Raw(orjson.dumps(tree)),)
    conditions = () if applied is None else (Condition(type="Applied", status=applied, message=message),)
    return Work(
        metadata=ObjectMeta(
            name=name or work_name(spec_of()), namespace=f"karmada-es-{cluster}", deletion_timestamp=deleted
        ),
        spec=WorkSpec(workload=WorkloadTemplate(manifests=manifests)),
        status=WorkStatus(conditions=conditions, manifest_statuses=reports),
    )


def test_a_status_that_is_too_large_to_be_reported_is_left_out() -> None:
    fits, large = ({"text": "x" * (limits.STATUS - len('{"text":""}') + more)} for more in (0, 1))
    first, second = aggregate([work("a", report(fits)), work("b", report(large))], RESOURCE)
    assert orjson.loads(memoryview(first.status)) == fits
    assert second == AggregatedStatusItem(cluster_name="b", applied=True, health="Healthy")


def test_every_cluster_has_an_item_by_name_but_those_whose_work_is_going() -> None:
    works = [work("b", report({"readyReplicas": 1})), work("a"), work("c", deleted="2026-01-01T00:00:00Z")]
    found = aggregate(works, RESOURCE)
    assert [(item.cluster_name, item.applied, item.health) for item in found] == [
        ("a", True, "Unknown"),
        ("b", True, "Healthy"),
    ]
    assert bytes(found[1].status) == b'{"readyReplicas":1}'


def test_what_could_not_be_applied_says_why_and_is_of_unknown_health() -> None:
    [item] = aggregate([work("a", report({}), applied="False", message="no room")], RESOURCE)
    assert (item.applied, item.applied_message, item.health) == (False, "no room", "Unknown")
    [item] = aggregate([work("a", applied=None)], RESOURCE)
    assert (item.applied, item.applied_message) == (False, "")


def test_a_report_without_health_is_of_unknown_health() -> None:
    assert aggregate([work("a", report({}, health=""))], RESOURCE)[0].health == "Unknown"


def test_works_of_other_clusters_or_names_do_not_speak_for_a_binding() -> None:
    own = work("a")
    assert counted([own, work("b"), work("a", name="other")], spec_of("a")) == [own]


@pytest.mark.parametrize(
    ("clusters", "works", "whole"),
    [
        (("a", "b"), [work("a"), work("b")], True),
        (("a", "b"), [work("a")], False),
        (("a", "b"), [work("a"), work("b", applied="False")], False),
        ((), [], False),
    ],
)
def test_a_binding_is_fully_applied_when_every_cluster_has_it(clusters, works, whole) -> None:
    assert is_fully_applied(spec_of(*clusters), aggregate(works, RESOURCE)) is whole


def test_a_work_is_applied_when_its_condition_says_so() -> None:
    assert [is_applied(work(applied=status)) for status in ("True", "False", None)] == [True, False, False]
    assert find_condition(work().status.conditions, "Available") is None
    found = find_condition(work().status.conditions, "Applied")
    assert found is not None
    assert found.type == "Applied"


@pytest.mark.parametrize(
    ("resource", "reported", "found"),
    [
        (RESOURCE, report(), True),
        (RESOURCE, report(kind="StatefulSet"), False),
        (RESOURCE, report(group="extensions"), False),
        (RESOURCE, report(name="other"), False),
        (RESOURCE, report(namespace="other"), False),
        (
            ObjectReference(api_version="v1", kind="Secret", namespace="shop", name="web"),
            report(kind="Secret", group=""),
            True,
        ),
    ],
)
def test_a_report_is_of_the_very_object(resource, reported, found) -> None:
    assert (manifest_status(work("a", reported), resource) is not None) is found


@pytest.mark.parametrize(
    ("one", "facts", "copy"),
    [
        (work("m1", report({"replicas": 4, "readyReplicas": 3})), READY, (4, 3, 3)),
        (work("m1", report({"replicas": 9, "readyReplicas": 9})), READY, (4, 4, 4)),
        (work("m1", report({"replicas": 4})), READY, (4, 0, 0)),
        (work("m1", report({"numberReady": 2})), READY, (4, 2, 2)),
        (work("m1", report({"readyReplicas": "x"})), READY, (4, 0, 0)),
        (work("m1", report({})), READY, (4, 4, 4)),
        (work("m1", report([1])), READY, (4, 4, 4)),
        (work("m1", report({}, health="Unhealthy")), READY, (4, 0, 0)),
        (work("m1", report({}, health="Unknown")), READY._replace(has_health=False), (4, 4, 4)),
        (work("m1"), READY, (4, 0, 0)),
        (work("m1"), READY._replace(has_health=False), (4, 4, 4)),
        (work("m1", applied="False"), READY._replace(has_health=False), (4, 0, 0)),
        (work("m1", report({"readyReplicas": 3}), applied="False"), READY, (4, 0, 3)),
        (work("m1", report({"readyReplicas": 3})), Facts(lambda cluster: False, 0.0), (4, 0, 3)),
        (work("m1", report({"readyReplicas": 3})), Facts(lambda cluster: None, 0.0), (4, 0, 0)),
        (work("m1", report({"readyReplicas": 3}), replicas=None), READY, (None, 3, 3)),
        (work("m1", report({"readyReplicas": 3}), replicas=True), READY, (None, 3, 3)),
    ],
)
def test_copies_count_what_is_ready_and_what_may_still_run(one, facts, copy) -> None:
    [(cluster, found)] = copies_of(spec_of("m1"), [one], facts).items()
    assert (cluster, found.replicas, found.ready, found.at_stake) == ("m1", *copy)


def test_a_copy_that_is_being_deleted_is_none() -> None:
    assert copies_of(spec_of("m1"), [work("m1", deleted="2026-01-01T00:00:00Z")], READY) == {}


def test_a_resource_without_replicas_of_its_own_counts_as_one() -> None:
    whole = spec_of("m1", replicas=0)
    parts = spec_of("m1", components=(Component(name="c", replicas=1),))
    assert [counts_replicas(one) for one in (spec_of("m1"), whole, parts)] == [True, False, False]
    assert [share_of(one, one.clusters[0]) for one in (spec_of("m1"), whole, parts)] == [4, 1, 1]
    assert share_of(spec_of(), None) == 1
    found = copies_of(parts, [work("m1", report({}))], READY)["m1"]
    assert (found.replicas, found.ready) == (None, 1)
