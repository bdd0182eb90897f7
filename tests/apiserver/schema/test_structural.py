"""Custom objects: pruned, defaulted and validated by their structural schema."""

from copy import deepcopy
from typing import Any

import pytest

from karmada.apiserver.crds.types import custom_schema
from karmada.apiserver.schema.defaulting import filler
from karmada.apiserver.schema.openapi import from_openapi, no_references, to_openapi
from karmada.apiserver.schema.pruning import fits, pruner
from karmada.apiserver.schema.validation import validate

STRING = {"type": "string"}


def node(**keywords: Any) -> Any:
    return from_openapi(keywords, no_references)


def test_pruning_keeps_what_the_schema_declares() -> None:
    schema = custom_schema(
        {
            "type": "object",
            "properties": {
                "spec": {
                    "type": "object",
                    "properties": {
                        "a": STRING,
                        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        "map": {
                            "type": "object",
                            "additionalProperties": {"type": "object", "properties": {"k": STRING}},
                        },
                        "list": {"type": "array", "items": {"type": "object", "properties": {"k": STRING}}},
                        "empty": {"type": "object"},
                    },
                }
            },
        }
    )
    obj: dict[str, Any] = {
        "apiVersion": "x/v1",
        "kind": "X",
        "metadata": {"name": "n", "bogus": 1},
        "spec": {
            "a": "1",
            "b": 2,
            "free": {"any": {"thing": 1}},
            "map": {"m": {"k": "1", "z": 1}},
            "list": [{"k": "1"}, {"z": 1}],
            "empty": {"gone": 1},
        },
        "top": 1,
    }
    removed = pruner(schema)(obj)
    assert removed == ["metadata.bogus", "spec.b", "spec.map.m.z", "spec.list[1].z", "spec.empty.gone", "top"]
    assert obj["spec"] == {
        "a": "1",
        "free": {"any": {"thing": 1}},
        "map": {"m": {"k": "1"}},
        "list": [{"k": "1"}, {}],
        "empty": {},
    }


@pytest.mark.parametrize(
    ("given", "unknown"),
    [
        ({"s": {"y": 1}}, ["s.y"]),
        ({"s": {"y": None}}, ["s.y"]),
        ({"i": {"y": 1}}, ["i.y"]),
        ({"s": [{"y": 1}, 5, {"z": 1}]}, ["s[0].y", "s[2].z"]),
        ({"l": {"y": 1}}, ["l.y"]),
        ({"l": [{"y": 1}]}, ["l[0].y"]),
        ({"m": {"k": {"y": 1}}}, ["m.k.y"]),
        ({"m": [{"y": 1}]}, ["m[0].y"]),
        ({"o": [{"s": "x"}]}, ["o[0].s"]),
        ({"free": [{"y": 1}]}, None),
        ({"s": {}, "l": {}, "m": [], "o": 5}, None),
    ],
)
def test_fields_below_a_value_of_the_wrong_type_are_unknown(given: dict[str, Any], unknown: list[str] | None) -> None:
    schema = node(
        type="object",
        properties={
            "s": STRING,
            "i": {"x-kubernetes-int-or-string": True},
            "l": {"type": "array", "items": STRING},
            "m": {"type": "object", "additionalProperties": STRING},
            "o": {"type": "object", "properties": {"s": STRING}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    )
    fitting = fits(schema)(given)
    assert pruner(schema)(given) == unknown
    assert unknown is None or not fitting


def test_embedded_objects_have_metadata() -> None:
    schema = custom_schema(
        {
            "type": "object",
            "properties": {
                "template": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                }
            },
        }
    )
    obj = {
        "template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b"}}, "spec": {"x": 1}, "y": 1}
    }
    assert pruner(schema)(obj) == ["template.y"]
    assert obj["template"]["metadata"] == {"labels": {"a": "b"}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({}, {"spec": {"a": "whole", "o": {"x": True}}}, id="default-of-the-whole-then-of-parts"),
        pytest.param({"spec": {}}, {"spec": {"a": "A", "o": {"x": True}}}, id="defaults-of-parts"),
        pytest.param(
            {"spec": {"a": None, "n": None, "l": [{}]}},
            {"spec": {"a": "A", "n": None, "l": [{"q": 1}], "o": {"x": True}}},
            id="null-is-replaced-unless-nullable",
        ),
    ],
)
def test_defaults(given: dict[str, Any], expected: dict[str, Any]) -> None:
    schema = node(
        type="object",
        properties={
            "spec": {
                "type": "object",
                "default": {"a": "whole"},
                "properties": {
                    "a": {"type": "string", "default": "A"},
                    "n": {"type": "string", "nullable": True},
                    "o": {"type": "object", "default": {}, "properties": {"x": {"type": "boolean", "default": True}}},
                    "l": {
                        "type": "array",
                        "items": {"type": "object", "properties": {"q": {"type": "integer", "default": 1}}},
                    },
                },
            }
        },
    )
    fill = filler(schema)
    assert fill is not None
    fill(given)
    assert given == expected
    again = deepcopy(given)
    fill(again)
    assert again == given


