"""EndpointSlices between clusters: whose they are and what is taken over."""

import msgspec
import orjson
import pytest

from karmada.api.meta import ObjectMeta
from karmada.api.work.v1alpha1 import Work, WorkloadTemplate, WorkSpec
from karmada.works.slices import (
    EXPORT,
    MULTI_CLUSTER,
    MemberKey,
    clusters_of,
    collected_slice,
    collected_work,
    dispatched,
    dispatched_from,
    dispatched_work,
    dispatching_work,
    imported,
    service_of,
    slice_name,
    unused,
    used,
)

SLICE = {
    "apiVersion": "discovery.k8s.io/v1",
    "kind": "EndpointSlice",
    "metadata": {"name": "web-1", "namespace": "shop", "labels": {"x": "y"}, "ownerReferences": [{"name": "evil"}]},
    "addressType": "IPv4",
    "endpoints": [{"addresses": ["10.0.0.1"]}],
    "ports": [{"port": 80}],
    "spec": {"smuggled": True},
}


def work(manifest=SLICE, space="karmada-es-a", labels=None, annotations=None):
    metadata = ObjectMeta(name="w", namespace=space, labels=labels or {}, annotations=annotations or {})
    manifests = (msgspec.Raw(orjson.dumps(manifest)),)
    return Work(metadata=metadata, spec=WorkSpec(workload=WorkloadTemplate(manifests=manifests)))


EXPORTED = {
    "endpointslice.karmada.io/managed-by": "ServiceExport",
    "endpointslice.karmada.io/namespace": "shop",
    "endpointslice.karmada.io/name": "web",
}


def test_what_leaves_a_member_has_the_fields_of_a_slice_and_no_others():
    for made in (imported(SLICE, work(labels=EXPORTED), "a", "web"), dispatched(SLICE, "a", "web")):
        assert set(made) == {"apiVersion", "kind", "metadata", "addressType", "endpoints", "ports"}
        assert set(made["metadata"]) == {"name", "namespace", "labels", "annotations"}
        assert "x" not in made["metadata"]["labels"]


@pytest.mark.parametrize(
    "manifest",
    [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "shop"}},
        {**SLICE, "apiVersion": "discovery.k8s.io/v1beta1"},
        {**SLICE, "metadata": {"name": "cluster-scoped"}},
        {**SLICE, "metadata": 7},
    ],
    ids=["another-kind", "another-version", "no-namespace", "unreadable"],
)
def test_a_work_that_holds_anything_else_is_no_collected_slice(manifest):
    assert slice_name(work(manifest)) is None
    assert collected_slice(work(manifest)) is None


def test_a_work_outside_of_execution_spaces_belongs_to_no_cluster():
    assert EXPORT.service(work(space="default", labels=EXPORTED)) is None
    assert EXPORT.service(work(labels=EXPORTED)) == MemberKey("a", "shop", "web")
    assert MULTI_CLUSTER.service(work(labels=EXPORTED)) is None


def test_a_dispatched_slice_leads_back_to_the_one_it_was_made_from():
    made = dispatched(SLICE, "a", "web")
    brought = work(made, space="karmada-es-b", annotations=made["metadata"]["annotations"])
    assert dispatched_from(brought) == MemberKey("a", "shop", "web-1")
    assert collected_slice(brought) is None
    claimed = {"endpointslice.karmada.io/provision-cluster": "c"}
    assert dispatched_from(work(made, space="karmada-es-b", annotations=claimed)) is None


def test_slices_with_names_of_their_own_choice_do_not_share_works():
    assert dispatched_work(SLICE, "a") != dispatched_work(SLICE, "b")
    generated = {**SLICE, "metadata": {**SLICE["metadata"], "generateName": "web-"}}
    collected = collected_work(MemberKey("a", "shop", "web-1"))
    assert collected.startswith("web-1-")
    assert dispatched_work(generated, "a") == dispatched_work(generated, "b") == collected


def test_a_slice_stays_collected_until_its_last_use_ends():
    both = used(work(labels=EXPORTED), work(labels=EXPORTED), MULTI_CLUSTER)
    assert both.metadata.labels["endpointslice.karmada.io/managed-by"] == "MultiClusterService.ServiceExport"
    left = unused(both.metadata, EXPORT)
    assert left.labels == {"endpointslice.karmada.io/managed-by": "MultiClusterService"}
    assert unused(left, MULTI_CLUSTER) is None


def test_exporting_clusters_are_those_of_the_works():
    spaces = ("karmada-es-b", "karmada-es-a", "karmada-es-b", "default")
    slices = [{"metadata": {"annotations": {"work.karmada.io/namespace": space}}} for space in spaces]
    assert clusters_of(slices) == ["a", "b"]


@pytest.mark.parametrize("name", ["", "../up", "A", "x" * 64, None, 7])
def test_a_service_name_that_cannot_be_is_none(name):
    assert service_of({"metadata": {"labels": {"kubernetes.io/service-name": name}}}) == ""


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"metadata":7}', b'{"metadata":{"labels":[]}}', b"[" * 5000])
def test_a_slice_that_cannot_be_read_was_brought_by_no_work(body):
    assert dispatching_work(body, "a") == ""


def test_a_slice_names_the_service_that_it_is_of():
    assert service_of({"metadata": {"labels": {"kubernetes.io/service-name": "web"}}}) == "web"
    assert [service_of(tree) for tree in ({}, {"metadata": None}, {"metadata": {"labels": None}})] == ["", "", ""]


def test_a_collected_slice_is_that_of_the_member_in_whose_space_its_work_lies():
    found = collected_slice(work())
    assert found == MemberKey("a", "shop", "web-1")
    assert str(found) == "a/shop/web-1"
    assert collected_slice(work(space="default")) is None


def brought(name="a-web-1", labels=None, annotations=None):
    """A slice in member b as it is dispatched from member a."""
    marks = {
        "karmada.io/managed": "true",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-dispatch-controller.karmada.io",
        "work.karmada.io/permanent-id": "w-1",
    }
    noted = {
        "work.karmada.io/namespace": "karmada-es-b",
        "work.karmada.io/name": "the-work",
        "endpointslice.karmada.io/provision-cluster": "a",
    }
    metadata = {"name": name, "labels": marks | (labels or {}), "annotations": noted | (annotations or {})}
    return orjson.dumps({"metadata": metadata})


def test_a_dispatched_slice_names_the_work_that_brought_it():
    assert dispatching_work(brought(), "b") == "the-work"


@pytest.mark.parametrize(
    "body",
    [
        brought(name="web-1"),
        brought(labels={"karmada.io/managed": "false"}),
        brought(labels={"endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}),
        brought(labels={"work.karmada.io/permanent-id": ""}),
        brought(annotations={"work.karmada.io/namespace": "karmada-es-c"}),
        brought(annotations={"endpointslice.karmada.io/provision-cluster": ""}),
        orjson.dumps({"metadata": {"name": "a-web-1", "labels": None, "annotations": None}}),
    ],
    ids=["name", "managed", "controller", "id", "cluster", "provider", "bare"],
)
def test_a_slice_that_lacks_one_mark_was_brought_by_no_work(body):
    assert dispatching_work(body, "b") == ""
