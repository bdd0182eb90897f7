"""Resource models of a cluster: which are refused, and what is put in order."""

import pytest

from karmada.membership.cluster_rules import complete, problems

TOP = "9223372036854775807"


def spec(*models: tuple[int, str, str]) -> dict:
    grades = [{"grade": grade, "ranges": [{"name": "cpu", "min": low, "max": high}]} for grade, low, high in models]
    return {"syncMode": "Push", "resourceModels": grades}


def test_models_that_follow_one_another_are_accepted() -> None:
    assert problems(spec((0, "0", "1"), (1, "1", "2"), (2, "2", TOP))) == []


@pytest.mark.parametrize(
    ("models", "complaint"),
    [
        (((0, "1", "2"), (1, "2", TOP)), "The min value of each resource in the first model should be 0"),
        (((0, "1m", TOP),), "The min value of each resource in the first model should be 0"),
        (((0, "0", "1"), (1, "1", "2")), "The max value of each resource in the last model should be MaxInt64"),
        (((0, "0", "1"), (1, "2", TOP)), "Model intervals for resources must be contiguous and non-overlapping"),
        (((0, "0", "2"), (1, "1", TOP)), "Model intervals for resources must be contiguous and non-overlapping"),
        (((0, "0", "0"), (1, "0", TOP)), "The max value of each resource must be greater than the min value"),
        (((1, "0", "1"), (1, "1", TOP)), "The grade of each models should not be the same"),
    ],
)
def test_models_with_gaps_or_open_ends_are_refused(models: tuple[tuple[int, str, str], ...], complaint: str) -> None:
    [problem] = problems(spec(*models))
    assert problem.field == "spec.resourceModels"
    assert complaint in problem.message


def test_the_first_and_last_bounds_are_opened_and_grades_sorted() -> None:
    given = spec((2, "2", "3"), (0, "1", "2"))
    complete(given, new=True)
    assert [model["grade"] for model in given["resourceModels"]] == [0, 2]
    first, last = (model["ranges"][0] for model in given["resourceModels"])
    assert (first["min"], first["max"], last["min"], last["max"]) == ("0", "2", "2", TOP)
    assert problems(given) == []


def test_a_zone_that_is_null_is_quoted_as_an_empty_one() -> None:
    found = problems({"syncMode": "Push", "zone": "a", "zones": [None]})
    assert '"Zone":"a","zones":[""]' in found[0].message


@pytest.mark.parametrize(("time", "complaints"), [("mango", 1), ("2026-11-18T00:00:00Z", 0), (None, 0)])
def test_when_a_taint_was_added_must_be_a_time(time: str | None, complaints: int) -> None:
    taint = {"key": "a", "effect": "NoSchedule", "timeAdded": time}
    found = problems({"syncMode": "Push", "taints": [taint]})
    assert [problem.field for problem in found] == ["spec.taints[0].timeAdded"] * complaints
