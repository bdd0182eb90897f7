"""Types of a policy's own variables, however many there are."""

import pytest

from karmada.apiserver import cel
from karmada.apiserver.builtin.strategies.policy_variables import MOST_TYPED, declared, given


def variables(count: int) -> dict[str, str]:
    known = given(["object", "variables"])
    for number in range(count):
        known = declared(known, f"v{number}", "1")
    return known


@pytest.mark.parametrize(("count", "expected"), [(1, "int"), (MOST_TYPED, "int"), (MOST_TYPED + 1, None)])
def test_variables_have_types_unless_there_are_too_many(count: int, expected: str | None) -> None:
    known = variables(count)

    assert known.get("variables.v0") == expected
    assert known["variables"] == (cel.DYN if expected else "map(string, dyn)")


def test_what_is_known_does_not_grow_with_ever_more_variables() -> None:
    assert len(variables(5 * MOST_TYPED)) == len(given(["object", "variables"]))
