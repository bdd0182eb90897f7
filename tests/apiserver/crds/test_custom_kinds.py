"""What a CustomResourceDefinition makes of itself: types, names, rules; and what is refused."""

from copy import deepcopy
from typing import Any

import pytest

from karmada.api import merge_patch
from karmada.api.field_errors import FieldError
from karmada.apiserver.crds import Names, crd_status, resource_types_of, validate_crd
from karmada.apiserver.crds.formats import format_warnings
from karmada.apiserver.crds.objects import decode, fill_defaults
from karmada.apiserver.crds.types import version_order
from karmada.apiserver.managedfields.elements import allows
from karmada.apiserver.requests.decoding import is_known
from karmada.apiserver.served_resource import Served

NOW = "2026-01-01T00:00:00Z"


def definition(*versions: dict[str, Any], **spec: Any) -> dict[str, Any]:
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    found = list(versions) or [version("v1", {})]
    return {
        "metadata": {"name": "things.example.dev"},
        "spec": {"group": "example.dev", "scope": "Namespaced", "names": names, "versions": found, **spec},
        "status": {"storedVersions": [v["name"] for v in found if v["storage"]]},
    }


def version(name: str, properties: dict[str, Any], storage: bool = True, **more: Any) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    return {"name": name, "served": True, "storage": storage, "schema": schema, **more}


def thing(spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "example.dev/v1", "kind": "Thing", "metadata": {"name": "a", "namespace": "n"}, "spec": spec}


def test_served_versions_become_types() -> None:
    old = version("v1beta1", {}, storage=False, deprecated=True)
    hidden = {**version("v1alpha1", {}, storage=False), "served": False}
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    new = version("v1", {}, subresources={"status": {}, "scale": scale}, selectableFields=[{"jsonPath": ".spec.color"}])
    first, second = resource_types_of(definition(new, old, hidden))
    assert (first.version, first.has_status, first.scale is not None) == ("v1", True, True)
    assert [sub.name for sub in first.subresources] == ["status", "scale"]
    assert list(first.strategy.selectable) == ["spec.color"]
    assert (second.version, second.storage_version, second.has_status) == ("v1beta1", "v1", False)
    assert second.deprecation == "example.dev/v1beta1 Thing is deprecated; use example.dev/v1 Thing"
    assert [column.name for column in second.columns] == ["Age"]


def test_versions_sort_by_stability_then_age() -> None:
    names = ["v1alpha1", "foo", "v2", "v1beta2", "v1", "v11", "v1beta1"]
    assert sorted(names, key=version_order) == ["v11", "v2", "v1", "v1beta2", "v1beta1", "v1alpha1", "foo"]


def test_names_are_accepted_once_in_a_group() -> None:
    first = definition()
    first["status"] = crd_status(first, Names(), NOW)
    assert [(c["type"], c["status"]) for c in first["status"]["conditions"]] == [
        ("NamesAccepted", "True"),
        ("Established", "True"),
    ]
    second = deepcopy(definition())
    second["spec"]["names"]["plural"] = "others"
    status = crd_status(second, Names.of([first]), NOW)
    assert status["acceptedNames"] == {"plural": "others", "kind": ""}
    assert [(c["status"], c["reason"]) for c in status["conditions"]] == [
        ("False", "ListKindConflict"),
        ("False", "NotAccepted"),
    ]


def test_transitions_keep_their_time() -> None:
    crd = definition()
    crd["status"] = crd_status(crd, Names(), NOW)
    again = crd_status(crd, Names(), "2027-01-01T00:00:00Z")
    assert again == crd["status"]


PATCHES = [
    {"spec": {"color": "red"}},
    {"spec": {"color": "red", "bogus": 1}},
    {"spec": {"bogus": None}},
    {"spec": {"parts": [{"name": "a", "bogus": 1}]}},
    {"spec": None, "bogus": {"a": 1}},
    {"metadata": {"labels": {"a": "b"}}, "status": {"bogus": 1}},
    {"metadata": {"bogus": "x"}},
    {"metadata": {"bogus": "x"}, "spec": {"color": "red"}},
    {"metadata": {"labels": {"a": "b"}}, "spec": {"color": "red"}},
    {"metadata": {"labels": {"a": None}, "resourceVersion": "5", "uid": "u"}},
    {"metadata": None},
    {"spec": {"embedded": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "bogus": 1}}}},
]


