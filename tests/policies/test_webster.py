"""Dividing seats: examples from the specification and laws of the method."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karmada.policies.webster import divide, ties_ascend

votes = st.dictionaries(st.sampled_from(["m1", "m2", "m3", "m4"]), st.integers(0, 50), max_size=4)


@pytest.mark.parametrize(
    ("seats", "weights", "ascending", "expected"),
    [
        pytest.param(9, [1, 2], True, [3, 6], id="nine by 1:2"),
        pytest.param(9, [1, 3], True, [2, 7], id="nine by 1:3"),
        pytest.param(12, [6, 12, 18], True, [2, 4, 6], id="twelve by 6:12:18"),
        pytest.param(5, [2, 1, 1], True, [3, 1, 1], id="five by 2:1:1"),
        pytest.param(3, [1, 1], True, [2, 1], id="a tie goes up the alphabet"),
        pytest.param(3, [1, 1], False, [1, 2], id="a tie goes down the alphabet"),
        pytest.param(2, [1, 1, 1], False, [0, 1, 1], id="two of three, down the alphabet"),
        pytest.param(7, [1, 2, 3], True, [1, 2, 4], id="seven by 1:2:3"),
    ],
)
def test_worked_examples(seats: int, weights: list[int], ascending: bool, expected: list[int]) -> None:
    shares = divide(seats, [(f"m{i}", weight) for i, weight in enumerate(weights, 1)], ascending=ascending)
    assert [share.seats for share in shares] == expected


@given(st.integers(0, 200), votes, st.booleans())
def test_all_seats_are_handed_out_when_anyone_has_votes(seats: int, given: dict[str, int], ascending: bool) -> None:
    total = sum(share.seats for share in divide(seats, given.items(), ascending=ascending))
    assert total == (seats if any(given.values()) else 0)


@given(st.integers(0, 100), votes, st.booleans())
def test_one_more_seat_takes_none_away(seats: int, given: dict[str, int], ascending: bool) -> None:
    before = dict(divide(seats, given.items(), ascending=ascending))
    after = dict(divide(seats + 1, given.items(), ascending=ascending))
    assert all(after[name] >= before[name] for name in before)


def test_the_direction_of_ties_depends_on_the_uid_only() -> None:
    assert ties_ascend("")
    assert ties_ascend("uid-a") == ties_ascend("uid-a")
