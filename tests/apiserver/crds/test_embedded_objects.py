"""What a kube-apiserver 1.36.3 says of objects inside of custom objects, and of metadata in general."""

from typing import Any

import pytest
from tests.apiserver.builtin.test_what_is_allowed import errors
from tests.apiserver.crds.test_custom_kinds import definition, thing, version

from karmada.apiserver.crds.objects import prune
from karmada.apiserver.crds.types import resource_types_of
from karmada.apiserver.schema.embedded import malformed
from karmada.apiserver.schema.scalars import Mismatch

EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
INNER = {"type": "object", "properties": {"inner": EMBEDDED}}
TYPED = {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": INNER}}
SPEC = {
    "type": "object",
    "properties": {
        "one": EMBEDDED,
        "list": {"type": "array", "items": EMBEDDED},
        "map": {"type": "object", "additionalProperties": EMBEDDED},
        "typed": TYPED,
        "choice": {"type": "integer", "enum": [1, 2]},
        "text": {"type": "string", "pattern": "^a$"},
        "day": {"type": "string", "format": "date"},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
    },
}
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
OWNER = {"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u", "controller": True}
LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
NAME = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
NEITHER = "name is neither a standard finalizer name nor is it fully qualified"


PLACES = pytest.mark.parametrize(
    ("place", "around"),
    [
        ("spec.one", lambda obj: {"one": obj}),
        ("spec.list[1]", lambda obj: {"list": [CONFIG, obj]}),
        ("spec.map[k]", lambda obj: {"map": {"k": obj}}),
        ("spec.typed.spec.inner", lambda obj: {"typed": {**CONFIG, "spec": {"inner": obj}}}),
    ],
    ids=["field", "list", "map", "in another one"],
)


def wrong(spec: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    (type_,) = resource_types_of(definition(version("v1", {"spec": SPEC})))
    prune(type_, obj := thing(spec))
    return [str(error) for error in type_.strategy.validate(obj, None if old is None else thing(old))]


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param(CONFIG, [], id="right"),
        pytest.param({"apiVersion": "v1", "kind": "UPPER"}, [], id="no metadata"),
        pytest.param({}, ["apiVersion: Required value", "kind: Required value"], id="nothing"),
        pytest.param(
            {"apiVersion": "", "kind": ""},
            [
                'apiVersion: Invalid value: "": must not be empty',
                'kind: Invalid value: "": must not be empty',
            ],
            id="empty",
        ),
        pytest.param(
            {**CONFIG, "apiVersion": "a/b/c", "kind": "Kind_x"},
            [
                'apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
                'kind: Invalid value: "Kind_x": may have mixed case, but should otherwise match: ' + LABEL,
            ],
            id="of no type",
        ),
        pytest.param({**CONFIG, "metadata": {"name": "A B", "generateName": "A_"}}, [], id="any name"),
        pytest.param(
            {**CONFIG, "metadata": {"name": "a/b"}},
            ["metadata.name: Invalid value: \"a/b\": may not contain '/'"],
            id="a path for a name",
        ),
        pytest.param(
            {**CONFIG, "metadata": {"labels": {"a b": "c"}, "generation": -1, "finalizers": ["foo", "x y"]}},
            [
                "metadata.generation: Invalid value: -1: must be greater than or equal to 0",
                f'metadata.labels: Invalid value: "a b": {NAME}',
                f'metadata.finalizers: Invalid value: "x y": {NAME}',
            ],
            id="bad metadata",
        ),
    ],
)
@PLACES
def test_embedded_objects(place, around, obj, expected):
    assert wrong(around(obj)) == [f"{place}.{text}" for text in expected]


def test_what_an_update_leaves_alone_is_not_judged_again():
    bad = {"kind": ""}
    assert wrong({"list": [bad], "choice": 1}, {"list": [bad]}) == []
    assert wrong({"list": [bad, {"apiVersion": "v1"}]}, {"list": [bad]}) == ["spec.list[1].kind: Required value"]