@pytest.mark.parametrize("patch", PATCHES, ids=str)
def test_a_patch_that_brings_nothing_unknown_leaves_nothing_to_prune(patch: dict[str, Any]) -> None:
    part = {"type": "object", "properties": {"name": {"type": "string"}}}
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    properties = {
        "color": {"type": "string", "default": "blue"},
        "parts": {"type": "array", "items": part},
        "embedded": embedded,
    }
    schema = {"spec": {"type": "object", "properties": properties}}
    [type_] = resource_types_of(definition(version("v1", schema)))
    current = thing({"color": "green", "parts": [{"name": "b"}]})
    decode(type_, current)
    patched = merge_patch.apply(deepcopy(current), patch)
    whole = deepcopy(patched)
    removed = decode(type_, whole)
    if is_known(Served(type_), deepcopy(patch)):
        assert not removed
        fill_defaults(type_, patched)
        assert patched == whole


def test_objects_are_pruned_and_defaulted() -> None:
    schema = {"spec": {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}}
    (type_,) = resource_types_of(definition(version("v1", schema)))
    obj = thing({"b": 1})
    assert decode(type_, obj) == ["spec.b"]
    assert obj["spec"] == {"a": "x"}


RULES = {
    "spec": {
        "type": "object",
        "properties": {
            "min": {"type": "integer"},
            "max": {"type": "integer"},
            "name": {
                "type": "string",
                "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "name is immutable"}],
            },
            "first": {
                "type": "string",
                "x-kubernetes-validations": [
                    {"rule": "!oldSelf.hasValue() || oldSelf.value() == self", "optionalOldSelf": True}
                ],
            },
            "list": {
                "type": "array",
                "items": {"type": "string"},
                "x-kubernetes-validations": [
                    {
                        "rule": "self.all(x, x.startsWith('a'))",
                        "messageExpression": "'must start with a, have ' + string(size(self))",
                        "reason": "FieldValueForbidden",
                    }
                ],
            },
            "namespace": {"type": "string"},
            "word": {"type": "string", "x-kubernetes-validations": [{"rule": "self != 'oldSelf'"}]},
        },
        "x-kubernetes-validations": [
            {"rule": "!has(self.min) || self.min <= self.max", "message": "min over max", "fieldPath": ".min"},
            {"rule": "!has(self.__namespace__) || self.__namespace__ != 'bad'"},
        ],
    }
}


@pytest.mark.parametrize(
    ("spec", "old", "expected"),
    [
        pytest.param({"min": 1, "max": 2}, None, [], id="fine"),
        pytest.param(
            {"min": 3, "max": 2},
            None,
            [("spec.min", "Invalid value: min over max")],
            id="message-and-path",
        ),
        pytest.param(
            {"namespace": "bad"},
            None,
            [
                (
                    "spec",
                    "Invalid value: failed rule: !has(self.__namespace__) || self.__namespace__ != 'bad'",
                )
            ],
            id="escaped-name-and-default-message",
        ),
        pytest.param(
            {"list": ["b", "c"]},
            None,
            [("spec.list", "Forbidden: must start with a, have 2")],
            id="computed-message-and-reason",
        ),
        pytest.param({"name": "x"}, {}, [], id="transition-rule-needs-an-old-value"),
        pytest.param(
            {"name": "y"}, {"name": "x"}, [("spec.name", 'Invalid value: "y": name is immutable')], id="transition"
        ),
        pytest.param(
            {"word": "oldSelf"},
            None,
            [("spec.word", "Invalid value: \"oldSelf\": failed rule: self != 'oldSelf'")],
            id="text-that-looks-like-an-old-value",
        ),
        pytest.param({"first": "x"}, None, [], id="optional-old-value-absent"),
        pytest.param(
            {"first": "y"},
            {"first": "x"},
            [
                (
                    "spec.first",
                    'Invalid value: "y": failed rule: !oldSelf.hasValue() || oldSelf.value() == self',
                )
            ],
            id="optional-old-value-present",
        ),
        pytest.param(
            {"min": 1},
            None,
            [("spec", 'Invalid value: "object": no such key: max evaluating rule: min over max')],
            id="evaluation-error",
        ),
    ],
)
def test_rules(spec: dict[str, Any], old: dict[str, Any] | None, expected: list[tuple[str, str]]) -> None:
    (type_,) = resource_types_of(definition(version("v1", RULES)))
    errors = type_.strategy.validate(thing(spec), None if old is None else thing(old))
    assert [(error.field, error.message) for error in errors] == expected


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        pytest.param({"type": "integer"}, 5, "Invalid value: 5: no", id="a number"),
        pytest.param({"x-kubernetes-int-or-string": True}, "5%", 'Invalid value: "5%": no', id="a text"),
        pytest.param({"type": "array", "items": {"type": "string"}}, ["q"], "Invalid value: no", id="a list"),
        pytest.param(
            {"type": "string"},
            "kind: Secret\ndata: {a: aHVudGVyMg==}",
            'Invalid value: "<secret contents redacted>": no',
            id="a secret",
        ),
    ],
)
def test_a_broken_rule_quotes_scalars_that_are_no_secrets(schema: Any, value: Any, message: str) -> None:
    rule = {"x-kubernetes-validations": [{"rule": "false", "message": "no"}]}
    spec = {"type": "object", "properties": {"a": {**schema, **rule}}}
    (type_,) = resource_types_of(definition(version("v1", {"spec": spec})))
    assert [error.message for error in type_.strategy.validate(thing({"a": value}), None)] == [message]


