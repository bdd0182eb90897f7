"""Diffs that are bounded: what they say is what has to be changed, however the texts differ."""

import re

from hypothesis import given
from hypothesis import strategies as st

from karmada.dashboard.line_diff import line_diff

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
    found = line_diff(before, after)
    assert patched(before, found.hunks()) == after
    assert patched(before, found.replaced()) == after


def test_equal_texts_have_no_diff() -> None:
    found = line_diff(["a\n"], ["a\n"])
    assert (found.hunks(), found.replaced(), found.effort) == ("", "", 0)


def test_lines_that_differ_from_each_other_take_little_effort_however_far_apart_the_changes_are() -> None:
    before = [f"{number}\n" for number in range(2_000)]
    after = ["first\n", *before[1:-1], "last\n"]
    found = line_diff(before, after)
    assert found.hunks().count("\n") == 2 * 6
    assert found.effort < 4_000_000


def test_lines_that_repeat_take_effort_that_grows_with_their_pairs() -> None:
    def effort(lines: int) -> int:
        before = [f"c{number % 10}\n" for number in range(lines)]
        return line_diff(before, [line for each in before for line in (each, "other\n")][1:]).effort

    assert effort(400) > 6 * effort(200)
