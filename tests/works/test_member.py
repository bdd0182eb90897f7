"""A manifest meets the object in the member."""

from typing import Any

import pytest

from karmada.works.member import (
    NotOurs,
    is_owned,
    is_unchanged,
    merge_observed,
    of_another_work,
    released,
    require_ours,
)

MANAGED = {"karmada.io/managed": "true"}


def config_map(**metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"} | metadata, "data": {}}


def test_labels_of_the_member_stay_and_those_we_once_set_go() -> None:
    observed = config_map(
        labels={"ours": "1", "gone": "1", "theirs": "1"},
        annotations={"resourcetemplate.karmada.io/managed-labels": "ours,gone"},
        resourceVersion="7",
    )
    desired = config_map(labels={"ours": "2"})
    merge_observed(desired, observed)
    assert desired["metadata"]["labels"] == {"ours": "2", "theirs": "1"}
    assert desired["metadata"]["resourceVersion"] == "7"


def test_finalizers_and_owners_are_the_members() -> None:
    desired = config_map(finalizers=["hub.example/x"], ownerReferences=[{"name": "hub"}])
    merge_observed(desired, config_map(finalizers=["member.example/y"]))
    assert desired["metadata"]["finalizers"] == ["member.example/y"]
    assert "ownerReferences" not in desired["metadata"]


def test_status_and_bookkeeping_of_the_server_are_no_change() -> None:
    observed = config_map(labels=MANAGED, resourceVersion="7", uid="u", generation=3, creationTimestamp="t")
    observed["status"] = {"phase": "Active"}
    assert is_unchanged(config_map(labels=MANAGED, resourceVersion="7"), observed)


@pytest.mark.parametrize(
    ("api_version", "kind", "noted"),
    [
        ("apps/v1", "Deployment", "deployment.kubernetes.io/revision"),
        ("v1", "PersistentVolumeClaim", "volume.kubernetes.io/selected-node"),
    ],
)
def test_what_controllers_of_the_member_note_is_no_change(api_version: str, kind: str, noted: str) -> None:
    def made(**annotations: str) -> dict[str, Any]:
        metadata = {"name": "a", "namespace": "n", "labels": MANAGED, "annotations": annotations}
        return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": {}}

    desired, observed = made(ours="1"), made(ours="1", **{noted: "1"})
    merge_observed(desired, observed)
    assert is_unchanged(desired, observed)
    desired["metadata"]["annotations"]["ours"] = "2"
    assert not is_unchanged(desired, observed)


def test_what_a_member_generated_and_both_trees_share_is_still_sent() -> None:
    generated = {"batch.kubernetes.io/controller-uid": "u"}
    job: dict[str, Any] = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
    desired = job | {"spec": {"backoffLimit": 3, "selector": {"matchLabels": generated}}}
    observed = job | {"spec": {"backoffLimit": 4, "selector": {"matchLabels": generated}}}
    assert not is_unchanged(desired, observed)
    assert desired["spec"]["selector"]["matchLabels"] == {"batch.kubernetes.io/controller-uid": "u"}


def test_another_value_is_a_change() -> None:
    observed = config_map(labels=MANAGED) | {"data": {"v": "theirs"}}
    assert not is_unchanged(config_map(labels=MANAGED), observed)


@pytest.mark.parametrize(
    ("mine", "theirs", "another"),
    [("a", "b", True), ("a", "a", False), ("", "b", False), ("a", "", False)],
    ids=["successor", "same", "manifest-without", "object-without"],
)
def test_an_object_of_a_successor_is_recognised(mine: str, theirs: str, another: bool) -> None:
    label = "work.karmada.io/permanent-id"
    manifest, observed = config_map(labels={label: mine}), config_map(labels={label: theirs})
    assert of_another_work(manifest, observed) is another


def test_an_object_of_the_member_is_refused_by_name() -> None:
    with pytest.raises(NotOurs, match=r"ConfigMap, n/a\) already exists in the cluster m1"):
        require_ours(config_map(), config_map(), "m1")
    overwrite = config_map(annotations={"work.karmada.io/conflict-resolution": "overwrite"})
    require_ours(overwrite, config_map(), "m1")
    require_ours(config_map(), config_map(labels=MANAGED), "m1")


ID = "work.karmada.io/permanent-id"


@pytest.mark.parametrize(
    ("mine", "theirs", "owned"),
    [
        ({}, MANAGED, True),
        ({}, {"karmada.io/managed": "false"}, False),
        ({ID: "w"}, {ID: "w"}, True),
        ({ID: "w"}, {ID: "another"}, False),
        ({}, {}, False),
        ({ID: ""}, {ID: ""}, False),
        (MANAGED | {ID: "w"}, {ID: "w"}, False),
    ],
    ids=["managed", "said not to be", "by hand", "of another by hand", "bare", "empty ids", "lost its mark"],
)
def test_an_object_is_karmadas_when_it_says_so_or_belongs_to_a_work_written_by_hand(
    mine: dict[str, str], theirs: dict[str, str], owned: bool
) -> None:
    assert is_owned(config_map(labels=mine), config_map(labels=theirs)) is owned


@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_labels_and_annotations_of_either_side_alone_are_kept(field: str) -> None:
    for mine, theirs in (({"a": "1"}, {}), ({}, {"a": "1"})):
        desired = config_map(**{field: mine})
        merge_observed(desired, config_map(**{field: theirs}))
        assert desired["metadata"][field] == {"a": "1"}
    desired = config_map()
    merge_observed(desired, config_map())
    assert field not in desired["metadata"]


def test_annotations_of_the_member_stay_and_those_we_once_set_go() -> None:
    managed = {"resourcetemplate.karmada.io/managed-annotations": "ours,gone"}
    desired = config_map(annotations={"ours": "2"})
    merge_observed(desired, config_map(annotations={"ours": "1", "gone": "1", "theirs": "1"} | managed))
    assert desired["metadata"]["annotations"] == {"ours": "2", "theirs": "1"} | managed


def test_a_status_in_the_manifest_is_not_sent() -> None:
    assert is_unchanged(config_map() | {"status": {"phase": "Old"}}, config_map())


def test_a_released_object_keeps_what_is_its_own() -> None:
    observed = config_map(
        labels=MANAGED | {"app": "web", "work.karmada.io/permanent-id": "x"},
        annotations={"resourcetemplate.karmada.io/uid": "u", "note": "kept"},
    )
    left = released(observed)["metadata"]
    assert left["labels"] == {"app": "web"}
    assert left["annotations"] == {"note": "kept"}


def test_a_released_object_without_anything_left_has_no_empty_maps() -> None:
    assert "labels" not in released(config_map(labels=dict(MANAGED)))["metadata"]
