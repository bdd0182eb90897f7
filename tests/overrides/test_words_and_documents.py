"""Words of containers, documents in fields, and what a copy may become."""

from typing import Any

import pytest
from tests.overrides.test_applying import KIND, MEMBER, NAMED, config, policy, spec

from karmada.api.codec import from_tree
from karmada.api.policy.v1alpha1 import OverridePolicy
from karmada.overrides.apply import apply_overrides
from karmada.overrides.errors import OverrideError


def pod(**container: Any) -> dict[str, Any]:
    metadata = {"name": "p", "namespace": "default"}
    containers = [{"name": "main", **container}, {"name": "side", "command": ["x"]}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}}


def overridden(resource: dict[str, Any], overriders: dict[str, Any], **options: bool) -> dict[str, Any]:
    selectors = [{"apiVersion": resource["apiVersion"], "kind": resource["kind"]}]
    tree = {"metadata": {"name": "o", "namespace": "default"}, "spec": spec(selectors, overriders)}
    return apply_overrides(resource, MEMBER, [], [from_tree(tree, OverridePolicy)], **options).resource


def words(resource: dict[str, Any], field: str, operator: str, *value: str) -> dict[str, Any]:
    """The first container after its words were changed."""
    overrider = {"containerName": "main", "operator": operator, "value": list(value)}
    changed = overridden(resource, {f"{field}Overrider": [overrider]})
    main, side = changed["spec"]["containers"]
    assert side == {"name": "side", "command": ["x"]}
    found: dict[str, Any] = main
    return found


@pytest.mark.parametrize("field", ["command", "args"])
def test_words_are_appended_and_dropped(field: str) -> None:
    assert words(pod(**{field: ["a"]}), field, "add", "b", "a") == {"name": "main", field: ["a", "b", "a"]}
    assert words(pod(**{field: ["a", "b", "a", "c"]}), field, "remove", "a", "z") == {"name": "main", field: ["b", "c"]}
    assert words(pod(), field, "add", "b") == {"name": "main", field: ["b"]}


@pytest.mark.parametrize("field", ["command", "args"])
def test_a_list_that_becomes_empty_stays_and_one_that_was_not_there_is_not_made(field: str) -> None:
    assert words(pod(**{field: ["a"]}), field, "remove", "a") == {"name": "main", field: []}
    assert words(pod(), field, "remove", "a") == {"name": "main"}


def test_words_that_are_no_list_are_refused() -> None:
    with pytest.raises(OverrideError, match="args of container 'main' is not a list"):
        words(pod(args="a b"), "args", "add", "c")


def document(text: Any, **changes: Any) -> Any:
    """A field after the document in it was changed."""
    overrider = {"fieldPath": "/data/doc", **changes}
    changed = overridden(config(doc=text), {"fieldOverrider": [overrider]})
    return changed["data"]["doc"]


CHANGE = [{"operator": "replace", "subPath": "/a", "value": 2}]


def test_a_document_is_changed_in_its_own_form() -> None:
    assert document('{"a":1,"b":[true]}', json=CHANGE) == '{"a":2,"b":[true]}'
    assert document("a: 1\nb: x\n", yaml=CHANGE) == "a: 2\nb: x\n"


def test_a_document_without_changes_becomes_empty() -> None:
    assert document('{"a":1}') == ""


def test_there_is_nothing_to_change_in_no_json_at_all() -> None:
    assert document("", json=[{"operator": "add", "subPath": "/a", "value": 1}]) == ""


def test_a_field_that_is_no_text_is_refused_by_its_path() -> None:
    with pytest.raises(OverrideError, match=r"path\(/data/doc\) is not string"):
        document(7, json=CHANGE)


@pytest.mark.parametrize(
    ("text", "form", "line"), [("{\n\n  oops secret", "json", ": line 3 "), ("a: 1\nb: [secret", "yaml", ": line ")]
)
def test_a_document_that_cannot_be_read_is_refused_by_its_line_and_never_quoted(
    text: str, form: str, line: str
) -> None:
    with pytest.raises(OverrideError, match="does not hold the document it is said to hold") as refused:
        document(text, **{form: CHANGE})
    assert line in str(refused.value)
    assert "secret" not in str(refused.value)


def test_a_document_that_is_a_single_value_is_refused() -> None:
    with pytest.raises(OverrideError, match="single value"):
        document("7", json=CHANGE)


def test_what_took_effect_is_reported_by_name_whatever_the_order_of_application() -> None:
    closer, wider = policy("a", NAMED), policy("z", KIND)
    done = apply_overrides(config(), MEMBER, [], [closer, wider])

    assert done.resource["metadata"]["annotations"] == {"last": "a"}
    assert [rule.policy_name for rule in done.by_policies] == ["a", "z"]


RENAME = {"plaintext": [{"path": "/metadata/name", "operator": "replace", "value": "another"}]}


def test_a_copy_may_not_become_another_object_unless_a_recording_is_compared_with() -> None:
    with pytest.raises(OverrideError, match="may not make another object"):
        overridden(config(), RENAME)

    assert overridden(config(), RENAME, keep_identity=False)["metadata"]["name"] == "another"
