"""Merge and strategic merge patches: recorded behaviour of the API server, and laws."""

import copy
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karmada.api import merge_patch, strategic_diff, strategic_merge
from karmada.api.strategic_merge import StrategicMergeError


@dataclass
class Merging:
    """A schema made by hand."""

    fields: dict[str, "Merging"] = field(default_factory=dict)
    items: "Merging | None" = None
    merge_key: str = ""
    merge_strategies: tuple[str, ...] = ()

    def field(self, name: str) -> "Merging | None":
        return self.fields.get(name)

    def element(self) -> "Merging | None":
        return self.items


PORTS = Merging(merge_key="port", merge_strategies=("merge",), items=Merging())
CONTAINER = Merging({"ports": PORTS, "env": Merging(merge_key="name", merge_strategies=("merge",), items=Merging())})
POD = Merging(
    {
        "containers": Merging(merge_key="name", merge_strategies=("merge",), items=CONTAINER),
        "volumes": Merging(merge_key="name", merge_strategies=("merge", "retainKeys"), items=Merging()),
        "finalizers": Merging(merge_strategies=("merge",)),
        "strategy": Merging(merge_strategies=("retainKeys",)),
        "reference": Merging(merge_strategies=("replace",)),
    }
)
LIVE: dict[str, Any] = {
    "containers": [
        {"name": "a", "image": "1", "args": ["x"], "ports": [{"port": 80, "n": "h"}, {"port": 443}]},
        {"name": "b", "image": "1"},
    ],
    "finalizers": ["f1", "f2"],
    "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
    "labels": {"l1": "1", "l2": "2"},
    "tolerations": [{"key": "t1"}],
    "volumes": [{"name": "v"}],
}


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        pytest.param(
            {"containers": [{"name": "a", "image": "new"}, {"name": "z", "image": "z"}]},
            {
                "containers": [
                    {**LIVE["containers"][0], "image": "new"},
                    {"name": "z", "image": "z"},
                    {"name": "b", "image": "1"},
                ]
            },
            id="merges by key, order of the patch first",
        ),
        pytest.param(
            {"containers": [{"name": "b", "$patch": "delete"}]},
            {"containers": LIVE["containers"][:1]},
            id="deletes by key",
        ),
        pytest.param(
            {"containers": [{"$patch": "replace"}, {"name": "c"}]},
            {"containers": [{"name": "c"}]},
            id="replaces a keyed list",
        ),
        pytest.param(
            {
                "$setElementOrder/containers": [{"name": "b"}, {"name": "a"}],
                "containers": [{"name": "b", "image": "nb"}],
            },
            {"containers": [{"name": "b", "image": "nb"}, LIVE["containers"][0]]},
            id="orders",
        ),
        pytest.param(
            {"containers": [{"name": "a", "ports": [{"port": 80, "hostPort": 8}, {"port": 99}]}]},
            {
                "containers": [
                    {
                        **LIVE["containers"][0],
                        "ports": [{"port": 80, "n": "h", "hostPort": 8}, {"port": 99}, {"port": 443}],
                    },
                    LIVE["containers"][1],
                ]
            },
            id="merges nested lists",
        ),
        pytest.param(
            {"containers": [{"name": "a", "args": ["y"]}]},
            {"containers": [{**LIVE["containers"][0], "args": ["y"]}, LIVE["containers"][1]]},
            id="replaces lists without a key",
        ),
        pytest.param({"finalizers": ["f3", "f1"]}, {"finalizers": ["f3", "f1", "f2"]}, id="adds to a list of scalars"),
        pytest.param(
            {"$deleteFromPrimitiveList/finalizers": ["f1"]}, {"finalizers": ["f2"]}, id="deletes from a list of scalars"
        ),
        pytest.param(
            {"$setElementOrder/finalizers": ["f2", "f1", "f9"], "finalizers": ["f9"]},
            {"finalizers": ["f2", "f1", "f9"]},
            id="orders a list of scalars",
        ),
        pytest.param(
            {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}},
            {"strategy": {"type": "Recreate"}},
            id="retains keys",
        ),
        pytest.param(
            {"labels": {"$patch": "replace", "only": "this"}}, {"labels": {"only": "this"}}, id="replaces a map"
        ),
        pytest.param({"labels": {"$patch": "delete"}}, {"labels": {}}, id="empties a map"),
        pytest.param({"labels": {"l1": None}}, {"labels": {"l2": "2"}}, id="removes a key"),
        pytest.param({"tolerations": [{"key": "t2"}]}, {"tolerations": [{"key": "t2"}]}, id="replaces an atomic list"),
        pytest.param(
            {"new": {"a": None, "b": [{"$patch": "delete"}, 1]}}, {"new": {"b": [1]}}, id="cleans what is new"
        ),
        pytest.param(
            {"new": [{"$patch": None, "a": 1}, {"$patch": "nope"}]},
            {"new": [{"a": 1}]},
            id="takes null for no directive",
        ),
        pytest.param(
            {"containers": [{"name": "c", "ports": [{"port": 1, "$patch": "delete"}], "$retainKeys": ["name"]}]},
            {"containers": [{"name": "c", "ports": [{"port": 1}]}, *LIVE["containers"]]},
            id="directs nothing in an element that is new",
        ),
        pytest.param({"labels": "text"}, {"labels": "text"}, id="takes another type"),
    ],
)
def test_strategic_merge(patch: dict[str, Any], expected: dict[str, Any]) -> None:
    before = copy.deepcopy((LIVE, patch))
    assert strategic_merge.apply(LIVE, patch, POD) == {**LIVE, **expected}
    assert (LIVE, patch) == before


