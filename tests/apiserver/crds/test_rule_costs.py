"""What the rules of a definition may cost, and where they may ask for old values; figures of a kube-apiserver 1.36."""

import re

import pytest
from tests.apiserver.crds.test_custom_kinds import definition, version

from karmada.apiserver.crds import validate_crd

ROOT = "spec.validation.openAPIV3Schema"
ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)
TEXT = {"type": "string", "maxLength": 100}
SOME = "[" + ", ".join("1" * 96) + "].all(y, true)"
"""A rule that costs 299."""
COSTLY = "[" + ", ".join("1" * 296) + "].all(y, true)"
"""The same, 899; in a loop 902 per round."""


def rules(*expressions, **more):
    return {"x-kubernetes-validations": [{"rule": expression, **more} for expression in expressions]}


def listed(items, bound=None, *expressions):
    return {
        "type": "array",
        "items": items,
        **({"maxItems": bound} if bound is not None else {}),
        **rules(*expressions),
    }


def mapped(values, bound=None, *expressions):
    schema = {"type": "object", "additionalProperties": values, **rules(*expressions)}
    return schema if bound is None else {**schema, "maxProperties": bound}


def objects(required, **properties):
    return {"type": "object", "required": required, "properties": properties}


def errors(schema, old=None):
    before = None if old is None else definition(version("v1", {"spec": old}))
    return validate_crd(definition(version("v1", {"spec": schema})), before)


def factor(schema):
    """By how much the one refused expression exceeds its budget."""
    found = [re.search(r"estimated \w+ cost exceeds budget by factor of (.*?)x ", e.message) for e in errors(schema)]
    [only] = [match[1] for match in found if match]
    return only


@pytest.mark.parametrize(
    ("bound", "expected"),
    [(3_500_000, "1.050000"), (4_900_000, "1.470000"), (5_000_000, "1.5"), (10**8, "30.0"), (10**9, "more than 100")],
)
def test_how_much_too_much_it_is(bound, expected):
    assert factor(listed(TEXT, bound, "self.all(x, true)")) == expected


def test_what_is_within_budget_is_accepted():
    assert errors(listed(TEXT, 3_333_332, "self.all(x, true)")) == []


@pytest.mark.parametrize(
    ("schema", "in_list", "in_map"),
    [
        ({"type": "string"}, "94.6", "35.5"),
        ({"type": "integer"}, "more than 100", "40.5"),
        ({"type": "boolean"}, "56.7", "28.4"),
        ({"type": "object"}, "94.6", "35.5"),
        (objects(["abc"], abc={"type": "string"}), "23.6", "16.7"),
        (objects(["abc", "d"], abc={"type": "string"}, d={"type": "integer"}), "15.8", "12.3"),
        (objects(["abc"], abc={"type": "string", "default": "x"}), "94.6", "35.5"),
        (objects([], abc={"type": "string"}), "94.6", "35.5"),
        ({"type": "string", "format": "date"}, "21.8", "15.8"),
        ({"type": "string", "format": "date-time"}, "12.9", "10.5"),
        ({"type": "string", "format": "duration"}, "70.9", "31.5"),
        ({"x-kubernetes-int-or-string": True}, "more than 100", "40.5"),
    ],
    ids=[
        "text",
        "number",
        "boolean",
        "object",
        "required",
        "two",
        "default",
        "optional",
        "date",
        "time",
        "span",
        "any",
    ],
)
def test_without_a_bound_there_is_as_much_as_fits_into_a_request(schema, in_list, in_map):
    assert factor(listed(schema, None, f"self.all(x, {COSTLY})")) == in_list
    assert factor(mapped(schema, None, f"self.all(x, {COSTLY})")) == in_map


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ({}, "31.5"),
        ({"format": "uuid"}, "31.5"),
        ({"maxLength": 10**6}, "40.0"),
        ({"maxLength": 10**6, "format": "byte"}, "10.0"),
    ],
    ids=["no bound", "format", "characters of four bytes", "bytes"],
)
def test_how_long_texts_are(text, expected):
    item = objects([], u={"type": "string", **text})
    assert factor(listed(item, 1000, "self.all(x, x.u == x.u)")) == expected


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (listed({**TEXT, **rules(SOME)}, 10**5), "3.0"),
        (listed({**TEXT, **rules(SOME)}), "31.4"),
        (mapped({**TEXT, **rules(SOME)}), "31.4"),
        (listed(listed({**TEXT, **rules(SOME)}, 1000), 1000), "29.9"),
        (listed(listed({**TEXT, **rules(SOME)}, 10)), "31.4"),
        (listed(listed({**TEXT, **rules(SOME)}), 10), "31.4"),
        (listed({**objects(["abc"], abc={"type": "string"}), **rules(SOME)}), "7.8"),
    ],
    ids=["bounded", "unbounded", "map", "nested", "outer unbounded", "inner unbounded", "as large as its object"],
)
def test_a_rule_inside_of_a_list_is_evaluated_for_every_element(schema, expected):
    assert factor(schema) == expected


