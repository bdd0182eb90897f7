"""Expressions of webhooks and policies whose literals or calls no server can evaluate are refused."""

import pytest

from karmada.apiserver.builtin.strategies.match_conditions import condition_errors

_VARIABLES = {"object": "dyn", "oldObject": "dyn"}


@pytest.mark.parametrize(
    "expression",
    [
        "cel.bind(x, 1, x > 0)",
        "math.greatest(1, 2) == 2",
        "base64.encode(b'a') == 'x'",
        "'abc'.reverse() == 'cba'",
        "[1, 'a'].size() == 2",
        "{'a': 1, 'b': 'c'}.size() == 2",
        "object.metadata.name.matches('[')",
        "timestamp('x') == timestamp('y')",
        "'%d'.format(['a']) == ''",
        "['a'].sum() > 1",
        "ip('1.1.1.1') == 1",
    ],
)
def test_what_cannot_be_evaluated_is_refused(expression: str) -> None:
    [error] = condition_errors("expression", expression, _VARIABLES)
    assert "compilation failed" in error.message


@pytest.mark.parametrize(
    "expression",
    [
        "double(object.spec.replicas) > 0",
        "lists.range(3) == [0, 1, 2]",
        "semver('v1.0', true).major() == 1 && !isSemver('v1.0', false)",
        "'abcabc'.lastIndexOf('abc', 4) == 3",
        "[1, 2].first().hasValue()",
        "object.metadata.labels.all(key, value, key != value)",
    ],
)
def test_what_can_be_evaluated_is_accepted(expression: str) -> None:
    assert condition_errors("expression", expression, _VARIABLES) == []
