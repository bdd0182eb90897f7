"""Diffs that are bounded: what they say is what has to be changed, however the texts differ."""

import re

from hypothesis import given
from hypothesis import strategies as st
from tests.growth import work

from karmada.dashboard.line_diff import MOST, line_diff

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n"]), max_size=30)


def patched(before: list[str], diff: str) -> list[str]:
    """What `patch` makes of a text."""
    made: list[str] = []
    at = 0
    for line in diff.splitlines(keepends=True):
        if found := re.match(r"@@ -(\d+)(?:,(\d+))? ", line):
            first = int(found[1]) - (found[2] != "0")
            made += before[at:first]
            at = first
        elif line[0] == "+":
            made.append(line[1:])
        else:
            assert before[at] == line[1:]
            made += [before[at]] * (line[0] == " ")
            at += 1
    return made + before[at:]


@given(LINES, LINES, LINES, LINES)
def test_a_diff_makes_one_text_of_the_other(head: list[str], old: list[str], new: list[str], tail: list[str]) -> None:
    before, after = [*head, *old, *tail], [*head, *new, *tail]
    assert patched(before, line_diff(before, after)) == after


@given(LINES, LINES)
def test_so_does_one_that_shows_all_lines_as_replaced(head: list[str], tail: list[str]) -> None:
    before = [*head, *(f"{number}\n" for number in range(MOST + 1)), *tail]
    after = [*head, *(f"{number}\n" for number in range(MOST + 1, 0, -1)), *tail]
    assert patched(before, line_diff(before, after)) == after


def test_equal_texts_have_no_diff() -> None:
    assert line_diff(["a\n"], ["a\n"]) == ""


def test_what_repeats_in_long_texts_takes_no_more_time_than_it_has_lines() -> None:
    def texts(lines: int) -> tuple[list[str], list[str]]:
        before = [f"c{number % 100}\n" for number in range(lines)]
        return before, [line for number, each in enumerate(before) for line in (each, f"{number:x}s\n")]

    small, large = texts(2_000), texts(8_000)
    assert work(lambda: line_diff(*large)).calls < 5 * work(lambda: line_diff(*small)).calls
