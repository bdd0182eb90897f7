"""What changes of templates and of services mean, and whom Works mark, without any controller running."""

from typing import Any

import msgspec
import orjson
import pytest

from karmada.api import labels
from karmada.api.meta import ObjectMeta
from karmada.api.networking.v1alpha1 import MultiClusterService, MultiClusterServiceSpec
from karmada.api.work.v1alpha1 import Work, WorkSpec
from karmada.controllers.detector.changes import Meaning, meaning
from karmada.controllers.endpointslice_collect import marked_by, marker_name
from karmada.controllers.multicluster_service import spec_changed
from karmada.machinery.codec import TREE
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.works.slices import MemberKey


def template(data: str = "1", status: Any = None, **metadata: Any) -> bytes:
    return orjson.dumps({"metadata": {"name": "a", **metadata}, "data": data, **({"status": status} if status else {})})


POLICY = {"propagationpolicy.karmada.io/name": "p"}
SKIPPED = {labels.SKIP_AUTO_PROPAGATION: "true"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (template(), template(), Meaning.NOTHING),
        (template(), template(status={"ready": 1}, resourceVersion="2", managedFields=[{}]), Meaning.NOTHING),
        (template(), template(labels=POLICY), Meaning.OWN),
        (template(annotations={**POLICY, "x": "y"}), template(annotations={"x": "y"}, generation=2), Meaning.OWN),
        (template(), template("2"), Meaning.USER),
        (template(), template(labels={"x": "y"}), Meaning.USER),
        (template(), template(labels=SKIPPED), Meaning.USER),
        (template(annotations={"x": "y"}), template(annotations={"x": "z", **POLICY}), Meaning.USER),
    ],
)
def test_a_change_of_a_template_is_nothing_our_own_or_the_users(old: bytes, new: bytes, expected: Meaning) -> None:
    assert meaning(old, new) is expected


def service(*types: str, **metadata: Any) -> Item[Any]:
    found = MultiClusterService(
        metadata=ObjectMeta(name="web", namespace="shop", **metadata), spec=MultiClusterServiceSpec(types=types)
    )
    item: Item[Any] = Item(Key("shop", "web"), "u", "1", msgspec.json.encode(found), TREE)
    item._value = found
    return item


@pytest.mark.parametrize(
    ("old", "new", "counts"),
    [
        (None, service("CrossCluster"), True),
        (service("CrossCluster"), None, True),
        (service("CrossCluster"), service("CrossCluster"), False),
        (service("CrossCluster"), service("CrossCluster", labels={"a": "b"}), False),
        (service("CrossCluster"), service("LoadBalancer"), True),
        (service("CrossCluster"), service("CrossCluster", annotations={"a": "b"}), True),
        (service("CrossCluster"), service("CrossCluster", deletion_timestamp="2026-01-01T00:00:00Z"), True),
    ],
    ids=["came", "went", "same", "labels", "spec", "annotations", "being deleted"],
)
def test_a_service_counts_that_changed_in_more_than_its_status(
    old: Item[Any] | None, new: Item[Any] | None, counts: bool
) -> None:
    assert spec_changed(Change(old, new)) == ([Key("shop", "web")] if counts else [])


def marker(name: str = "", space: str = "karmada-es-m1", deleted: str | None = None, **marks: str) -> Work:
    usual = {labels.MULTI_CLUSTER_SERVICE_NAME: "web", labels.MULTI_CLUSTER_SERVICE_NAMESPACE: "shop"}
    given = {key: value for key, value in (usual | marks).items() if value}
    metadata = ObjectMeta(
        name=name or marker_name("shop", "web"), namespace=space, labels=given, deletion_timestamp=deleted
    )
    return Work(metadata=metadata, spec=WorkSpec())


def test_a_marker_names_the_service_of_its_cluster() -> None:
    assert tuple(marked_by(marker())) == (MemberKey("m1", "shop", "web"),)


@pytest.mark.parametrize(
    "work",
    [
        marker("another"),
        marker(space="default"),
        marker(deleted="2026-01-01T00:00:00Z"),
        marker(**{labels.MULTI_CLUSTER_SERVICE_NAME: ""}),
        marker(**{labels.MULTI_CLUSTER_SERVICE_NAMESPACE: ""}),
    ],
    ids=["name", "space", "deleted", "without name", "without namespace"],
)
def test_what_is_no_marker_names_nobody(work: Work) -> None:
    assert tuple(marked_by(work)) == ()
