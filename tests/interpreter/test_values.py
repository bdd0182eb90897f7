"""Reading what nobody has checked: numbers, texts, lists and sections of resources, in exact values."""

import math
from typing import Any

import pytest
from tests.interpreter.test_bundled import CLONE_SET, aggregated, bundled
from tests.interpreter.test_webhook import WIDGET, configuration, level

from karmada.api.config.v1alpha1 import ServiceReference
from karmada.interpreter.lua.engine import MEMORY, Call, CallFailed, Engine
from karmada.interpreter.lua.pool import Limits
from karmada.interpreter.lua.protocol import LARGEST_ANSWER, Result
from karmada.interpreter.model import InterpretError
from karmada.interpreter.thirdparty import values
from karmada.interpreter.types import fit, known
from karmada.interpreter.webhook import Endpoint, WebhookLevel, by_name, hooks_of

LEAST, MOST, EXACT = -(2**31), 2**31 - 1, 2**53
FAILS = object()


def answer(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except InterpretError:
        return FAILS


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (values.number, (EXACT,), EXACT),
        (values.number, (-EXACT,), -EXACT),
        (values.number, (EXACT + 1,), float(EXACT)),
        (values.number, (-EXACT - 1,), -float(EXACT)),
        (values.number, (" 0x10\n",), 16),
        (values.number, ("1e3",), 1000.0),
        (values.number, ("x",), FAILS),
        (values.number, (True,), FAILS),
        (values.number, (None,), FAILS),
        (values.whole, (MOST,), MOST),
        (values.whole, (LEAST,), LEAST),
        (values.whole, (MOST + 1,), FAILS),
        (values.whole, (LEAST - 1,), FAILS),
        (values.whole, (3.0,), 3),
        (values.whole, (1.5,), FAILS),
        (values.whole, (True,), FAILS),
        (values.whole, ("3",), FAILS),
        (values.truncated, (2.9,), 2),
        (values.truncated, (MOST + 0.5,), MOST),
        (values.truncated, (MOST + 1,), LEAST),
        (values.truncated, (LEAST - 0.5,), LEAST),
        (values.truncated, (LEAST - 1,), LEAST),
        (values.truncated, (math.inf,), LEAST),
        (values.truncated, (False,), FAILS),
        (values.truncated, ("3",), FAILS),
        (values.parsed, ("1.5",), 1.5),
        (values.parsed, (" 0X1F ",), 31),
        (values.parsed, ("12",), 12),
        (values.parsed, ("0x",), None),
        (values.parsed, ("x",), None),
        (values.parsed, (2.5,), 2.5),
        (values.parsed, (True,), None),
        (values.parsed, (None,), None),
        (values.text, ("a",), "a"),
        (values.text, (3.0,), "3"),
        (values.text, (2.5,), "2.5"),
        (values.text, (True,), FAILS),
        (values.same, (1, True), False),
        (values.same, (0, False), False),
        (values.same, (1, 1.0), True),
        (values.same, (1, 2), False),
        (values.before, ("a", "b"), True),
        (values.before, ("b", "a"), False),
        (values.before, ("a", "a"), False),
        (values.before, (1, 2), True),
        (values.before, (2, 2), False),
        (values.before, ("1", 2), FAILS),
        (values.before, (1, "2"), FAILS),
        (values.entries, ([1],), [1]),
        (values.entries, (None,), []),
        (values.entries, ({"a": 1},), []),
        (values.entries, ("",), []),
        (values.entries, ("x",), FAILS),
        (values.entries, (5,), FAILS),
        (values.fields, ({"a": 1},), {"a": 1}),
        (values.fields, (["x", "y"],), {1: "x", 2: "y"}),
        (values.fields, (None,), {}),
        (values.given, (None, 7), 7),
        (values.given, (False, 7), 7),
        (values.given, (0, 7), 0),
        (values.given, ("", 7), ""),
        (values.get, ({"a": {"b": 1}}, "a", "b"), 1),
        (values.get, ({"a": [1]}, "a", "b"), None),
        (values.get, ({"a": "x"}, "a", "b"), None),
        (values.get, ({}, "a"), None),
        (values.get, ({}, "a", "b"), FAILS),
        (values.get, ({"a": 5}, "a", "b"), FAILS),
        (values.find, ({}, "a", "b"), None),
        (values.find, ({"a": 5}, "a", "b"), FAILS),
        (values.find, (None, "a"), None),
        (values.plain, ({"a": None, "b": [None, {"c": None}], "d": 0},), {"b": [{}], "d": 0}),
        (values.union, ([{"a": 1, "b": 1}, None, {"b": 2}, ["x"]],), {"a": 1, "b": 2, 1: "x"}),
    ],
)
def test_values_are_read_in_the_references_way(function: Any, arguments: tuple[Any, ...], expected: Any) -> None:
    found = answer(function, *arguments)
    assert (found, type(found)) == (expected, type(expected))


def test_what_cannot_be_read_is_named_with_its_place() -> None:
    with pytest.raises(InterpretError, match=r"cannot read a\.b\.c: a\.b is 5, not an object"):
        values.get({"a": {"b": 5}}, "a", "b", "c")
    with pytest.raises(InterpretError, match="cannot read a: the value is 5, not an object"):
        values.get(5, "a")


