"""Helpers of scripts, answers that scripts give, dependencies that make sense, and types of fields."""

from typing import Any

import pytest

from karmada.api.codec import from_tree
from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.interpreter.dependencies import InvalidDependency, checked, merged
from karmada.interpreter.lua import kube
from karmada.interpreter.lua.engine import Call, CallFailed, Engine
from karmada.interpreter.lua.protocol import ErrorClass, Result
from karmada.interpreter.model import InterpretError
from karmada.interpreter.types import fit, known

HELPERS = kube.helpers(with_priority=True)
POD = {
    "spec": {
        "priorityClassName": "high",
        "containers": [
            {"name": "a", "resources": {"requests": {"cpu": "1"}}, "envFrom": [{"configMapRef": {"name": "c"}}]}
        ],
    }
}


def on_nodes(required: dict[str, Any]) -> dict[str, Any]:
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return {"spec": {"nodeSelector": {"a": "b"}, "affinity": affinity}}


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("resourceAdd", [], "0"),
        ("resourceAdd", ["1", None, "500m"], "1500m"),
        ("getResourceQuantity", [None], 0),
        ("getResourceQuantity", ["1500m"], 1.5),
        ("getPodDependencies", [{}, "ns"], None),
        (
            "getPodDependencies",
            [POD, None],
            [{"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "c"}],
        ),
        (
            "getPodDependencies",
            [POD, "ns"],
            [{"apiVersion": "v1", "kind": "ConfigMap", "namespace": "ns", "name": "c"}],
        ),
        ("accuratePodRequirements", [POD], {"resourceRequest": {"cpu": "1"}, "priorityClassName": "high"}),
        ("accuratePodRequirements", [on_nodes({"unknown": 1})], {"nodeClaim": {"nodeSelector": {"a": "b"}}}),
        ("accuratePodRequirements", [on_nodes({"nodeSelectorTerms": []})], {"nodeClaim": {"nodeSelector": {"a": "b"}}}),
    ],
)
def test_helpers_of_scripts_answer(name: str, arguments: list[Any], result: Any) -> None:
    assert HELPERS[name](arguments) == result


@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        ("accuratePodRequirements", [], "getPodRequirements only accepts one argument"),
        ("accuratePodRequirements", [{}, {}], "getPodRequirements only accepts one argument"),
        ("accuratePodRequirements", ["x"], "bad argument #1 to accuratePodRequirements (table expected, got string)"),
        ("getPodDependencies", [{}], "getPodDependencies only accepts two argument"),
        ("getPodDependencies", [{}, "n", "m"], "getPodDependencies only accepts two argument"),
        ("getPodDependencies", [7, "n"], "bad argument #1 to getPodDependencies (table expected, got number)"),
        ("getPodDependencies", [{}, True], "bad argument #2 to getPodDependencies (string expected, got boolean)"),
        ("getPodDependencies", [{"spec": {"containers": 7}}, "n"], "containers"),
        ("getResourceQuantity", [], "getResourceQuantity only accepts one argument"),
        ("getResourceQuantity", ["1", "1"], "getResourceQuantity only accepts one argument"),
        ("getResourceQuantity", [1], "bad argument #1 to getResourceQuantity (string expected, got number)"),
        ("resourceAdd", ["1", {}], "bad argument #2 to resourceAdd (string expected, got table)"),
        ("resourceAdd", ["x"], "cannot parse 'x'"),
    ],
)
def test_helpers_of_scripts_say_what_they_do_not_understand(name: str, arguments: list[Any], why: str) -> None:
    with pytest.raises(kube.HelperError) as refused:
        HELPERS[name](arguments)
    assert why in str(refused.value)


def test_lua_names_its_types() -> None:
    values = (None, True, 1, 1.5, "x", {}, [])
    names = ["nil", "boolean", "number", "number", "string", "table", "table"]
    assert [kube.lua_type(value) for value in values] == names
    assert "priorityClassName" not in kube.helpers(with_priority=False)["accuratePodRequirements"]([POD])


# Answers of scripts.

ENGINE = Engine()


def answer(body: str, result: Result, *arguments: Any) -> Any:
    ENGINE.load("k", f"local kube = require('kube')\nfunction Ask(a, b) {body} end")
    return ENGINE.call("k", Call(["Ask"], list(arguments), len(arguments), result))


