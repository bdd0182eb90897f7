"""JSON patches: the RFC, the texts of errors, and that arguments stay untouched."""

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karmada.api import json_patch
from karmada.api.json_patch import JSONPatchError, JSONPatchTestFailed, pointer
from karmada.api.merge_patch import same_json

DOCUMENT = {"a": {"b": [1, 2, 3]}, "n": None, "s~/": "x"}

scalars = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.text("ab~/", max_size=3))
documents = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab~/", min_size=1, max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


def paths(value: Any, at: tuple[str | int, ...] = ()) -> list[str]:
    found = [pointer(at)] if at else []
    if isinstance(value, dict):
        return found + [path for key, item in value.items() for path in paths(item, (*at, key))]
    if isinstance(value, list):
        return found + [path for index, item in enumerate(value) for path in paths(item, (*at, index))]
    return found


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ({"op": "add", "path": "/a/c", "value": 1}, {**DOCUMENT, "a": {"b": [1, 2, 3], "c": 1}}),
        ({"op": "add", "path": "/a/b/-", "value": 4}, {**DOCUMENT, "a": {"b": [1, 2, 3, 4]}}),
        ({"op": "add", "path": "/a/b/0", "value": 0}, {**DOCUMENT, "a": {"b": [0, 1, 2, 3]}}),
        ({"op": "add", "path": "/a/b/3", "value": 4}, {**DOCUMENT, "a": {"b": [1, 2, 3, 4]}}),
        ({"op": "add", "path": "", "value": [1]}, [1]),
        ({"op": "remove", "path": "/a/b/-1"}, {**DOCUMENT, "a": {"b": [1, 2]}}),
        ({"op": "remove", "path": "/n"}, {key: value for key, value in DOCUMENT.items() if key != "n"}),
        ({"op": "replace", "path": "/s~0~1", "value": "y"}, {**DOCUMENT, "s~/": "y"}),
        ({"op": "move", "from": "/a/b", "path": "/n"}, {"a": {}, "n": [1, 2, 3], "s~/": "x"}),
        ({"op": "copy", "from": "/a/b/0", "path": "/n"}, {**DOCUMENT, "n": 1}),
        ({"op": "test", "path": "/a/b", "value": [1, 2, 3]}, DOCUMENT),
        ({"op": "test", "path": "/absent", "value": None}, DOCUMENT),
        ({"op": "test", "path": "", "value": DOCUMENT}, DOCUMENT),
    ],
    ids=lambda value: f"{value['op']} {value['path']}" if isinstance(value, dict) and "op" in value else "",
)
def test_operations(operation: dict[str, Any], expected: Any) -> None:
    assert json_patch.apply(DOCUMENT, [operation]) == expected


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (
            {"op": "add", "path": "/x/y", "value": 1},
            'add operation does not apply: doc is missing path: "/x/y": missing value',
        ),
        (
            {"op": "add", "path": "a", "value": 1},
            'add operation does not apply: doc is missing path: "a": missing value',
        ),
        (
            {"op": "add", "path": "/a/b/9", "value": 1},
            "error in add for path: '/a/b/9': Unable to access invalid index: 9: invalid index referenced",
        ),
        (
            {"op": "remove", "path": "/zz"},
            "error in remove for path: '/zz': unable to remove nonexistent key: zz: missing value",
        ),
        (
            {"op": "remove", "path": "/a/b/3"},
            "error in remove for path: '/a/b/3': Unable to access invalid index: 3: invalid index referenced",
        ),
        (
            {"op": "replace", "path": "/zz", "value": 1},
            "replace operation does not apply: doc is missing key: /zz: missing value",
        ),
        (
            {"op": "replace", "path": "/n/k", "value": 1},
            "replace operation does not apply: doc is missing path: /n/k: missing value",
        ),
        ({"op": "test", "path": "/a/b/0", "value": 2}, "testing value /a/b/0 failed: test failed"),
        ({"op": "test", "path": "/a/b/0", "value": True}, "testing value /a/b/0 failed: test failed"),
        (
            {"op": "copy", "from": "/q", "path": "/n"},
            "error in copy for from: '/q': unable to get nonexistent key: q: missing value",
        ),
        ({"op": "bogus", "path": "/a"}, 'invalid operation {"op":"bogus","path":"/a"}: unsupported operation'),
    ],
    ids=lambda value: "" if isinstance(value, str) else f"{value['op']} {value['path']}",
)
def test_errors_keep_the_known_texts(operation: dict[str, Any], message: str) -> None:
    with pytest.raises(JSONPatchError) as raised:
        json_patch.apply(DOCUMENT, [operation])
    assert str(raised.value) == message


def test_failed_test_is_its_own_type() -> None:
    with pytest.raises(JSONPatchTestFailed):
        json_patch.apply({"a": 1}, [{"op": "test", "path": "/a", "value": 2}])


def test_replace_may_create_where_the_api_server_lets_it() -> None:
    patch = [{"op": "replace", "path": "/data/zz", "value": "2"}]
    assert json_patch.apply({"data": {}}, patch, replace_may_create=True) == {"data": {"zz": "2"}}


@pytest.mark.parametrize(
    "operations", [None, {}, [1], [{}], [{"op": "add", "path": 5, "value": 1}], [{"op": "move", "path": "/a"}]], ids=str
)
def test_malformed_patches_raise_patch_errors(operations: Any) -> None:
    with pytest.raises(JSONPatchError):
        json_patch.apply({}, operations)


def test_a_copy_is_not_what_it_was_copied_from() -> None:
    made = json_patch.apply({"a": {"b": {}}}, [{"op": "copy", "from": "/a", "path": "/n"}])
    made["n"]["b"]["c"] = 1  # as a server does that writes defaults into what it was sent
    assert made == {"a": {"b": {}}, "n": {"b": {"c": 1}}}


def test_doubling_copies_are_stopped() -> None:
    doubling = [{"op": "copy", "from": "/a", "path": "/a/-"} for _ in range(60)]
    with pytest.raises(JSONPatchError, match="accumulated size"):
        json_patch.apply({"a": ["x" * 1000]}, doubling)


@given(documents, documents, st.data())
def test_add_then_remove_of_a_new_member_changes_nothing(document: Any, value: Any, data: st.DataObject) -> None:
    if not isinstance(document, dict):
        return
    before = copy.deepcopy(document)
    operations = [{"op": "add", "path": "/new", "value": value}, {"op": "test", "path": "/new", "value": value}]
    assert json_patch.apply(document, [*operations, {"op": "remove", "path": "/new"}]) == before
    assert document == before
    for path in paths(document):
        replaced = json_patch.apply(document, [{"op": "replace", "path": path, "value": value}])
        json_patch.apply(replaced, [{"op": "test", "path": path, "value": value}])
        assert document == before


@given(documents, st.text("/ab01-~", max_size=6), st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]))
def test_any_pointer_gives_a_result_or_a_patch_error(document: Any, path: str, kind: str) -> None:
    operation = {"op": kind, "path": path, "from": "/a", "value": 1}
    with contextlib.suppress(JSONPatchError):
        json_patch.apply(document, [operation])


objects = st.dictionaries(st.text("ab~/", min_size=1, max_size=2), documents, max_size=4)


@given(objects, objects)
def test_what_is_created_from_two_objects_turns_one_into_the_other(
    original: dict[str, Any], modified: dict[str, Any]
) -> None:
    assert same_json(json_patch.apply(original, json_patch.create(original, modified)), modified)
