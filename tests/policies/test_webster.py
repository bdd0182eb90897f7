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
        pytest.param(2, [7, 2], True, [2, 0], id="two by 7:2"),
        pytest.param(3, [7, 2], True, [2, 1], id="three by 7:2"),
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


def one_by_one(seats: int, given: dict[str, int], initial: dict[str, int], ascending: bool) -> dict[str, int]:
    """The method as it is defined, without any short cut."""
    names = sorted(given, reverse=not ascending)
    result = {name: initial.get(name, 0) for name in given}
    for _ in range(seats if any(given.values()) else 0):
        running = [name for name in names if given[name]]
        winner = min(running, key=lambda name: (-given[name] / (2 * result[name] + 1), result[name], names.index(name)))
        result[winner] += 1
    return result


@given(st.integers(1, 90), votes.filter(lambda found: any(found.values())), votes, st.booleans())
def test_seats_are_divided_as_if_each_were_contested(
    seats: int, given: dict[str, int], initial: dict[str, int], ascending: bool
) -> None:
    expected = initial | one_by_one(seats, given, initial, ascending)
    assert divide(seats, given.items(), initial, ascending) == sorted(expected.items())


def test_without_seats_everybody_keeps_what_they_hold() -> None:
    assert divide(0, [("m1", 1)], {"m2": 3}) == [("m2", 3)]
    assert divide(-1, [("m1", 1)], {"m1": 3}) == [("m1", 3)]
    assert divide(1, [("m1", 1)], {"m2": 3}) == [("m1", 1), ("m2", 3)]
    assert divide(0, [("m1", 1), ("m2", 0)]) == [("m1", 0), ("m2", 0)]


def test_the_direction_of_ties_is_the_last_bit_of_the_uids_hash() -> None:
    up, down = ("", "a", "c", "foobar", "uid-2"), ("b", "uid-1", "uid-3", "web")
    assert [ties_ascend(uid) for uid in up] == [True] * len(up)
    assert [ties_ascend(uid) for uid in down] == [False] * len(down)


@pytest.mark.parametrize(
    ("seats", "given", "initial"),
    [
        (13, {f"m{number:02}": 1 for number in range(30)}, {}),
        (15, {f"m{number:02}": number for number in range(30)}, {}),
        (20, {"m1": 10, "m2": 0}, {}),
        (20, {"m1": 10, "m2": 0, "m3": 7}, {"m2": 3}),
        (40, {"m1": 1, "m2": 9, "m3": 3}, {"m1": 30}),
    ],
    ids=["more parties than seats", "as many as seats twice", "no votes", "no votes and seats", "more than its due"],
)
def test_many_seats_are_divided_as_if_each_were_contested(
    seats: int, given: dict[str, int], initial: dict[str, int]
) -> None:
    assert dict(divide(seats, given.items(), initial)) == one_by_one(seats, given, initial, ascending=True)