@pytest.mark.parametrize(
    ("body", "number"),
    [
        ("return 3", 3),
        ("return 3.9", 3),
        ("return -3.9", -3),
        ("return 2147483647.5", 2147483647),
        ("return 2147483648", -(2**31)),
        ("return -2147483648.5", -(2**31)),
        ("return -2147483649", -(2**31)),
        ("return 0/0", -(2**31)),
    ],
)
def test_replicas_are_whole_numbers_of_32_bits(body: str, number: int) -> None:
    assert answer(body, Result.REPLICAS) == [number, None]


@pytest.mark.parametrize(
    ("body", "result", "found"),
    [
        ("return 1, {a = 'b'}", Result.REPLICAS, [1, {"a": "b"}]),
        ("return true", Result.BOOLEAN, True),
        ("return {a = 1}", Result.TABLE, {"a": 1}),
        ("return nil", Result.TABLE_OR_NIL, None),
        ("return {1, 2}", Result.TABLE_OR_NIL, [1, 2]),
        ("return {sum = kube.resourceAdd('1', nil, '1')}", Result.TABLE, {"sum": "2"}),
    ],
)
def test_answers_have_the_type_that_is_asked_for(body: str, result: Result, found: Any) -> None:
    assert answer(body, result) == found


@pytest.mark.parametrize(
    ("body", "result", "wanted"),
    [
        ("return 'x'", Result.REPLICAS, "number, not string"),
        ("return 1, 'x'", Result.REPLICAS, "table, not string"),
        ("return 1", Result.BOOLEAN, "bool, not number"),
        ("return nil", Result.TABLE, "table, not nil"),
        ("return true", Result.TABLE_OR_NIL, "table, not boolean"),
    ],
)
def test_an_answer_of_another_type_is_refused(body: str, result: Result, wanted: str) -> None:
    with pytest.raises(CallFailed, match=f"has to return a {wanted}") as failed:
        answer(body, result)
    assert failed.value.error_class is ErrorClass.WRONG_RETURN_TYPE


@pytest.mark.parametrize(
    ("script", "error", "text"),
    [
        ("function Other() end", ErrorClass.FUNCTION_NOT_FOUND, "not found function Ask"),
        ("Ask = 7", ErrorClass.NOT_A_FUNCTION, "Ask is not a function: number"),
        ("function Ask() error('no') end", ErrorClass.RUNTIME, "no"),
        ("function Ask() return {[1] = 1, a = 2} end", ErrorClass.ENCODE, "encode lua result to json failed"),
        ("function Ask() return {[3] = 1} end", ErrorClass.ENCODE, "sparse array"),
        ("function Ask() return {a = 0/0} end", ErrorClass.ENCODE, "unsupported value"),
        ("function Ask() return {a = print} end", ErrorClass.ENCODE, "cannot encode function to JSON"),
        ("function Ask() local t = {} t.t = t return t end", ErrorClass.ENCODE, "refers to itself"),
    ],
)
def test_a_script_that_cannot_answer_fails_by_its_class(script: str, error: ErrorClass, text: str) -> None:
    ENGINE.load("k", script)
    with pytest.raises(CallFailed) as failed:
        ENGINE.call("k", Call(["Ask"], [], 0, Result.TABLE))
    assert failed.value.error_class is error
    assert text in str(failed.value)


def test_a_script_that_cannot_be_read_is_refused_when_it_is_loaded() -> None:
    with pytest.raises(CallFailed) as failed:
        ENGINE.load("k", "function Ask(")
    assert failed.value.error_class is ErrorClass.SYNTAX


def test_an_error_of_a_helper_reaches_the_script_as_text() -> None:
    body = "local ok, why = pcall(kube.resourceAdd, 'x') return {ok = ok, why = tostring(why)}"
    found = answer(body, Result.TABLE)
    assert found["ok"] is False
    assert "cannot parse 'x'" in found["why"]


# Dependencies.


def dependency(**fields: Any) -> DependentObjectReference:
    return from_tree({"apiVersion": "v1", "kind": "ConfigMap", **fields}, DependentObjectReference)


SELECTED = {"matchLabels": {"a": "b"}}


def test_a_dependency_says_its_kind_and_a_name_or_a_selector() -> None:
    good = [dependency(name="c"), dependency(labelSelector=SELECTED)]
    assert checked(good) is good


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (
            dependency(apiVersion="", name="c"),
            'dependencies[1].apiVersion: Invalid value: "": missing required apiVersion',
        ),
        (dependency(kind="", name="c"), 'dependencies[1].kind: Invalid value: "": missing required kind'),
        (dependency(), "dependency can not leave name and labelSelector all empty"),
        (dependency(labelSelector={"matchLabels": {"no key": "b"}}), "dependencies[1].labelSelector"),
    ],
)
def test_a_dependency_that_cannot_be_looked_up_is_named(bad: DependentObjectReference, why: str) -> None:
    with pytest.raises(InvalidDependency) as refused:
        checked([dependency(name="c"), bad])
    assert why in str(refused.value)


