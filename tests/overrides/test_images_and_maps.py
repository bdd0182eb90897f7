"""Images, labels and amounts of resources as overriders change them, and how changes are recorded."""

from typing import Any

import orjson
import pytest
from tests.overrides.test_applying import MEMBER, config
from tests.overrides.test_words_and_documents import document, overridden, pod

from karmada.api.codec import from_tree
from karmada.api.policy.v1alpha1 import ClusterOverridePolicy, OverridePolicy
from karmada.overrides.apply import apply_overrides, record
from karmada.overrides.errors import OverrideError
from karmada.overrides.identity import Identity

IMAGE = "registry.local:5000/team/app:v1"
PATH = "/spec/containers/0/image"


def image(text: Any, path: str = "", **overrider: str) -> str:
    """The image of the first container after it was changed."""
    given: dict[str, Any] = {**overrider, **({"predicate": {"path": path}} if path else {})}
    tree = pod(image=text)
    tree["spec"]["containers"].pop()
    changed = overridden(tree, {"imageOverrider": [given]})
    return str(changed["spec"]["containers"][0]["image"])


@pytest.mark.parametrize("path", ["", PATH], ids=["every container", "by path"])
@pytest.mark.parametrize(
    ("component", "operator", "value", "expected"),
    [
        ("Registry", "add", ".backup", "registry.local:5000.backup/team/app:v1"),
        ("Registry", "replace", "other.example", "other.example/team/app:v1"),
        ("Registry", "remove", "", "team/app:v1"),
        ("Repository", "add", "/x", "registry.local:5000/team/app/x:v1"),
        ("Repository", "replace", "app", "registry.local:5000/app:v1"),
        ("Repository", "remove", "", "registry.local:5000/:v1"),
        ("Tag", "add", "-rc", "registry.local:5000/team/app:v1-rc"),
        ("Tag", "replace", "v2", "registry.local:5000/team/app:v2"),
        ("Tag", "remove", "", "registry.local:5000/team/app"),
        ("Tag", "rename", "v2", IMAGE),
    ],
)
def test_each_part_of_an_image_is_added_to_replaced_and_removed(
    path: str, component: str, operator: str, value: str, expected: str
) -> None:
    assert image(IMAGE, path, component=component, operator=operator, value=value) == expected


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/spec/containers/x/image", r"path\(x\) of rawObj's is not number"),
        ("/spec/containers/x", r"path\(x\) of rawObj's is not number"),
        ("/spec/containers/1/image", r"path\(1\) of rawObj's is no object"),
        ("/spec/containers/0", r"failed to convert path\(0\) to string"),
        ("/spec/words/0/image", r"path\(0\) of rawObj's is no object"),
        ("/spec/none/image", r"path\(none\) of rawObj's type is not map"),
        ("/spec/containers/0/name/image", r"path\(name\) of rawObj's type is not map"),
        ("/spec/none", r"failed to convert path\(none\) to string"),
    ],
)
def test_a_path_that_leads_to_no_image_is_refused_by_the_step_that_fails(path: str, why: str) -> None:
    tree = pod(image=IMAGE)
    tree["spec"] = {"containers": tree["spec"]["containers"][:1], "words": ["x"]}
    given = {"component": "Tag", "operator": "replace", "value": "v2", "predicate": {"path": path}}
    with pytest.raises(OverrideError, match=why):
        overridden(tree, {"imageOverrider": [given]})


def labelled(present: Any, operator: str, **value: str) -> Any:
    resource = config()
    resource["metadata"]["labels"] = present
    changed = overridden(resource, {"labelsOverrider": [{"operator": operator, "value": value}]})
    return changed["metadata"]["labels"]


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("add", {"a": "2", "b": "1", "c": "2"}),
        ("addIfAbsent", {"a": "1", "b": "1", "c": "2"}),
        ("replace", {"a": "2", "b": "1"}),
        ("remove", {"b": "1"}),
    ],
)
def test_labels_are_added_replaced_and_removed(operator: str, expected: dict[str, str]) -> None:
    assert labelled({"a": "1", "b": "1"}, operator, a="2", c="2") == expected


