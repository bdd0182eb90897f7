"""Sorting the differences between recorded and found traces, and the list of those that are meant."""

from pathlib import Path

import pytest

from karmada.testing.traces.comparing import Difference, Explanation, judge
from karmada.testing.traces.explanations import EXPLANATIONS
from karmada.testing.traces.scenarios import by_setting, find

OUTPUT = """\
== quiet: same
== noisy: 3 differences
  01-a.yaml karmada/Work x/status/manifestStatuses/[Deployment/web]/status/generation
      A: 5
      B: 4
  01-a.yaml karmada/Deployment.apps ns/web/spec/replicas
      A: 2
      B: 3
  event only in A (step 01-a.yaml): Work ns w Normal WorkDispatching
== lost: only in A
7 differences
"""
LOWER = Explanation("fewer writes", r"/status/generation$")


def test_differences_without_an_explanation_are_printed_in_full() -> None:
    verdict = judge(OUTPUT, [LOWER])
    assert verdict.same == ["quiet"]
    assert verdict.explained == {"fewer writes": 1}
    spec, event = verdict.unexplained["noisy"]
    assert (spec.expected, spec.found) == ("2", "3")
    assert "WorkDispatching" in event.place
    [lost] = verdict.unexplained["lost"]
    assert lost.place == "was not run to its end"


@pytest.mark.parametrize("output", ["", "Traceback (most recent call last):", "== other: same\n"])
def test_a_comparison_that_failed_is_a_difference(output: str) -> None:
    verdict = judge(output, [], "wanted")
    assert [difference.place for difference in verdict.unexplained["wanted"]] == [
        "was not compared: the comparison failed"
    ]
    assert "wanted" not in verdict.same


@pytest.mark.parametrize(
    ("place", "covered"),
    [
        ("02-b.yaml members/member3/Deployment.apps ns/web/status/readyReplicas", True),
        ("02-b.yaml karmada/Deployment.apps ns/web/status/replicas", True),
        ("02-b.yaml members/member1/Deployment.apps ns/web/status/readyReplicas", False),
        ("02-b.yaml members/member3/Deployment.apps ns/web/spec/replicas", False),
        ("02-b.yaml karmada/ResourceBinding.work.karmada.io ns/web/spec/replicas", False),
    ],
)
def test_what_one_member_lacked_explains_nothing_about_others(place: str, covered: bool) -> None:
    difference = Difference("preemption-gate-on", place, "0", "1")
    assert any(known.covers(difference) for known in EXPLANATIONS) is covered


@pytest.mark.parametrize(
    ("difference", "covered"),
    [
        (Difference("s", "x/spec/propagateDeps", "<absent>", "false"), True),
        (Difference("s", "x/spec/propagateDeps", "true", "false"), False),
        (Difference("s", "x/spec/priority", "<absent>", "false"), False),
    ],
    ids=["as-described", "another-recorded-value", "another-place"],
)
def test_an_explanation_covers_what_it_describes_and_nothing_else(difference: Difference, covered: bool) -> None:
    known = Explanation("kept", r"spec/propagateDeps$", expected="^<absent>$", found="^false$")
    assert known.covers(difference) is covered


def test_explanations_are_few_and_all_in_the_documentation() -> None:
    assert len(EXPLANATIONS) <= 10
    assert len({known.reason for known in EXPLANATIONS}) == len(EXPLANATIONS)
    page = (Path(__file__).parents[2] / "docs" / "differences-from-karmada.md").read_text()
    rows = [line for line in page.partition("| what you see |")[2].partition("\n\n")[0].splitlines()[2:] if line]
    assert len(rows) == len(EXPLANATIONS)


def test_scenarios_that_take_the_fleet_apart_come_last(tmp_path: Path) -> None:
    for name, text in (("a", "area: x\nlast: true"), ("b", "area: x\nprofile: gates"), ("c", "area: x")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "scenario.yaml").write_text(text)
    found = find(tmp_path)
    assert [scenario.name for scenario in found] == ["b", "c", "a"]
    assert {profile: len(group) for (profile, _), group in by_setting(found).items()} == {"gates": 1, "default": 2}
    assert [scenario.name for scenario in find(tmp_path / "b")] == ["b"]