@pytest.mark.parametrize(
    ("keywords", "value", "reason", "message"),
    [
        pytest.param(
            STRING, 5, "TypeInvalid", 'Invalid value: "integer": f in body must be of type string: "integer"', id="type"
        ),
        pytest.param(
            {"type": "integer", "maximum": 3},
            4,
            "Invalid",
            "Invalid value: 4: f in body should be less than or equal to 3",
            id="maximum",
        ),
        pytest.param(
            {"type": "number", "minimum": 1.5, "exclusiveMinimum": True},
            1.5,
            "Invalid",
            "Invalid value: 1.5: f in body should be greater than 1.5",
            id="exclusive-minimum",
        ),
        pytest.param(
            {"type": "string", "maxLength": 2},
            "abc",
            "TooLong",
            "Too long: may not be more than 2 bytes",
            id="too-long",
        ),
        pytest.param(
            {"type": "string", "minLength": 2},
            "a",
            "Invalid",
            'Invalid value: "a": f in body should be at least 2 chars long',
            id="too-short",
        ),
        pytest.param(
            {"type": "string", "pattern": "^a$"},
            "b",
            "Invalid",
            "Invalid value: \"b\": f in body should match '^a$'",
            id="pattern",
        ),
        pytest.param(
            {"type": "string", "enum": ["x", "y"]},
            "z",
            "NotSupported",
            'Unsupported value: "z": supported values: "x", "y"',
            id="enum",
        ),
        pytest.param({"type": "object", "required": ["k"]}, {}, "Required", "Required value", id="required"),
        pytest.param(
            {"type": "array", "items": STRING, "minItems": 2},
            ["a"],
            "Invalid",
            "Invalid value: 1: f in body should have at least 2 items",
            id="too-few",
        ),
        pytest.param(
            {"type": "array", "items": STRING, "maxItems": 1},
            ["a", "b"],
            "TooMany",
            "Too many: 2: must have at most 1 item",
            id="too-many",
        ),
        pytest.param(
            {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
            ["a", "a"],
            "Duplicate",
            'Duplicate value: "a"',
            id="set",
        ),
        pytest.param(
            {"type": "string", "nullable": False},
            None,
            "TypeInvalid",
            'Invalid value: "null": f in body must be of type string: "null"',
            id="null",
        ),
        pytest.param(
            {"type": "string", "format": "date-time"},
            "soon",
            "TypeInvalid",
            'Invalid value: "soon": f in body must be of type date-time: "soon"',
            id="format",
        ),
        pytest.param(
            {"type": "string", "format": "date-time"},
            1.5,
            "TypeInvalid",
            'Invalid value: "float64": f in body must be of type date-time: "float64"',
            id="no text where a format is",
        ),
        pytest.param(
            {"x-kubernetes-int-or-string": True},
            1.5,
            "TypeInvalid",
            'Invalid value: "number": f in body must be of type integer,string: "number"',
            id="neither number nor text",
        ),
        pytest.param(
            {"type": "string", "format": "int-or-string"},
            5,
            "TypeInvalid",
            'Invalid value: "integer": f in body must be of type string: "integer"',
            id="the format alone says nothing",
        ),
    ],
)
def test_complaints(keywords: dict[str, Any], value: Any, reason: str, message: str) -> None:
    errors = validate(node(type="object", properties={"f": keywords}), {"f": value})
    assert [(error.reason, error.message) for error in errors] == [(f"FieldValue{reason}", message)]


def test_unchanged_values_are_not_complained_about() -> None:
    schema = node(type="object", properties={"a": {"type": "string", "maxLength": 1}, "b": STRING})
    assert validate(schema, {"a": "long", "b": "2"}, {"a": "long", "b": "1"}) == []
    assert validate(schema, {"a": "longer", "b": "2"}, {"a": "long", "b": "1"}) != []


def test_items_of_keyed_lists_are_compared_by_key() -> None:
    item = {"type": "object", "required": ["k"], "properties": {"k": STRING, "v": {"type": "integer", "maximum": 1}}}
    schema = node(
        **{"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    )
    old = [{"k": "a", "v": 9}, {"k": "b", "v": 1}]
    assert validate(schema, [{"k": "b", "v": 0}, {"k": "a", "v": 9}], old) == []
    assert [e.field for e in validate(schema, [{"k": "b", "v": 7}, {"k": "a", "v": 9}], old)] == ["[0].v"]
    double = validate(schema, [{"k": "a"}, {"k": "a"}], [])
    assert [(e.field, e.message) for e in double] == [("[1]", 'Duplicate value: {"k":"a"}')]


def test_alternatives() -> None:
    schema = node(
        type="object", properties={"a": STRING, "b": STRING}, oneOf=[{"required": ["a"]}, {"required": ["b"]}]
    )
    assert validate(schema, {"a": "1"}) == []
    both = validate(schema, {"a": "1", "b": "2"})
    assert both[0].message.endswith("must validate one and only one schema (oneOf). Found 2 valid alternatives")


def test_trees_turn_back_into_openapi() -> None:
    source = {
        "type": "object",
        "required": ["a"],
        "properties": {
            "a": {"type": "string", "default": "x", "pattern": "x", "nullable": True},
            "l": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
            "m": {"type": "object", "additionalProperties": {"type": "integer", "format": "int32"}},
        },
    }
    assert to_openapi(from_openapi(source, no_references)) == source


@pytest.mark.parametrize(
    ("factor", "multiples", "others"),
    [
        (0.1, (0, 1, 0.3, 0.7, 1.1, 3.0, -1.5), (0.05, 2.675, 1e-9)),
        (3, (6, 6.0, -9, 999_999_999_999_999), (1, 1.5, 1_000_000_007, 1_000_000_000_000_000)),
    ],
)
def test_multiples_of_a_fraction_may_be_rounded(factor: float, multiples: Any, others: Any) -> None:
    schema = node(type="number", multipleOf=factor)
    assert [number for number in multiples if validate(schema, number)] == []
    assert [number for number in others if not validate(schema, number)] == []


@pytest.mark.parametrize("factor", [0, -2])
def test_a_factor_that_is_not_positive_fits_no_number(factor: int) -> None:
    schema = node(type="object", properties={"n": {"type": "integer", "multipleOf": factor}})
    [error] = validate(schema, {"n": 4})
    assert error.message.endswith(f"factor MultipleOf declared for n must be positive: {factor}")
