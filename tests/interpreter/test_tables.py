"""Trees through Lua and back: what a script does not change comes back as it was."""

import math
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karmada.interpreter.lua.engine import Call, CallFailed, Engine
from karmada.interpreter.lua.protocol import ErrorClass, Result

ENGINE = Engine()
IDENTITY = "function Same(obj) return obj end"
READ_ALL = """
local function read(value)
  if type(value) == "table" then for key, part in pairs(value) do read(part) end end
end
function Same(obj) read(obj) return obj end
"""

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
scalars = st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | texts
trees = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts.filter(bool), inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(texts.filter(bool), trees, min_size=1, max_size=4)


def same(script: str, tree: Any, references: int = 1) -> Any:
    ENGINE.load("k", script)
    return ENGINE.call("k", Call(["Same"], [tree], references, Result.TABLE))


@pytest.mark.parametrize("script", [IDENTITY, READ_ALL], ids=["untouched", "every part read"])
@given(tree=objects)
@settings(max_examples=60, deadline=None)
def test_what_a_script_does_not_change_comes_back(script: str, tree: dict[str, Any]) -> None:
    assert same(script, tree) == tree


def test_an_object_that_is_not_looked_at_is_not_even_copied() -> None:
    tree = {"spec": {"deep": {"a": [1, {"b": 2}]}}, "n": 1}
    found = same("function Same(obj) obj.n = 2 return obj end", tree)
    assert found == {"spec": {"deep": {"a": [1, {"b": 2}]}}, "n": 2}
    assert found["spec"] is tree["spec"]


def test_large_numbers_are_only_rounded_where_they_are_read() -> None:
    big = 2**53 + 1
    tree = {"read": {"n": big}, "kept": {"n": big}}
    found = same("function Same(obj) local x = obj.read.n return obj end", tree)
    assert found == {"read": {"n": 2**53}, "kept": {"n": big}}


EMPTY = {
    "stays what it was": ("obj.touch = 1", {"o": {}, "l": [], "touch": 1}),
    "is dropped when new": ("obj.new = {}", {"o": {}, "l": []}),
    "is dropped where something else was": ("obj.touch = {} obj.o = 1", {"o": 1, "l": []}),
    "is dropped when moved": ("obj.moved = { inner = obj.l } obj.touch = nil", {"o": {}, "l": [], "moved": {}}),
    "in a list is dropped": ("obj.list = { {}, 1, {} }", {"o": {}, "l": [], "list": [1]}),
}


@pytest.mark.parametrize(("change", "expected"), EMPTY.values(), ids=EMPTY)
def test_an_empty_table(change: str, expected: dict[str, Any]) -> None:
    assert same(f"function Same(obj) {change} return obj end", {"o": {}, "l": []}) == expected


UNENCODABLE = {
    "mixed keys": "return { 1, 2, x = 3 }",
    "holes": "return { [1] = 1, [3] = 3 }",
    "fractions as keys": "return { [1.5] = 1 }",
    "functions": "return { f = print }",
    "not a number": "return { n = 0 / 0 }",
    "infinity": "return { n = 1 / 0 }",
    "cycles": "local t = {} t.t = t return t",
    "bytes that are no text": "return { s = string.char(255) }",
}


@pytest.mark.parametrize("body", UNENCODABLE.values(), ids=UNENCODABLE)
def test_a_result_without_a_tree_is_refused(body: str) -> None:
    with pytest.raises(CallFailed) as failure:
        same(f"function Same(obj) {body} end", {"a": 1})
    assert failure.value.error_class is ErrorClass.ENCODE


@pytest.mark.parametrize(
    ("with_priority", "named"), [(True, "high"), (False, None)], ids=["estimated", "not estimated"]
)
def test_helper_names_the_priority_class_where_quotas_are_estimated(with_priority: bool, named: str | None) -> None:
    engine = Engine(with_priority=with_priority)
    engine.load("k", 'function F(pod) return 1, require("kube").accuratePodRequirements(pod) end')
    pod = {"spec": {"priorityClassName": "high", "nodeSelector": {"a": "b"}}}
    _, needs = engine.call("k", Call(["F"], [pod], 0, Result.REPLICAS))
    assert needs.get("priorityClassName") == named