def test_rules_wait_for_a_valid_object() -> None:
    (type_,) = resource_types_of(definition(version("v1", RULES)))
    errors = type_.strategy.validate(thing({"min": "one"}), None)
    assert [error.field for error in errors] == ["spec.min", "<nil>"]
    assert "some validation rules were not checked" in errors[1].message


def test_status_is_judged_alone() -> None:
    schema = {
        "spec": {"type": "object", "properties": {"a": {"type": "integer"}}},
        "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
    }
    (type_,) = resource_types_of(definition(version("v1", schema, subresources={"status": {}})))
    obj = {**thing({"a": "wrong"}), "status": {"phase": 5}}
    errors = type_.strategy.validate_status(obj, thing({}))
    message = 'Invalid value: "integer": phase in body must be of type string: "integer"'
    assert [(error.field, error.message) for error in errors] == [("status.phase", message)]


@pytest.mark.parametrize(
    ("properties", "field", "message"),
    [
        pytest.param(
            {"a": {"type": "string", "x-kubernetes-validations": [{"rule": "self == 1"}]}},
            "properties[a].x-kubernetes-validations[0].rule",
            "found no matching overload for '_==_' applied to '(string, int)'",
            id="rule-types",
        ),
        pytest.param(
            {"a": {"type": "string", "x-kubernetes-validations": [{"rule": "self"}]}},
            "properties[a].x-kubernetes-validations[0].rule",
            "cel expression must evaluate to a bool",
            id="rule-result",
        ),
        pytest.param(
            {"a": {"type": "string", "x-kubernetes-validations": [{"rule": "self < 1"}]}},
            "properties[a].x-kubernetes-validations[0].rule",
            'Invalid value: {"Rule":"self \\u003c 1","Message":"",',
            id="rules-are-quoted-for-html",
        ),
        pytest.param(
            {"a": {"type": "string", "x-kubernetes-validations": [{"rule": "self ==\n nothing"}]}},
            "properties[a].x-kubernetes-validations[0].message",
            "Required value: message must be specified if rule contains line breaks",
            id="rules-of-many-lines-have-a-message",
        ),
        pytest.param(
            {"a": {"type": "object", "properties": {"b": {"type": "integer"}}, "default": {"b": 1, "c": 2}}},
            "properties[a].default",
            "must not have unknown fields",
            id="default-with-unknown-field",
        ),
        pytest.param(
            {"a": {"type": "string", "pattern": "(?=x)"}},
            "properties[a].pattern",
            "must be a valid regular expression, but isn't: error parsing regexp",
            id="backtracking-pattern",
        ),
    ],
)
def test_bad_schemas_are_refused(properties: dict[str, Any], field: str, message: str) -> None:
    (error,) = validate_crd(definition(version("v1", properties)), None)
    assert error.field == f"spec.validation.openAPIV3Schema.{field}"
    assert message in error.message


