"""Setting one of an object's conditions."""

import pytest

from karmada.api.meta import LONGEST_MESSAGE, Condition, set_condition


def condition(type_: str, status: str = "True", at: str = "2026-01-01T00:00:00Z", message: str = "") -> Condition:
    return Condition(type=type_, status=status, last_transition_time=at, reason="R", message=message)


OLD = (condition("A"), condition("B"), condition("C"))
LATER = "2026-01-02T00:00:00Z"


@pytest.mark.parametrize(
    ("status", "since"),
    [("True", "2026-01-01T00:00:00Z"), ("False", LATER)],
    ids=["same status", "another status"],
)
def test_a_condition_is_replaced_in_its_place_and_is_as_old_as_its_status(status: str, since: str) -> None:
    changed = set_condition(OLD, condition("B", status, LATER, "changed"))
    assert changed == (OLD[0], condition("B", status, since, "changed"), OLD[2])


def test_a_new_condition_comes_last() -> None:
    assert set_condition(OLD, condition("D")) == (*OLD, condition("D"))


def test_a_message_that_no_server_would_take_is_cut() -> None:
    (cut,) = set_condition((), condition("A", message="x" * (LONGEST_MESSAGE + 1)))
    assert len(cut.message) == LONGEST_MESSAGE
    assert cut.message.endswith("x...")
