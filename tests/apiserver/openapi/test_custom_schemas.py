"""Schemas of custom kinds in OpenAPI documents: what version 2 and kubectl cannot cope with is left out."""

from typing import Any

import pytest

from karmada.apiserver.openapi.custom import object_schema, simplified
from karmada.apiserver.resources import ResourceType
from karmada.apiserver.schema.model import Schema

OPEN = {"x-kubernetes-preserve-unknown-fields": True}
EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True}
THING = ResourceType("example.dev", "v1", "things", "Thing", True, Schema())


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "object", "properties": {"a": {"type": "string"}}, **OPEN}, OPEN),
        ({"type": "array", "items": {"type": "string"}, **OPEN}, OPEN),
        ({"type": "string", "nullable": True, "maxLength": 3}, {"maxLength": 3}),
        ({"type": "array"}, {}),
        ({"type": "string", "anyOf": [{"minLength": 1}]}, {"type": "string"}),
        (
            {
                "type": "object",
                "required": ["a", "b"],
                "properties": {"a": {"type": "string", "nullable": True}, "b": {"type": "string"}},
            },
            {"type": "object", "required": ["b"], "properties": {"a": {}, "b": {"type": "string"}}},
        ),
        ({"type": "object", "additionalProperties": {"type": "array"}}, {"type": "object", "additionalProperties": {}}),
    ],
    ids=["open object", "open array", "nullable", "array of anything", "junctors", "required null", "nested"],
)
def test_version_2_says_nothing_of_what_may_be_anything(schema: Any, expected: Any) -> None:
    assert simplified(schema) == expected


def test_an_open_kind_has_no_properties_in_version_2() -> None:
    source = {"type": "object", "properties": {"spec": {"type": "object"}}, **OPEN}
    published = object_schema(THING, source, "#/definitions/", v2=True)
    assert set(published) == {"type", "x-kubernetes-group-version-kind"}
    assert set(object_schema(THING, source, "#/")["properties"]) == {"apiVersion", "kind", "metadata", "spec"}


@pytest.mark.parametrize("v2", [False, True], ids=["v3", "v2"])
def test_embedded_objects_have_what_every_object_has(v2: bool) -> None:
    source = {"type": "object", "properties": {"closed": {**EMBEDDED}, "open": {**EMBEDDED, **OPEN}}}
    found = object_schema(THING, source, "#/", v2)["properties"]
    assert set(found["closed"]["properties"]) == {"apiVersion", "kind", "metadata"}
    assert found["closed"]["required"] == ["kind", "apiVersion"]
    assert ("properties" in found["open"]) is not v2
    assert "properties" not in source["properties"]["closed"]


def test_fields_that_every_object_has_are_described_by_their_go_names() -> None:
    found = object_schema(THING, {"type": "object"}, "#/")["properties"]
    assert found["apiVersion"]["description"].startswith("APIVersion defines ")
    assert found["metadata"]["description"].startswith("Standard object's metadata")