@pytest.mark.parametrize(
    ("number", "wrong"),
    [
        (2**63 - 1, "name"),
        (2**63, "generation"),
        (-(2**63), "name"),
        (-(2**63) - 1, "generation"),
        (True, "generation"),
    ],
)
def test_of_several_fields_that_do_not_fit_the_first_is_named(number: int, wrong: str) -> None:
    tree = {"metadata": {"generation": number, "name": 7}}
    with pytest.raises(InterpretError, match=rf"^apps\.Deployment\.metadata\.{wrong} is"):
        fit(tree, "apps.Deployment", exact=True)


@pytest.mark.parametrize(
    ("tree", "fits"),
    [
        ({"spec": {"template": {"spec": {"containers": [None, {"name": "a"}]}}}}, True),
        ({"metadata": {"labels": {"a": None}}}, True),
        ({"metadata": {"labels": ["a"]}}, False),
        ({"metadata": {"finalizers": {"a": "b"}}}, False),
        ({"metadata": {"finalizers": "a"}}, False),
        ({"metadata": {"ownerReferences": [{"name": "a", "odd": 1}, {"name": 5}]}}, False),
        ({"metadata": {"creationTimestamp": 5}}, False),
        ({"metadata": {"creationTimestamp": "2026-01-01T00:00:00"}}, False),
        ({"metadata": "text"}, False),
        ([], False),
    ],
)
@pytest.mark.parametrize("exact", [True, False])
def test_lists_and_objects_fit_where_a_type_has_them(tree: Any, fits: bool, exact: bool) -> None:
    assert (answer(lambda: fit(tree, "apps.Deployment", exact=exact)) is not FAILS) is fits


def test_a_copy_has_the_fields_of_lists_and_objects_too() -> None:
    template = {"spec": {"containers": [{"name": "a", "odd": 1}, None], "nodeSelector": {"b": "c"}}}
    tree = {"spec": {"template": template}, "metadata": {"ownerReferences": {"odd": 1}, "labels": [7]}}
    assert known(tree, "apps.Deployment") == {
        "spec": {"template": {"spec": {"containers": [{"name": "a"}, None], "nodeSelector": {"b": "c"}}}},
        "metadata": {"ownerReferences": {"odd": 1}, "labels": [7]},
    }


@pytest.mark.parametrize(
    ("durations", "longest"),
    [
        (("1h", "59m59s"), "1h"),
        (("59m60.5s", "1h"), "59m60.5s"),
        (("59m", "3541s"), "3541s"),
        (("60m", "3601s"), "3601s"),
        (("2s", "1999ms"), "2s"),
        (("1s", "1000001us"), "1000001us"),
        (("90", "1m"), "90"),
        ((90, "1m"), 90),
        (("0s", "x"), None),
    ],
)
async def test_the_longest_duration_of_a_volcano_job_counts(durations: tuple[Any, Any], longest: Any) -> None:
    for members in (durations, durations[::-1]):
        reports = [{"runningDuration": one, "running": 1} for one in members]
        assert (await aggregated("batch.volcano.sh/v1alpha1/Job", *reports)).get("runningDuration") == longest


async def test_tasks_of_a_volcano_job_without_a_name_are_numbered() -> None:
    spec = {"tasks": [{"name": "a", "template": {}}, {"template": {}}, {"minAvailable": 3, "template": {}}]}
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec}
    parts = await bundled().components(job)
    assert [(part.name, part.replicas) for part in parts] == [("a", 1), ("task-1", 1), ("task-2", 3)]


# Scripts and webhooks.


def test_an_answer_has_two_hundred_levels_at_most() -> None:
    engine = Engine()
    engine.load("k", "function F(n) local t = {b = 1} for i = 2, n do t = {a = t} end return t end")
    for levels in (199, 200):
        assert str(engine.call("k", Call(["F"], [levels], 0, Result.TABLE))).count("{") == levels
    with pytest.raises(CallFailed, match="too deep"):
        engine.call("k", Call(["F"], [201], 0, Result.TABLE))


def test_scripts_have_limits() -> None:
    assert (MEMORY, LARGEST_ANSWER) == (64 << 20, 4 << 20)
    assert Limits() == Limits(workers=2, call_seconds=1.0, start_seconds=20.0, scripts=256, stop_seconds=5.0)


@pytest.mark.looptime
async def test_a_webhook_that_does_not_say_how_long_has_ten_seconds() -> None:
    async def post(endpoint: Endpoint, body: bytes) -> bytes:
        raise TimeoutError

    with pytest.raises(InterpretError, match="within 10s"):
        await WebhookLevel(post, hooks_of([configuration()])).healthy(WIDGET)


async def test_a_service_that_names_no_port_is_reached_at_that_of_https() -> None:
    assert await by_name(ServiceReference(name="hook", namespace="system")) == "hook.system.svc:443"


async def test_a_resource_without_a_name_is_asked_about_too() -> None:
    hooks, server = level({"healthy": True})
    await hooks.healthy({**WIDGET, "metadata": None})
    request = server.requests[0][1]["request"]
    assert (request["name"], request.get("namespace", "")) == ("", "")


async def test_a_whole_number_with_a_point_is_a_whole_number() -> None:
    template = {"spec": {"containers": [{"ports": [{"containerPort": 80.0}], "resources": {"requests": {"cpu": 2.0}}}]}}
    needs = await bundled().replicas({**CLONE_SET, "spec": {"replicas": 2, "template": template}})
    assert needs.requirements is not None
    assert needs.requirements.resource_request == {"cpu": "2"}