NO_LABELS = "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type map[string]string"


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param({**CONFIG, "kind": 5}, "kind: Invalid value: 5: must be a string", id="no kind"),
        pytest.param(
            {**CONFIG, "apiVersion": None}, "apiVersion: Invalid value: null: must be a string", id="no version"
        ),
        pytest.param(
            {**CONFIG, "metadata": 5},
            "metadata: Invalid value: 5: json: cannot unmarshal number into Go value of type v1.ObjectMeta",
            id="no metadata",
        ),
        pytest.param(
            {**CONFIG, "metadata": {"labels": 5}},
            f'metadata: Invalid value: {{"labels":5}}: {NO_LABELS}',
            id="no labels",
        ),
        pytest.param(
            {**CONFIG, "kind": "Secret", "metadata": {"labels": 5, "annotations": {"was": "secret"}}},
            f'metadata: Invalid value: "<secret contents redacted>": {NO_LABELS}',
            id="a secret",
        ),
    ],
)
@PLACES
def test_what_cannot_be_read_as_an_embedded_object_is_no_request(place, around, obj, expected):
    (type_,) = resource_types_of(definition(version("v1", {"spec": SPEC})))
    body = thing(around(obj))
    with pytest.raises(Mismatch):
        prune(type_, body)
    assert str(malformed(type_.schema, body)) == f"{place}.{expected}"


def test_embedded_objects_have_metadata_where_they_say_null():
    (type_,) = resource_types_of(definition(version("v1", {"spec": SPEC})))
    prune(type_, obj := thing({"one": {**CONFIG, "metadata": None}}))
    assert obj["spec"]["one"]["metadata"] == {}


def test_numbers_to_choose_from_are_listed_as_texts():
    assert wrong({"choice": 3}) == ['spec.choice: Unsupported value: 3: supported values: "1", "2"']


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("text", "spec.text: Invalid value: \"{}\": spec.text in body should match '^a$'"),
        ("day", 'spec.day: Invalid value: "{}": spec.day in body must be of type date: "{}"'),
        ("set", 'spec.set[1]: Duplicate value: "{}"'),
    ],
)
def test_texts_that_may_hold_a_secret_are_not_quoted(field, expected):
    secret, other = "kind: Secret\\ndata: {a: aHVudGVyMg==}", "other"
    for text, shown in ((secret, "<secret contents redacted>"), (other, other)):
        assert wrong({field: [text, text] if field == "set" else text}) == [expected.replace("{}", shown)]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        pytest.param(
            {"finalizers": ["a/b", "foo", "x y"]},
            [
                f'finalizers: Invalid value: "x y": {NAME}',
                f'finalizers[1]: Invalid value: "foo": {NEITHER}',
                f'finalizers[2]: Invalid value: "x y": {NEITHER}',
            ],
            id="finalizers",
        ),
        pytest.param(
            {"ownerReferences": [{"apiVersion": "a/b/c"}]},
            [
                'ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty',
                *(
                    f'ownerReferences.{field}: Invalid value: "": must not be empty'
                    for field in ("kind", "name", "uid")
                ),
            ],
            id="owners without anything",
        ),
        pytest.param({"ownerReferences": [{**OWNER, "apiVersion": "/v1"}]}, [], id="an owner of an empty group"),
        pytest.param(
            {"ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "n", "uid": "u"}]},
            [
                'ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"n","uid":"u"}: '
                "/v1, Kind=Event is disallowed from being an owner"
            ],
            id="an event",
        ),
    ],
)
def test_metadata_of_built_in_kinds(metadata, expected):
    found = errors("", "v1", "ConfigMap", {"metadata": {"name": "n", **metadata}})
    assert found == [f"metadata.{text}" for text in expected]


def test_two_controllers_are_named_by_kind_and_name():
    owners = [OWNER, {**OWNER, "kind": "L", "name": "m", "uid": "w"}]
    [message] = errors("", "v1", "ConfigMap", {"metadata": {"name": "n", "ownerReferences": owners}})
    assert message.endswith(
        'Only one reference can have Controller set to true. Found "true" in references for K/n and L/m'
    )


def test_custom_objects_may_have_finalizers_of_any_name():
    (type_,) = resource_types_of(definition(version("v1", {"spec": SPEC})))
    obj = thing({})
    obj["metadata"]["finalizers"] = ["foo"]
    assert type_.strategy.validate(obj, None) == []