def test_numbers_that_do_not_fit_become_what_the_reference_makes_of_them() -> None:
    ENGINE.load("n", "function F(n) return n end")
    answers = [ENGINE.call("n", Call(["F"], [n], 0, Result.REPLICAS))[0] for n in (2.9, -2.9, 2**31, 1e300)]
    assert answers == [2, -2, -(2**31), -(2**31)]
    assert math.isfinite(answers[0])


DIALECT = {
    "table.getn counts a list": ("table.getn({1, 2, 3})", 3),
    "math.mod takes the sign of the divisor": ("math.mod(-1, 3)", 2),
    "libraries can be required": ("require('math').floor(1.5)", 1),
    "format names what is no number": ("string.format('%d', true)", "%!d(lua.LBool=true)"),
    "format names what is missing": ("string.format('%d')", "%!d(MISSING)"),
    "format takes text for zero": ("string.format('%d', 'x')", "0"),
    "format keeps percent signs": ("string.format('%d%%', 5)", "5%"),
    "what is not a number has its name": ("tostring(0/0)", "NaN"),
    "what is no number stays the largest": ("tostring(math.max(0/0, 2))", "NaN"),
    "what is no number is not smaller": ("tostring(math.min(2, 0/0, '1'))", "1"),
    "what is too large has its name": ("tostring(-1/0)", "-Inf"),
    "a fraction has as many digits as it needs": ("tostring(2/3)", "0.6666666666666666"),
    "a long fraction has an exponent": ("tostring(7654321.5)", "7.6543215e+06"),
    "a short fraction has an exponent": ("tostring(0.000025)", "2.5e-05"),
    "whole numbers keep their digits as text": ("string.sub(4503599627370496, 1, 16)", "4503599627370496"),
    "joined numbers keep their digits": ("table.concat({4503599627370496, 0.5}, ' ', 1, 2)", "4503599627370496 0.5"),
}


@pytest.mark.parametrize(("expression", "found"), DIALECT.values(), ids=DIALECT.keys())
def test_the_dialect_of_the_reference(expression: str, found: Any) -> None:
    assert same(f"function Same(obj) return {{ found = {expression} }} end", {})["found"] == found


def test_a_date_without_pattern_has_to_be_asked_for_without_arguments() -> None:
    with pytest.raises(CallFailed) as failure:
        same("function Same(obj) return { found = os.date(nil, 0) } end", {})
    assert failure.value.error_class is ErrorClass.RUNTIME


def test_nulls_in_lists_leave_no_holes() -> None:
    script = "function Same(obj) table.insert(obj.list, 5) return { list = obj.list } end"
    assert same(script, {"list": [None, 1, None, 2]}) == {"list": [1, 2, 5]}


def test_a_list_of_nulls_beside_an_empty_list_is_an_empty_list() -> None:
    script = "function Same(obj) obj.n = #obj.list return obj end"
    assert same(script, {"list": [[1], [None], []]}) == {"list": [[1], [], []], "n": 3}


def test_empty_entries_of_a_list_that_was_moved_are_what_stood_in_their_place_or_go() -> None:
    tree = {"there": {"l": [{}, [], 7]}, "here": {"l": [{}, {}, {}, 5, {"a": 1}]}}
    ENGINE.load("k", "function Move(obj, other) obj.there = obj.here return obj end")
    for other in ({}, {"there": {"l": 7}}):
        found = ENGINE.call("k", Call(["Move"], [tree, other], 2, Result.TABLE))
        assert found["there"] == {"l": [{}, [], 5, {"a": 1}]}


@pytest.mark.parametrize("number", [2**53, -(2**53), 2**53 - 1, 0])
@pytest.mark.parametrize("script", [IDENTITY, READ_ALL], ids=["untouched", "read"])
def test_whole_numbers_that_are_exact_stay_whole(script: str, number: int) -> None:
    assert orjson.dumps(same(script, {"n": number, "inner": {"n": number}})["inner"]["n"]) == str(number).encode()


@pytest.mark.parametrize(("depth", "fits"), [(199, True), (200, False)])
def test_a_result_has_two_hundred_levels_at_most(depth: int, fits: bool) -> None:
    script = (
        f"function Same(obj) local t = {{ n = 1 }} for i = 2, {depth} do t = {{ t = t }} end return {{ t = t }} end"
    )
    if fits:
        found: Any = same(script, {})
        for _ in range(depth):
            found = found["t"]
        assert found == {"n": 1}
        return
    with pytest.raises(CallFailed, match="too large, too deep or refers to itself"):
        same(script, {})
