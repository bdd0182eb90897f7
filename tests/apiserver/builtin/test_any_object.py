"""Whatever an object looks like, its kind's rules answer with errors, never with a crash; and twice is like once."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from karmada.apiserver.builtin import builtin_types
from karmada.apiserver.resources import ResourceType
from karmada.apiserver.schema.decoding import decode
from karmada.apiserver.schema.model import Schema
from karmada.apiserver.schema.scalars import Mismatch

TYPES = [t for t in builtin_types() if "update" in t.verbs]
TEXTS = st.sampled_from(
    ["", "a", "Bad_Name", "10.0.0.1", "10.0.0.0/8", "1Gi", "50%", "x.dev/y", "None", "*", "å\u0000"]
)
NUMBERS = st.sampled_from([-1, 0, 1, 80, 70000, 2**31 - 1])
DEPTH = 7


def values(schema: Schema, depth: int) -> st.SearchStrategy[Any]:
    """Values that mostly fit a schema."""
    if schema.name.endswith("Quantity"):
        return st.sampled_from(["1", "100m", "-1", "1Gi", 5, "0"])
    if schema.name.endswith(("Time", "MicroTime")):
        return st.sampled_from(["2020-01-01T00:00:00Z", None])
    if schema.int_or_string:
        return st.one_of(NUMBERS, TEXTS)
    if depth <= 0:
        return st.just({} if schema.properties is not None else None)
    if schema.properties is not None:
        return objects(schema, depth)
    if schema.additional is not None:
        return st.dictionaries(TEXTS, values(schema.additional, depth - 1), max_size=2)
    if schema.items is not None:
        return st.lists(values(schema.items, depth - 1), max_size=2)
    if schema.format == "byte":
        return st.sampled_from(["YQ==", ""])
    choices = schema.rules.get("enum")
    if schema.type == "string":
        return st.one_of(TEXTS, st.sampled_from(choices)) if choices else TEXTS
    if schema.type == "integer":
        return NUMBERS
    if schema.type == "boolean":
        return st.booleans()
    return st.sampled_from([None, {}, "text", [1]])


@st.composite
def objects(draw: st.DrawFn, schema: Schema, depth: int) -> dict[str, Any]:
    properties = schema.properties or {}
    names = draw(st.lists(st.sampled_from(sorted(properties)), max_size=6, unique=True)) if properties else []
    return {name: draw(values(properties[name], depth - 1)) for name in names}


def accept(type_: ResourceType, obj: dict[str, Any]) -> None:
    """What a request does to an object before it is judged."""
    decode(type_.schema, obj)
    type_.strategy.default(obj)


@pytest.mark.parametrize("type_", TYPES, ids=lambda t: f"{t.group or 'core'}-{t.version}-{t.kind}")
def test_rules_never_crash(type_: ResourceType) -> None:
    @settings(max_examples=10, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(objects(type_.schema, DEPTH), objects(type_.schema, DEPTH))
    def check(obj: dict[str, Any], other: dict[str, Any]) -> None:
        metadata = {"name": "n", **({"namespace": "ns"} if type_.namespaced else {})}
        obj["metadata"], other["metadata"] = {**metadata}, {**metadata}
        try:
            accept(type_, obj)
            accept(type_, other)
        except Mismatch:
            return
        again = deepcopy(obj)
        assert decode(type_.schema, again) == []
        assert again == obj
        type_.strategy.warnings(obj, None)
        new = deepcopy(obj)
        type_.strategy.prepare_create(new)
        type_.strategy.validate(new, None)
        type_.strategy.prepare_update(other, new)
        type_.strategy.validate(other, new)
        type_.strategy.validate_status(other, new)

    check()


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        pytest.param("Node", {"podCIDRs": [""]}, id="an empty network"),
        pytest.param(
            "ResourceClaim", {"devices": {"requests": [{"exactly": {"selectors": [{}]}}]}}, id="a selector of nothing"
        ),
    ],
)
def test_half_given_parts_are_judged(kind: str, spec: dict[str, Any]) -> None:
    type_ = next(one for one in TYPES if one.kind == kind)
    obj: dict[str, Any] = {"metadata": {"name": "n", "namespace": "ns"}, "spec": spec}
    old = deepcopy({**obj, "spec": {}})
    accept(type_, obj)
    accept(type_, old)
    again = deepcopy(obj)
    assert decode(type_.schema, again) == []
    assert again == obj
    assert type_.strategy.validate(obj, old)