def test_dependencies_of_several_rules_are_put_together_in_order() -> None:
    one, two = dependency(name="a", namespace="n"), dependency(name="b", namespace="m")
    three, four = dependency(labelSelector=SELECTED, namespace="m"), dependency(kind="Secret", name="a", namespace="a")
    assert merged([[one, two], [four, three, one]]) == (three, two, one, four)


# Types.


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("field", "value", "fits"),
    [
        ("replicas", 3, True),
        ("replicas", None, True),
        ("replicas", True, False),
        ("replicas", "3", False),
        ("replicas", 1.5, False),
        ("paused", False, True),
        ("paused", 0, False),
        ("template", {"spec": {"containers": [{"name": "a", "ports": [{"containerPort": 80}]}]}}, True),
        ("template", {"spec": {"containers": {}}}, False),
        ("template", {"spec": {"containers": [{"name": 7}]}}, False),
        ("template", {"spec": {"containers": [{"resources": {"limits": {"cpu": "1"}}}]}}, True),
        ("template", {"spec": {"containers": [{"resources": {"limits": {"cpu": True}}}]}}, False),
        ("template", {"spec": {"containers": [{"resources": {"limits": {"cpu": "x"}}}]}}, False),
        ("template", {"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}}, True),
        ("template", {"metadata": {"creationTimestamp": "yesterday"}}, False),
        ("template", {"metadata": {"labels": {"a": 1}}}, False),
        ("strategy", {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}}, True),
        ("strategy", {"rollingUpdate": {"maxSurge": True}}, False),
        ("strategy", {"rollingUpdate": {"maxSurge": 2**31}}, False),
        ("strategy", [], False),
        ("noSuchField", object, True),
    ],
)
def test_a_tree_fits_the_type_of_its_kind(field: str, value: Any, fits: bool, exact: bool) -> None:
    tree = {"spec": {field: value}}
    if fits:
        fit(tree, "apps.Deployment", exact=exact)
    else:
        with pytest.raises(InterpretError, match=rf"apps\.Deployment\.spec\.{field}.* the type of the field"):
            fit(tree, "apps.Deployment", exact=exact)


@pytest.mark.parametrize("number", [2**31 - 1, -(2**31)])
def test_whole_numbers_are_in_range_where_it_counts(number: int) -> None:
    fit({"spec": {"replicas": number}}, "apps.Deployment", exact=True)
    beyond = {"spec": {"replicas": number + (1 if number > 0 else -1)}}
    fit(beyond, "apps.Deployment", exact=False)
    with pytest.raises(InterpretError):
        fit(beyond, "apps.Deployment", exact=True)
    fit({"spec": {"replicas": 3.0}}, "apps.Deployment", exact=False)


def test_fields_that_a_type_does_not_have_are_left_out_of_its_copy() -> None:
    tree = {"metadata": {"name": "a", "odd": 1, "labels": {"x": "y"}}, "spec": {"template": {"odd": 2}}, "odd": 3}
    kept = {"metadata": {"name": "a", "labels": {"x": "y"}}, "spec": {"template": {}}}
    assert known(tree, "apps.Deployment") == kept
    assert known([tree, 7], "*apps.Deployment") == [kept, 7]


@pytest.mark.parametrize(
    ("time", "fits"), [("2026-01-02T03:04:05Z", True), ("2026-01-02T03:04:05", False), ("2026-01-02", False)]
)
def test_a_time_says_its_zone(time: str, fits: bool) -> None:
    tree = {"metadata": {"creationTimestamp": time}}
    for exact in (True, False):
        if fits:
            fit(tree, "core.Pod", exact=exact)
        else:
            with pytest.raises(InterpretError, match="creationTimestamp"):
                fit(tree, "core.Pod", exact=exact)


def test_scripts_do_not_name_the_priority_class_unless_they_shall() -> None:
    engine = Engine()
    engine.load("k", 'function F(pod) return 1, require("kube").accuratePodRequirements(pod) end')
    _, needs = engine.call("k", Call(["F"], [POD], 0, Result.REPLICAS))
    assert "priorityClassName" not in needs


def test_what_is_empty_in_the_pod_of_a_script_stays() -> None:
    found = HELPERS["accuratePodRequirements"]([{"spec": {"tolerations": [{}]}}])
    assert found == {"nodeClaim": {"tolerations": [{}]}}