@pytest.mark.parametrize("default", [True, 1.5, [1]])
def test_defaults_of_numbers_or_texts_may_be_anything_without_fields(default: Any) -> None:
    either = {"x-kubernetes-int-or-string": True}
    nested = {"type": "object", "default": {"x": default}, "properties": {"x": either}}
    assert validate_crd(definition(version("v1", {"a": {**either, "default": default}, "b": nested})), None) == []


def test_schemas_that_differ_between_versions_are_named_by_version() -> None:
    good = version("v1", {})
    bad = version("v2", {"a": {}}, storage=False)
    (error,) = validate_crd(definition(good, bad), None)
    assert error.field == "spec.versions[1].schema.openAPIV3Schema.properties[a].type"


MAPPING = {"type": "object", "additionalProperties": True, "properties": {"a": {"type": "integer"}}}


def of_schema(schema: dict[str, Any]) -> dict[str, Any]:
    return definition({**version("v1", {}), "schema": {"openAPIV3Schema": schema}})


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"x-kubernetes-preserve-unknown-fields": True}, id="anything-without-a-type"),
        pytest.param({"type": "object", "properties": {"spec": MAPPING}}, id="known-fields-beside-any-others"),
        pytest.param({"type": "object", "properties": {"spec": {"additionalProperties": False, "type": "object"}}}),
    ],
)
def test_loose_schemas_are_accepted(schema: dict[str, Any]) -> None:
    crd = of_schema(schema)
    assert validate_crd(crd, None) == []
    [type_] = resource_types_of(crd)
    assert decode(type_, thing({"a": 1} if "properties" in schema else {"any": {"thing": 1}})) == []


def test_fields_that_stand_beside_any_others_have_their_schema() -> None:
    [type_] = resource_types_of(of_schema({"type": "object", "properties": {"spec": MAPPING}}))
    obj = thing({"a": "text", "b": "text"})
    assert decode(type_, obj) == []
    assert [error.field for error in type_.strategy.validate(obj, None)] == ["spec.a"]


@pytest.mark.parametrize(
    ("schema", "given", "kept", "unknown"),
    [
        (
            {},
            {"a": 1, "b": {"c": 1}, "l": [{"c": 1}], "n": None},
            {"a": 1, "b": {}, "l": [{}], "n": None},
            ["b.c", "l[0].c"],
        ),
        ({"x-kubernetes-preserve-unknown-fields": True}, {"b": {"c": 1}}, {"b": {}}, ["b.c"]),
        (
            {"properties": {"a": MAPPING}},
            {"a": {"b": {"c": 1}}, "b": {"c": 1}},
            {"a": {"b": {}}, "b": {}},
            ["a.b.c", "b.c"],
        ),
        ({"additionalProperties": False}, {"b": {"c": 1}}, {"b": {}}, ["b.c"]),
    ],
)
def test_of_fields_of_which_only_the_keys_are_known_nothing_below_is(
    schema: dict[str, Any], given: dict[str, Any], kept: dict[str, Any], unknown: list[str]
) -> None:
    spec = {"type": "object", "additionalProperties": True, **schema}
    crd = of_schema({"type": "object", "properties": {"spec": spec}})
    assert validate_crd(crd, None) == []
    [type_] = resource_types_of(crd)
    obj = thing(given)
    assert decode(type_, obj) == [f"spec.{path}" for path in unknown]
    assert obj["spec"] == kept


def test_defaults_stand_beside_any_others() -> None:
    spec = {**MAPPING, "properties": {"a": {"type": "integer", "default": 1}}}
    [type_] = resource_types_of(of_schema({"type": "object", "properties": {"spec": spec}}))
    obj = thing({"b": 2})
    decode(type_, obj)
    assert obj["spec"] == {"a": 1, "b": 2}


