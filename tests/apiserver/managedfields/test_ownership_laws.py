"""Laws of ownership and apply that hold for any configuration."""

import copy
from typing import Any

import orjson
from hypothesis import assume, given
from hypothesis import strategies as st

from karmada.apiserver.managedfields import apply, track_update
from karmada.apiserver.managedfields.entries import MAX_UPDATE_MANAGERS
from karmada.apiserver.managedfields.fieldset import (
    Fields,
    difference,
    intersection,
    ordered,
    parse,
    paths,
    union,
    union_all,
)
from karmada.apiserver.managedfields.owned import owned_by
from karmada.apiserver.schema.model import Schema

SCALAR = Schema(type="string")
ITEM = Schema(type="object", properties={"name": SCALAR, "image": SCALAR, "args": Schema(type="array", items=SCALAR)})
SPEC = Schema(
    type="object",
    properties={
        "paused": Schema(type="boolean"),
        "labels": Schema(type="object", additional=SCALAR),
        "tags": Schema(type="array", items=SCALAR, list_type="set"),
        "parts": Schema(type="array", items=ITEM, list_type="map", list_keys=("name",)),
        "whole": Schema(type="object", map_type="atomic", additional=SCALAR),
        "free": Schema(type="object", preserve_unknown=True),
    },
)
SCHEMA = Schema(type="object", properties={"spec": SPEC})

names = st.sampled_from("abcde")
values = st.sampled_from(["1", "2", "3"])
parts = st.lists(
    st.fixed_dictionaries({"name": names}, optional={"image": values, "args": st.lists(values, max_size=2)}),
    min_size=1,
    max_size=3,
    unique_by=lambda part: part["name"],
)
specs = st.fixed_dictionaries(
    {},
    optional={
        "paused": st.booleans(),
        "labels": st.dictionaries(names, values, max_size=3),
        "tags": st.lists(values, unique=True, min_size=1),
        "parts": parts,
        "whole": st.dictionaries(names, values, max_size=2),
        "free": st.dictionaries(names, st.dictionaries(names, values, max_size=2), max_size=2),
    },
)
trees: st.SearchStrategy[Fields] = st.recursive(
    st.just({}),
    lambda inner: st.dictionaries(st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}', 'v:"y"', "i:0", "."]), inner),
    max_leaves=12,
).map(lambda tree: {element: below for element, below in tree.items() if element != "."})


def configuration(spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "example.dev/v1", "kind": "Part", "metadata": {"name": "p", "uid": "u"}, "spec": spec}


def applied(live: Any, spec: dict[str, Any], manager: str, now: str = "t1", force: bool = False) -> dict[str, Any]:
    return apply(live, configuration(spec), SCHEMA, manager, force, "example.dev/v1", "", now)


def owner(obj: dict[str, Any], manager: str) -> Fields:
    entries = obj["metadata"].get("managedFields", [])
    found: list[Fields] = [entry["fieldsV1"] for entry in entries if entry["manager"] == manager]
    return found[0] if found else {}


def members(fields: Fields) -> set[str]:
    return set(paths(fields))


@given(specs)
def test_applying_the_same_configuration_twice_changes_nothing(spec: dict[str, Any]) -> None:
    once = applied(None, spec, "m", now="t1")
    assume(owner(once, "m"))
    assert applied(once, spec, "m", now="t2") == once


@given(specs, specs)
def test_after_apply_a_manager_owns_exactly_its_configuration(first: dict[str, Any], second: dict[str, Any]) -> None:
    live = applied(applied(None, first, "other"), second, "m", force=True)
    assert owner(live, "m") == owned_by(configuration(second), SCHEMA)


@given(specs, specs)
def test_a_sole_applier_replaces_its_configuration(first: dict[str, Any], second: dict[str, Any]) -> None:
    live = applied(applied(None, first, "m"), second, "m")
    bare = applied(None, second, "m")
    assert owned_by(live, SCHEMA) == owned_by(bare, SCHEMA)


@given(st.dictionaries(names, values), st.dictionaries(names.map(str.upper), values))
def test_managers_of_disjoint_fields_never_conflict(mine: dict[str, str], theirs: dict[str, str]) -> None:
    live = applied(None, {"labels": {"x": "0", **mine}}, "m")
    live = applied(live, {"labels": {"y": "0", **theirs}}, "n")
    assert live["spec"]["labels"] == {"x": "0", "y": "0", **mine, **theirs}
    again = applied(live, {"labels": {"x": "0"}}, "m")
    assert again["spec"]["labels"] == {"x": "0", "y": "0", **theirs}


@given(specs, specs)
def test_an_update_owns_what_it_changed_and_takes_it_from_others(first: dict[str, Any], second: dict[str, Any]) -> None:
    live = applied(None, first, "m")
    new = configuration(copy.deepcopy(second))
    track_update(live, new, SCHEMA, "u", "example.dev/v1", "", "t2")
    mine, theirs = owner(new, "m"), owner(new, "u")
    assert not intersection(mine, theirs)
    assert members(mine) <= members(owned_by(configuration(first), SCHEMA))
    if first == second:
        assert not theirs


@given(specs, specs, st.sampled_from(["m", "u"]))
def test_what_is_owned_is_written_in_order(first: dict[str, Any], second: dict[str, Any], manager: str) -> None:
    live = configuration(copy.deepcopy(first))
    live["metadata"] |= {"labels": {"b": "1", "a": "1"}, "annotations": {"a": "1"}}
    track_update(None, live, SCHEMA, "m", "example.dev/v1", "", "t1")
    new = configuration(copy.deepcopy(second))
    track_update(live, new, SCHEMA, manager, "example.dev/v1", "", "t2")
    for entry in (*live["metadata"]["managedFields"], *new["metadata"].get("managedFields", ())):
        assert orjson.dumps(entry["fieldsV1"]) == orjson.dumps(ordered(entry["fieldsV1"]))


@given(trees)
def test_sets_survive_the_wire(tree: Fields) -> None:
    assert members(parse(ordered(tree)) or {}) == members(tree)


@given(trees, trees)
def test_set_algebra_matches_sets_of_paths(left: Fields, right: Fields) -> None:
    ours, theirs = members(left), members(right)
    assert members(union(left, right)) == ours | theirs
    assert members(difference(left, right)) == ours - theirs
    assert members(intersection(left, right)) == ours & theirs


def test_the_oldest_updates_are_merged_once_there_are_too_many() -> None:
    live: dict[str, Any] = {"metadata": {"uid": "u"}, "spec": {"labels": {}}}
    for number in range(12):
        spec = {"labels": {**live["spec"]["labels"], f"l{number:02}": "1"}}
        new = {"metadata": {"uid": "u"}, "spec": spec}
        track_update(live if number else None, new, SCHEMA, f"m{number:02}", "v1", "", f"t{number:02}")
        live = new
    managers = [entry["manager"] for entry in live["metadata"]["managedFields"]]
    assert len(managers) == MAX_UPDATE_MANAGERS
    assert managers[0] == "ancient-changes"
    oldest = {".spec", ".spec.labels", ".spec.labels.l00", ".spec.labels.l01", ".spec.labels.l02"}
    assert members(owner(live, "ancient-changes")) == oldest


@given(st.lists(trees, max_size=5))
def test_the_union_of_all_is_the_union_one_by_one(sets: list[Fields]) -> None:
    one_by_one: Fields = {}
    for fields in sets:
        one_by_one = union(one_by_one, fields)
    assert members(union_all(sets)) == members(one_by_one)
    assert orjson.dumps(union_all(sets)) == orjson.dumps(ordered(union_all(sets)))
