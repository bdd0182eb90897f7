"""Validation rules on values whose JSON does not show their type: times, numbers without a point, bytes."""

from typing import Any

import pytest

from karmada.apiserver.crds.expressions import validate
from karmada.apiserver.crds.types import custom_schema

_TIME = {"type": "string", "format": "date-time"}
_SPEC: dict[str, Any] = {
    "type": "object",
    "properties": {
        "at": _TIME,
        "long": {"type": "string", "format": "duration"},
        "share": {"type": "number"},
        "raw": {"type": "string", "format": "byte"},
        "times": {"type": "array", "items": _TIME},
        "byName": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}
_VALUE = {
    "at": "2024-01-01T00:00:00Z",
    "long": "90m",
    "share": 2,
    "raw": "YQ==",
    "times": ["2023-06-01T00:00:00+02:00"],
    "byName": {"a": "b"},
}


def broken(rule: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    """The fields and messages of a rule that a value breaks."""
    schema = custom_schema({"type": "object", "properties": {"spec": {**_SPEC, "x-kubernetes-validations": [rule]}}})
    before = None if old is None else {"spec": old}
    return [f"{error.field}: {error.message}" for error in validate(schema, {"spec": _VALUE}, before)]


@pytest.mark.parametrize(
    "rule",
    [
        "self.at > timestamp('2023-01-01T00:00:00Z') && self.at.getFullYear() == 2024",
        "has(self.at) && self.?at.orValue(timestamp('2020-01-01T00:00:00Z')) == timestamp('2024-01-01T00:00:00Z')",
        "self.at - duration('24h') == timestamp('2023-12-31T00:00:00Z')",
        "self.long == duration('1h30m') && self.long.getMinutes() == 90",
        "self.times[0].getDayOfMonth() == 30 && self.times.all(x, x < self.at)",
        "self.times.all(i, x, i == 0 && x.getFullYear() == 2023)",
        "self.share / 4.0 == 0.5",
        "double(self.share) > 1",
        "self.raw == b'a'",
        "{'a': self.at}['a'].getFullYear() == 2024",
    ],
)
def test_values_are_of_the_types_that_the_schema_declares(rule: str) -> None:
    assert broken({"rule": rule}) == []


def test_times_before_an_update_are_read_as_well() -> None:
    earlier = {**_VALUE, "at": "2023-01-01T00:00:00Z"}
    assert broken({"rule": "self.at > oldSelf.at"}, earlier) == []
    assert broken({"rule": "oldSelf.value().at < self.at", "optionalOldSelf": True}, earlier) == []
    assert broken({"rule": "self.at < oldSelf.at"}, earlier) == [
        "spec: Invalid value: failed rule: self.at < oldSelf.at"
    ]


def test_messages_may_speak_of_times() -> None:
    rule = {"rule": "false", "messageExpression": "'not in ' + string(self.at.getFullYear())"}
    assert broken(rule) == ["spec: Invalid value: not in 2024"]


def test_a_path_through_a_map_names_its_key() -> None:
    [found] = broken({"rule": "false", "message": "no", "fieldPath": ".byName.a"})
    assert found == "spec.byName[a]: Invalid value: no"
