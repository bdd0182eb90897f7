"""Client-side apply: the annotation and the patch."""

from typing import Any

import pytest

from karmada.api import client_apply, merge_patch
from karmada.api.annotations import LAST_APPLIED_CONFIGURATION
from karmada.api.client_apply import LastAppliedError

WANTED: dict[str, Any] = {
    "kind": "Widget",
    "apiVersion": "x/v1",
    "metadata": {"name": "w"},
    "spec": {"b": "<1>", "a": 1},
}
TEXT = (
    '{"apiVersion":"x/v1","kind":"Widget","metadata":{"annotations":{},"name":"w"},'
    '"spec":{"a":1,"b":"\\u003c1\\u003e"}}\n'
)


def test_annotation_has_the_text_that_kubectl_writes() -> None:
    assert client_apply.remember(WANTED)["metadata"]["annotations"] == {LAST_APPLIED_CONFIGURATION: TEXT}
    assert "annotations" not in WANTED["metadata"]


def test_remembering_twice_does_not_nest() -> None:
    assert client_apply.remember(client_apply.remember(WANTED)) == client_apply.remember(WANTED)


def test_nothing_is_left_to_do_after_applying() -> None:
    live = merge_patch.apply({**WANTED, "status": {"ready": True}}, client_apply.patch(WANTED, WANTED, None))
    assert client_apply.patch(WANTED, live, None) == {}


def test_fields_no_longer_wanted_are_removed_and_those_of_others_stay() -> None:
    remembered = client_apply.remember(WANTED)
    live = {**remembered, "spec": {**remembered["spec"], "theirs": 1}}
    smaller = {**WANTED, "spec": {"a": 2}}
    patch = client_apply.patch(smaller, live, None)
    assert patch["spec"] == {"b": None, "a": 2}
    assert merge_patch.apply(live, patch)["spec"] == {"a": 2, "theirs": 1}


@pytest.mark.parametrize("text", ["{", "[]", "5"])
def test_a_broken_annotation_is_named_without_its_content(text: str) -> None:
    live = {"metadata": {"name": "w", "annotations": {LAST_APPLIED_CONFIGURATION: text}}}
    with pytest.raises(LastAppliedError, match="'w' is not a JSON object"):
        client_apply.patch(WANTED, live, None)


def test_an_object_made_without_apply_has_no_record() -> None:
    assert client_apply.recorded({"metadata": {"name": "w"}}) is None