def test_a_message_is_made_once():
    item = {"type": "string", "maxLength": 10**8, **rules("true", messageExpression="'a' + self")}
    assert factor(listed(item, 10)) == "4.0"


def test_together_rules_may_not_cost_too_much_either():
    fields = {
        f"p{number:02}": listed(TEXT, (number + 1) * 300_000, "self.all(x, true)", "self.size() > 1")
        for number in range(16)
    }
    found = errors(objects([], **fields))
    place = f"{ROOT}.properties[spec].properties"
    text = "Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
    assert [error.field for error in found if error.message == text] == [
        f"{place}[p{number}].x-kubernetes-validations[0].rule" for number in (15, 14, 13, 12)
    ]
    whole = (
        "Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by"
    )
    assert found[-1] == ("FieldValueForbidden", ROOT, f"{whole} factor of 1.224001x {ADVICE}")


def test_a_definition_that_was_too_costly_before_can_be_changed():
    costly = listed(TEXT, 10**8, "self.all(x, true)")
    assert errors(costly)
    assert errors({**costly, "description": "d"}, costly) == []
    assert errors(costly, listed(TEXT, 10, "self.all(x, true)"))


OLD = rules("self == oldSelf")
KEYED = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "maxItems": 5}


@pytest.mark.parametrize(
    ("schema", "within"),
    [
        (listed({**TEXT, **OLD}, 5), ".properties[spec]"),
        ({**listed({**TEXT, **OLD}, 5), "x-kubernetes-list-type": "set"}, ".properties[spec]"),
        ({**listed(objects(["k"], k=TEXT, v={**TEXT, **OLD})), **KEYED}, None),
        (mapped({**TEXT, **OLD}, 5), None),
        ({**listed(TEXT, 5), **OLD}, None),
        (listed(objects([], m=mapped({**TEXT, **OLD}, 5)), 5), ".properties[spec]"),
        (
            {**listed(objects(["k"], k=TEXT, l=listed({**TEXT, **OLD}, 5))), **KEYED},
            ".properties[spec].items.properties[l]",
        ),
        (listed({**TEXT, **rules("self != 'oldSelf'")}, 5), None),
    ],
    ids=["list", "set", "keyed list", "map", "the list itself", "below a list", "list in a keyed list", "only a text"],
)
def test_where_a_rule_may_ask_for_the_old_value(schema, within):
    found = errors(schema)
    text = "oldSelf cannot be used on the uncorrelatable portion of the schema within"
    wanted = [] if within is None else [f'Invalid value: "self == oldSelf": {text} {ROOT}{within}']
    assert [error.message for error in found] == wanted


@pytest.mark.parametrize("value", [True, False])
def test_an_optional_old_value_must_be_used(value):
    [error] = errors({**TEXT, **rules("self == 'a'", optionalOldSelf=value)})
    assert error.field == f"{ROOT}.properties[spec].x-kubernetes-validations[0].optionalOldSelf"
    assert error.message == f"Invalid value: {str(value).lower()}: may not be set if oldSelf is not used in rule"