@pytest.mark.parametrize(
    ("patch", "message", "is_malformed"),
    [
        (
            {"containers": [{"image": "nokey"}]},
            "map: map[image:nokey] does not contain declared merge key: name",
            False,
        ),
        (
            {"containers": [{"name": "a", "$patch": "bogus"}]},
            "unknown patch type: bogus in map: map[$patch:bogus name:a]",
            False,
        ),
        (
            {"$setElementOrder/containers": [{"name": "b"}], "containers": [{"name": "zz", "image": "z"}]},
            "The order in patch list:\n[map[image:z name:zz]]\n doesn't match $setElementOrder list:\n[map[name:b]]\n",
            False,
        ),
        ({"strategy": {"$retainKeys": ["type"], "other": 1}}, "invalid patch format of retainKeys", True),
        (
            {"$setElementOrder/containers": {}},
            "expected a []interface {}, but received a map[string]interface {}",
            False,
        ),
        (
            {"volumes": ["a", {"name": "v"}], "$setElementOrder/finalizers": []},
            "list element types are not identical: [[map[name:v]] [a map[name:v]]]",
            False,
        ),
    ],
)
def test_bad_strategic_patches_are_refused_in_known_words(
    patch: dict[str, Any], message: str, is_malformed: bool
) -> None:
    with pytest.raises(StrategicMergeError) as raised:
        strategic_merge.apply(LIVE, patch, POD)
    assert (str(raised.value), raised.value.is_malformed) == (message, is_malformed)


words = st.sampled_from(["a", "b", "c", "d"])
scalars = st.sampled_from(["", "x", 0, 1, True, 2.5])
plain = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=3), max_leaves=6
)
objects = st.dictionaries(words, plain, max_size=4)


def keyed(key: str, fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    element = st.fixed_dictionaries({key: words}, optional=fields)
    return st.lists(element, max_size=3, unique_by=lambda item: str(item[key]))


pods = st.fixed_dictionaries(
    {},
    optional={
        "containers": keyed(
            "name", {"image": scalars, "args": st.lists(scalars, max_size=2), "env": keyed("name", {"value": scalars})}
        ),
        "volumes": keyed("name", {"emptyDir": objects, "hostPath": objects}),
        "finalizers": st.lists(words, max_size=3, unique=True),
        "strategy": objects,
        "reference": objects,
        "labels": objects,
    },
)


@given(objects, objects)
def test_merge_patch_made_from_two_objects_turns_one_into_the_other(
    original: dict[str, Any], modified: dict[str, Any]
) -> None:
    patch = merge_patch.create(original, modified)
    assert merge_patch.same_json(merge_patch.apply(original, patch), modified)
    assert not merge_patch.create(modified, modified)


@given(objects, objects)
def test_merge_patch_is_idempotent(document: dict[str, Any], patch: dict[str, Any]) -> None:
    once = merge_patch.apply(document, patch)
    assert merge_patch.apply(once, patch) == once


@given(pods, pods)
def test_strategic_patch_made_from_two_objects_turns_one_into_the_other(
    original: dict[str, Any], modified: dict[str, Any]
) -> None:
    patch = strategic_diff.create(original, modified, POD)
    assert merge_patch.same_json(strategic_merge.apply(original, patch, POD), modified)
    assert not strategic_diff.create(modified, modified, POD)


@given(pods, pods)
def test_strategic_merge_is_idempotent(document: dict[str, Any], patch: dict[str, Any]) -> None:
    once = strategic_merge.apply(document, patch, POD)
    assert strategic_merge.apply(once, patch, POD) == once


@given(pods, pods, pods)
def test_client_side_apply_reaches_the_wish_and_settles(
    original: dict[str, Any], modified: dict[str, Any], current: dict[str, Any]
) -> None:
    patch = strategic_diff.create_three_way(original, modified, current, POD)
    live = strategic_merge.apply(current, patch, POD)
    again = strategic_diff.create_three_way(modified, modified, live, POD)
    assert strategic_merge.apply(live, again, POD) == live
    for key in original.keys() - modified.keys():
        assert key not in live


def test_client_side_apply_leaves_the_additions_of_others_alone() -> None:
    original = {"containers": [{"name": "a", "image": "1"}, {"name": "gone"}], "labels": {"mine": "1", "old": "1"}}
    modified = {"containers": [{"name": "a", "image": "2"}], "labels": {"mine": "2"}}
    current = {
        "containers": [{"name": "a", "image": "1", "pull": "Always"}, {"name": "gone"}, {"name": "sidecar"}],
        "labels": {"mine": "1", "old": "1", "theirs": "1"},
    }
    patch = strategic_diff.create_three_way(original, modified, current, POD)
    assert patch == {
        "containers": [{"name": "a", "image": "2"}, {"$patch": "delete", "name": "gone"}],
        "$setElementOrder/containers": [{"name": "a"}],
        "labels": {"mine": "2", "old": None},
    }
    assert strategic_merge.apply(current, patch, POD) == {
        "containers": [{"name": "a", "image": "2", "pull": "Always"}, {"name": "sidecar"}],
        "labels": {"mine": "2", "theirs": "1"},
    }


def test_three_way_merge_patch_leaves_the_additions_of_others_alone() -> None:
    patch = merge_patch.create_three_way(
        {"a": {"x": 1}, "gone": 1}, {"a": {"x": 2}}, {"a": {"x": 1, "theirs": 1}, "gone": 1}
    )
    assert patch == {"gone": None, "a": {"x": 2}}
