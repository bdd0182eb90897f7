"""What a kube-apiserver 1.36.3 says of defaults in the schemas of CustomResourceDefinitions."""

from typing import Any

import pytest

from karmada.apiserver.crds.defaults import validate_defaults

STRING = {"type": "string"}
FREE = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
TYPED = {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"a": STRING}}
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
BOTH = ["default.apiVersion: Required value", "default.kind: Required value"]


def named(**schema: Any) -> dict[str, Any]:
    """An embedded resource with a schema of its metadata."""
    return {**FREE, "properties": {"metadata": {"type": "object", **schema}}}


def found(schema: dict[str, Any], root: bool = False) -> list[str]:
    return [f"{error.field}: {error.message}".removeprefix("x.") for error in validate_defaults(schema, "x", root)]


@pytest.mark.parametrize(
    ("schema", "texts"),
    [
        pytest.param({**FREE, "default": CONFIG}, [], id="a resource"),
        pytest.param({**TYPED, "default": CONFIG}, [], id="with declared fields"),
        pytest.param({**FREE, "default": {}}, BOTH, id="no type"),
        pytest.param({**FREE, "default": {"apiVersion": "v1"}}, BOTH[1:], id="no kind"),
        pytest.param(
            {"type": "object", "properties": {"e": FREE}, "default": {"e": {}}},
            [text.replace("default", "default.e") for text in BOTH],
            id="inside",
        ),
        pytest.param(
            {"type": "array", "items": FREE, "default": [CONFIG, {"kind": "K"}]},
            ["default[1].apiVersion: Required value"],
            id="in a list",
        ),
        pytest.param(
            {"type": "array", "items": {**FREE, "default": {}}}, ["items." + text for text in BOTH], id="items"
        ),
        pytest.param({**FREE, "default": {**CONFIG, "metadata": {"bogus": 1}}}, [], id="unknown metadata"),
        pytest.param(
            {**FREE, "default": {**CONFIG, "metadata": {"name": "a/b"}}},
            ["default.metadata.name: Invalid value: \"a/b\": may not contain '/'"],
            id="metadata",
        ),
        pytest.param(
            {**FREE, "default": {**CONFIG, "metadata": 5}},
            ["default.metadata: Invalid value: 5: json: cannot unmarshal number into Go value of type v1.ObjectMeta"],
            id="no metadata",
        ),
        pytest.param(
            named(properties={"name": {"type": "string", "default": "a/b"}}),
            [
                'properties[metadata].properties[name].default: Invalid value: "a/b": must result in valid metadata: '
                "metadata.name: Invalid value: \"a/b\": may not contain '/'"
            ],
            id="default of a name",
        ),
        pytest.param(named(default={"name": "a"}), [], id="default of metadata"),
    ],
)
def test_embedded_resources_that_are_defaults_are_judged(schema: dict[str, Any], texts: list[str]) -> None:
    assert found(schema) == texts


def test_a_type_that_is_no_text_is_refused() -> None:
    assert "default.apiVersion: Invalid value: 5: must be a string" in found({**FREE, "default": {"apiVersion": 5}})


@pytest.mark.parametrize("name", ["apiVersion", "kind", "metadata"])
def test_what_every_object_has_gets_no_default(name: str) -> None:
    inner = {"type": "object", "properties": {"name": {**STRING, "default": "a"}}}
    schema = inner if name == "metadata" else {**STRING, "default": "a"}
    [text] = found({"type": "object", "properties": {name: schema}}, root=True)
    assert text.endswith(f"default: Forbidden: must not be set in top-level {name}")
    assert "default" not in schema or not found({"type": "object", "properties": {name: schema}})


def test_the_default_of_an_object_is_one() -> None:
    schema = {"type": "object", "properties": {"a": STRING}}
    assert found({**schema, "default": {}}, root=True) == BOTH
    assert found({**schema, "default": {**CONFIG, "a": "b"}}, root=True) == []
    [text] = found({**schema, "default": {**CONFIG, "b": 1}}, root=True)
    assert text.endswith("must not have unknown fields")


def test_nobody_looks_for_defaults_of_values_of_maps() -> None:
    wrong = {"type": "string", "default": 5}
    assert found({"type": "object", "properties": {"a": wrong}})
    assert not found({"type": "object", "additionalProperties": wrong})
