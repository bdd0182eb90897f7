"""Types of validation rules: what a stock server refuses when a definition is written, and what it accepts."""

from typing import Any

import pytest

from karmada.apiserver.crds.rules import validate_rules

JSONObject = dict[str, Any]
_TEXT: JSONObject = {"type": "string", "maxLength": 20}
_INNER: JSONObject = {"type": "object", "properties": {"v": {"type": "integer"}, "name": _TEXT}}
_FIELDS: JSONObject = {
    "n": {"type": "integer"},
    "f": {"type": "number"},
    "t": _TEXT,
    "b": {"type": "boolean"},
    "d": {"type": "string", "format": "date-time"},
    "u": {"type": "string", "format": "duration"},
    "q": {"x-kubernetes-int-or-string": True},
    "l": {"type": "array", "maxItems": 5, "items": _TEXT},
    "i": {"type": "array", "maxItems": 5, "items": {"type": "integer"}},
    "m": {"type": "object", "maxProperties": 5, "additionalProperties": _TEXT},
    "o": {**_INNER, "nullable": True},
    "k": {"type": "array", "maxItems": 5, "items": _INNER},
    "x-y": {"type": "integer"},
    "namespace": {"type": "integer"},
    "a b": {"type": "integer"},
    "untyped": {"x-kubernetes-preserve-unknown-fields": True},
}


def problems(rule: JSONObject, fields: JSONObject | None = None) -> list[str]:
    """The fields of a rule that are refused, with the reasons."""
    schema = {"type": "object", "properties": fields or _FIELDS, "x-kubernetes-validations": [rule]}
    found = validate_rules({"type": "object", "properties": {"spec": schema}}, "schema")
    return [f"{error.field.rpartition('].')[2]}: {error.message}" for error in found]


@pytest.mark.parametrize(
    "rule",
    [
        "self.f > 1 && 1.5 < double(self.n) && self.n >= 0.5",
        "self.o == null || self.o.v > 1",
        "self.k.filter(x, has(x.v)).map(x, x.name) == []",
        "self.k.all(i, x, i > 0 && x.v > i)",
        "self.namespace > 0 && self.__namespace__ > 0 && self.x__dash__y > 0",
        "self.q == 1 || self.q == 'a'",
        "self.?o.v.orValue(3) > 2",
        "self.m[?'a'].optMap(x, x == 'b').hasValue()",
        "'%s is %d'.format([self.l, self.n]) != ''",
        "self.d.getFullYear() > 2000 && self.u < duration('1h')",
        "self.i.sum() > 1 && self.l.min() == 'a' && self.l.isSorted()",
        "quantity(self.t).add(1).isLessThan(quantity('2')) && sign(quantity('1')) > 0",
        "cidr('10.0.0.0/8').ip() == ip('10.0.0.1') && string(ip('::1')) != ''",
        "url('https://a/' + self.t).getQuery()['a'].size() > 0",
        "self.d == null",
        "type(self.q) == int",
        "[self.l, []].size() == 2",
        "oldSelf.n == self.n",
    ],
)
def test_rules_that_fit_their_types_are_accepted(rule: str) -> None:
    assert problems({"rule": rule}) == []


@pytest.mark.parametrize(
    "rule",
    [
        "self.o.startsWith('a')",
        "self.o.nope == 1",
        "self.untyped == 1",
        "self.t.reverse() == ''",
        "self.l.sum() > 0",
        "self.t > 1",
        "self.n == 1.0",
        "self.t == null",
        "self.f / 2 > 1.0",
        "self.t + 1 == 'a'",
        "[1, 'a'].size() == 2",
        "[self.n, self.q].size() == 2",
        "{'a': 1, 'b': 'c'}.size() == 2",
        "self.t.matches('[')",
        "self.d < timestamp('yesterday')",
        "self.u < duration('1 day')",
        "'%d'.format([self.t]) == ''",
        "'%s'.format([self.n, self.n]) == ''",
        "'%y'.format([self.n]) == ''",
        "cel.bind(x, self.n, x > 1)",
        "math.greatest(self.n, 3) == 3",
        "base64.encode(b'a') == 'YQ=='",
        "self.k.all(x, x > 1)",
        "self.n.all(x, x > 1)",
        "self.b ? self.n : self.t",
        "oldSelf.hasValue()",
        "quantity('1').sign() > 0",
        "self.?n.orValue('a') == 'a'",
    ],
)
def test_rules_that_no_value_can_satisfy_are_refused(rule: str) -> None:
    [found] = problems({"rule": rule})
    assert found.startswith("rule: Invalid value")
    assert "compilation failed" in found


def test_a_rule_is_a_truth_and_a_message_a_text() -> None:
    assert "must evaluate to a bool" in problems({"rule": "self.q"})[0]
    assert "must evaluate to a string" in problems({"rule": "true", "messageExpression": "self.n"})[0]
    assert "compilation failed" in problems({"rule": "true", "messageExpression": "self.nope"})[0]


def test_an_optional_old_value_has_the_methods_of_optional_values() -> None:
    rule = "!oldSelf.hasValue() || oldSelf.value().n == self.n"
    assert problems({"rule": rule, "optionalOldSelf": True}) == []
    [refused, unused] = problems({"rule": "oldSelf.n == self.n", "optionalOldSelf": True})
    assert "compilation failed" in refused
    assert unused.startswith("optionalOldSelf: Invalid value: true")


@pytest.mark.parametrize("path", [".n", ".m.a", ".m['a.b']", "['x-y']", ".o.v"])
def test_paths_lead_to_fields_and_keys(path: str) -> None:
    assert problems({"rule": "true", "fieldPath": path}) == []


@pytest.mark.parametrize("path", ["n", ".nope", ".l[0]", ".n.x", ".", ".o.", "['n'"])
def test_paths_that_lead_nowhere_are_refused(path: str) -> None:
    assert problems({"rule": "true", "fieldPath": path})[-1].endswith("must be a valid path")


def test_what_rules_say_is_judged_once_they_are_written_well() -> None:
    [found] = problems({"rule": "self.nope", "reason": "Nope"})
    assert found.startswith("reason: Unsupported value")


def test_rules_on_values_without_a_type_are_refused() -> None:
    rules = [{"rule": "true"}]
    schema = {"type": "object", "properties": {"spec": {"x-kubernetes-validations": rules}}}
    [found] = validate_rules(schema, "schema")
    assert found.reason == "InternalError"


def test_a_value_of_a_map_that_is_selected_like_a_field_may_be_of_any_size() -> None:
    assert any("cost" in found for found in problems({"rule": "self.m.a.contains(self.t)"}))
    assert problems({"rule": "self.m['a'].contains(self.t)"}) == []