def test_a_map_of_nothing_refuses_every_key() -> None:
    closed = {"type": "object", "additionalProperties": False}
    [type_] = resource_types_of(of_schema({"type": "object", "properties": {"spec": closed}}))
    assert type_.strategy.validate(thing({}), None) == []
    found = type_.strategy.validate(thing({"a": 1}), None)
    text = 'Invalid value: "a": spec.a in body is a forbidden property'
    assert found == [FieldError("FieldValueInvalid", "spec", text)]
    assert not allows(type_.schema.properties["spec"], "a")


def test_embedded_objects_are_no_maps() -> None:
    spec = {**MAPPING, "x-kubernetes-embedded-resource": True}
    [error] = validate_crd(of_schema({"type": "object", "properties": {"spec": spec}}), None)
    assert (error.field.rpartition(".")[2], error.reason) == ("additionalProperties", "FieldValueForbidden")


@pytest.mark.parametrize("others", [False, {"type": "string"}])
def test_fields_may_stand_beside_any_others_only(others: Any) -> None:
    spec = {**MAPPING, "additionalProperties": others}
    [error] = validate_crd(of_schema({"type": "object", "properties": {"spec": spec}}), None)
    assert error.field.endswith("[spec].additionalProperties")


def test_formats_that_mean_nothing_bring_a_warning_where_they_are_new() -> None:
    fields = {"a": {"type": "string", "format": "zz"}, "b": {"type": "integer", "format": "date"}}
    good = {"c": {"type": "string", "format": "date"}, "d": {"type": "integer", "format": "int64"}}
    old, new = definition(version("v1", good)), definition(version("v1", {**fields, **good}))
    assert format_warnings(new, old) == ['unrecognized format "date"', 'unrecognized format "zz"']
    assert format_warnings(new, new) == []


def converting(client: dict[str, Any], *versions: str) -> dict[str, Any]:
    webhook = {"clientConfig": client, "conversionReviewVersions": list(versions or ("v1",))}
    return definition(conversion={"strategy": "Webhook", "webhook": webhook})


@pytest.mark.parametrize(
    ("client", "field"),
    [
        ({"url": "http://x"}, "url"),
        ({"url": "https://u:p@x"}, "url"),
        ({"url": "https://x?a"}, "url"),
        ({"service": {"name": "s", "namespace": "n", "port": 0}}, "service.port"),
        ({"service": {"name": "s", "namespace": "n", "path": "/a//b"}}, "service.path"),
        ({"service": {"name": "s"}}, "service.name"),
    ],
)
def test_a_conversion_webhook_is_at_a_place_that_can_be_reached(client: dict[str, Any], field: str) -> None:
    [error] = validate_crd(converting(client), None)
    assert error.field == f"spec.conversion.webhookClientConfig.{field}"
    assert validate_crd(converting({"url": "https://x/y"}), None) == []
    assert validate_crd(converting({"service": {"name": "s", "namespace": "n", "path": "/a"}}), None) == []


@pytest.mark.parametrize(("versions", "place"), [(("v1", "v1"), "[1]"), (("v1", "v2 x"), "[1]"), (("v2",), "")])
def test_versions_of_conversion_reviews_are_named_once_and_known(versions: tuple[str, ...], place: str) -> None:
    [error] = validate_crd(converting({"url": "https://x"}, *versions), None)
    assert error.field == f"spec.conversion.conversionReviewVersions{place}"


def test_only_the_strategy_webhook_has_a_webhook() -> None:
    crd = converting({"url": "https://x"})
    crd["spec"]["conversion"]["strategy"] = "None"
    fields = [error.field for error in validate_crd(crd, None)]
    assert fields == ["spec.conversion.webhookClientConfig", "spec.conversion.conversionReviewVersions"]


@pytest.mark.parametrize(
    ("deprecated", "warning", "why"),
    [
        (False, "old", "can only be set for deprecated versions"),
        (True, "", "must not be an empty string"),
        (True, "\u00e9" * 129, "must be <= 256 characters long"),
        (True, "\u00e9a\nb", "non-printable character found at index 3"),
    ],
)
def test_a_warning_of_a_deprecated_version_fits_into_a_header(deprecated: bool, warning: str, why: str) -> None:
    [error] = validate_crd(definition(version("v1", {}, deprecated=deprecated, deprecationWarning=warning)), None)
    assert (error.field, error.message.endswith(why)) == ("spec.versions[0].deprecationWarning", True)
