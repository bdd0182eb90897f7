"""Whatever a resource or an overrider looks like, overriding changes it or says why not."""

import copy
from typing import Any

import pytest

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree
from karmada.api.policy.v1alpha1 import OverridePolicy
from karmada.overrides.apply import apply_overrides
from karmada.overrides.errors import OverrideError
from karmada.overrides.image_name import parse_image

MEMBER = from_tree({"metadata": {"name": "m", "labels": {"env": "prod"}}, "spec": {}}, Cluster)
DIGEST = "sha256:" + "ab" * 32


def policy(target: dict[str, Any] | None = None, **overriders: Any) -> OverridePolicy:
    rule = {"overriders": overriders} | ({"targetCluster": target} if target else {})
    tree = {"metadata": {"name": "p", "namespace": "default"}, "spec": {"overrideRules": [rule]}}
    return from_tree(tree, OverridePolicy)


def pod(containers: Any) -> dict[str, Any]:
    metadata = {"name": "web", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}}


IMAGE = {"component": "Tag", "operator": "replace", "value": "2"}
WORDS = {"containerName": "c", "operator": "add", "value": ["x"]}
LABEL = {"operator": "add", "value": {"a": "b"}}


@pytest.mark.parametrize(
    ("resource", "overriders"),
    [
        (pod([{"name": "c"}]), {"imageOverrider": [IMAGE]}),
        (pod([{"name": "c", "image": 7}]), {"imageOverrider": [IMAGE]}),
        (pod({}), {"imageOverrider": [IMAGE]}),
        (pod([7]), {"commandOverrider": [WORDS]}),
        (pod([{"name": "c", "args": "x"}]), {"argsOverrider": [WORDS]}),
        (pod([]) | {"spec": "text"}, {"argsOverrider": [WORDS]}),
        (pod([{"name": "c", "image": "a:1"}]), {"imageOverrider": [{**IMAGE, "component": "Colour"}]}),
        (pod([]), {"labelsOverrider": [{**LABEL, "operator": "rename"}]}),
        (pod([]), {"plaintext": [{"path": "", "operator": "replace", "value": 1}]}),
        (pod([]), {"plaintext": [{"path": "", "operator": "add", "value": {"a": "b"}}]}),
        (pod([]), {"imageOverrider": [{**IMAGE, "predicate": {"path": "/spec/none"}}]}),
        (pod([{"image": "a"}]), {"imageOverrider": [{**IMAGE, "predicate": {"path": "spec/containers/0/image"}}]}),
    ],
    ids=[
        "no image",
        "a number for an image",
        "no list of containers",
        "a number for a container",
        "a text for words",
        "a text for a spec",
        "unknown component",
        "unknown operator",
        "a number for the resource",
        "no kind",
        "nothing at the predicate's path",
        "a predicate's path without a slash",
    ],
)
def test_what_cannot_be_changed_is_refused(resource: dict[str, Any], overriders: dict[str, Any]) -> None:
    with pytest.raises(OverrideError):
        apply_overrides(resource, MEMBER, [], [policy(**overriders)])


@pytest.mark.parametrize("operator", ["add", "replace", "remove"])
@pytest.mark.parametrize(
    "path",
    [
        "spec",
        "spec/containers",
        "/none/deeper",
        "/spec/containers/1/image",
        "/spec/containers/x",
        "/spec/containers/7",
        "/spec/containers/-3",
        "/spec/containers/0/image/deeper",
        "/spec~0containers/0",
    ],
)
def test_a_pointer_to_nowhere_is_refused_and_changes_nothing(operator: str, path: str) -> None:
    resource = pod([{"name": "c", "image": "a:1"}])
    before = copy.deepcopy(resource)
    first = {"path": "/spec/hostNetwork", "operator": "add", "value": True}
    bad = {"path": path, "operator": operator} | ({} if operator == "remove" else {"value": 1})
    with pytest.raises(OverrideError):
        apply_overrides(resource, MEMBER, [], [policy(plaintext=[first, bad])])
    assert resource == before


@pytest.mark.parametrize("operator", ["replace", "remove"])
def test_what_is_not_there_can_be_added_only(operator: str) -> None:
    given = policy(plaintext=[{"path": "/spec/none", "operator": operator, "value": 1}])
    with pytest.raises(OverrideError):
        apply_overrides(pod([]), MEMBER, [], [given])


@pytest.mark.parametrize("metadata", [[], "text", 7])
def test_a_resource_without_metadata_belongs_to_no_namespace(metadata: Any) -> None:
    resource = pod([]) | {"metadata": metadata}
    assert apply_overrides(resource, MEMBER, [], [policy(labelsOverrider=[LABEL])]).by_policies == []


@pytest.mark.parametrize("present", [["a"], {"a": 7}, "text"])
def test_labels_that_are_none_are_replaced_by_those_added(present: Any) -> None:
    resource = pod([])
    resource["metadata"]["labels"] = present
    changed = apply_overrides(resource, MEMBER, [], [policy(labelsOverrider=[LABEL])]).resource
    assert changed["metadata"]["labels"] == {"a": "b"}


@pytest.mark.parametrize(
    "term",
    [
        {"key": "env", "operator": "NotIn"},
        {"key": "env", "operator": "Exists", "values": ["prod"]},
        {"key": "no key", "operator": "NotIn", "values": ["x"]},
        {"key": "tier", "operator": "DoesNotExist", "values": ["x"]},
    ],
    ids=["no values", "values to exist", "no label", "values not to exist"],
)
def test_a_selector_that_makes_no_sense_means_no_cluster(term: dict[str, Any]) -> None:
    given = policy({"labelSelector": {"matchExpressions": [term]}}, labelsOverrider=[LABEL])
    assert apply_overrides(pod([]), MEMBER, [], [given]).by_policies == []


def test_of_a_tag_and_a_digest_the_tag_is_kept() -> None:
    image = parse_image(f"registry.local/app:v1@{DIGEST}")
    assert (image.tag, image.digest, str(image)) == ("v1", "", "registry.local/app:v1")


def test_a_document_with_changes_in_both_forms_is_changed_as_yaml() -> None:
    change = [{"subPath": "/a", "operator": "replace", "value": 2}]
    resource = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "namespace": "default"},
        "data": {"k": '{"a": 1}'},
    }
    given = policy(fieldOverrider=[{"fieldPath": "/data/k", "json": change, "yaml": change}])
    assert apply_overrides(resource, MEMBER, [], [given]).resource["data"]["k"] == "a: 2\n"