@pytest.mark.parametrize("present", [{"c": 7}, ["c"], None])
def test_what_is_no_map_of_texts_is_replaced_by_what_is_added_and_otherwise_left_alone(present: Any) -> None:
    assert labelled(present, "add", a="b") == labelled(present, "addIfAbsent", a="b") == {"a": "b"}
    assert labelled(present, "replace", c="b") == labelled(present, "remove", c="b") == present


def test_labels_of_a_resource_whose_metadata_is_no_object_are_refused() -> None:
    spec = {"overrideRules": [{"overriders": {"labelsOverrider": [{"operator": "add", "value": {"a": "b"}}]}}]}
    wide = from_tree({"metadata": {"name": "wide"}, "spec": spec}, ClusterOverridePolicy)
    with pytest.raises(OverrideError, match="metadata is not an object: no labels can be changed"):
        apply_overrides(config() | {"metadata": "text"}, MEMBER, [wide], [])


AMOUNTS = {"containerName": "main", "value": {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}}


def test_amounts_are_merged_into_those_of_the_container() -> None:
    tree = pod(resources={"limits": {"cpu": "9", "memory": "1Gi"}})
    changed = overridden(tree, {"resourcesOverrider": [AMOUNTS]})["spec"]["containers"]
    assert changed[0]["resources"] == {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}
    assert "resources" not in changed[1]


def test_amounts_for_a_container_that_is_not_there_or_holds_nonsense_are_refused() -> None:
    with pytest.raises(OverrideError, match='no container named "none" in Pod "p"'):
        overridden(pod(), {"resourcesOverrider": [{**AMOUNTS, "containerName": "none"}]})
    with pytest.raises(OverrideError, match='resources of "main" is not an object'):
        overridden(pod(resources="much"), {"resourcesOverrider": [AMOUNTS]})


CHANGE = [{"operator": "replace", "subPath": "/a", "value": 2}]


def test_a_document_keeps_the_spelling_of_what_is_not_changed() -> None:
    text = '{"a":1,"ü":"é","pi":3.140,"big":12345678901234567890}'
    assert document(text, json=CHANGE) == '{"a":2,"ü":"é","pi":3.140,"big":12345678901234567890}'


def test_numbers_that_json_does_not_know_are_refused_without_a_line() -> None:
    with pytest.raises(OverrideError) as refused:
        document('{"a":NaN}', json=CHANGE)
    assert str(refused.value) == "the field does not hold the document it is said to hold"


@pytest.mark.parametrize(("form", "text"), [("json", '{"a":1}'), ("yaml", "a: 1\n")])
def test_a_change_of_what_a_document_does_not_hold_is_refused(form: str, text: str) -> None:
    with pytest.raises(OverrideError):
        document(text, **{form: [{"operator": "remove", "subPath": "/none"}]})


def test_a_resource_that_is_replaced_by_something_without_a_kind_is_refused_as_such() -> None:
    with pytest.raises(OverrideError, match="has no kind"):
        overridden(config(), {"plaintext": [{"path": "/kind", "operator": "remove"}]}, keep_identity=False)


def test_a_change_is_recorded_with_a_value_if_only_null() -> None:
    overriders = {
        "plaintext": [{"path": "/data/order", "operator": "remove"}],
        "fieldOverrider": [{"fieldPath": "/data/doc", "json": [{"operator": "remove", "subPath": "/a"}]}],
    }
    tree = {"metadata": {"name": "p", "namespace": "default"}, "spec": {"overrideRules": [{"overriders": overriders}]}}
    done = apply_overrides(config(doc='{"a":1}'), MEMBER, [], [from_tree(tree, OverridePolicy)])
    [found] = orjson.loads(record(done.by_policies))
    assert found["policyName"] == "p"
    assert found["overriders"]["plaintext"] == [{"path": "/data/order", "operator": "remove", "value": None}]
    [field] = found["overriders"]["fieldOverrider"]
    assert field["json"] == [{"operator": "remove", "subPath": "/a", "value": None}]


def test_a_copy_that_is_the_same_object_has_nothing_to_name() -> None:
    assert Identity.of(config()).changed_in(config()) == ""
