"""The runner itself: what counts as passed, failed, excused, left out or unsupported."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from karmada.testing.golden.__main__ import main
from karmada.testing.golden.bare import bare
from karmada.testing.golden.case import Case, Excuse, Failed, Topic
from karmada.testing.golden.compare import first_difference
from karmada.testing.golden.run import run


def double(given: dict[str, int]) -> dict[str, int]:
    if given["n"] < 0:
        raise Failed("negative")
    return {"value": given["n"] * 2}


DOUBLING = Topic("doubling", {"math.Double": double})


def record(number: int, expect: dict[str, Any], op: str = "math.Double") -> dict[str, Any]:
    return {"id": f"c{number}", "op": op, "input": {"n": number}, "expect": expect}


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\n".join(orjson.dumps(item) for item in records))
    return path


def test_counts_passed_and_failed_and_names_the_failing_case(tmp_path: Path) -> None:
    write(tmp_path / "doubling" / "a.jsonl", [record(1, {"value": 2}), record(2, {"value": 5})])
    report = run(tmp_path, [DOUBLING])
    assert report.passed == 1
    assert [(f.id, f.reason) for f in report.failures] == [("doubling/a/c2", "$.value: expected 5, got 4")]


def test_a_recorded_error_is_compared_with_the_failure(tmp_path: Path) -> None:
    file = write(tmp_path / "doubling" / "a.jsonl", [record(-1, {"error": "negative"}), record(-2, {"error": "odd"})])
    report = run(file, [DOUBLING])
    assert (report.passed, len(report.failures)) == (1, 1)


def test_a_defect_in_our_code_fails_the_case(tmp_path: Path) -> None:
    file = write(tmp_path / "doubling" / "a.jsonl", [{"id": "x", "op": "math.Double", "input": {}, "expect": {}}])
    assert run(file, [DOUBLING]).failures[0].reason == "raised KeyError: \"'n'\""


def test_unknown_folders_and_operations_are_reported_and_fail_unless_they_are_listed(tmp_path: Path) -> None:
    write(tmp_path / "doubling" / "a.jsonl", [record(1, {"value": 3}, op="math.Triple")])
    write(tmp_path / "tripling" / "a.jsonl", [record(1, {"value": 3}, op="math.Triple")])
    (tmp_path / "pictures").mkdir()
    report = run(tmp_path, [DOUBLING])
    assert report.unsupported == {"math.Triple": 1, "tripling": 1, "pictures": 0}
    assert [failure.id for failure in report.failures] == ["math.Triple/unsupported", "tripling/unsupported"]
    assert not run(tmp_path, [DOUBLING], not_yet=("math.Triple", "tripling")).has_run


def excused(where: str, applies: Callable[[Case], bool]) -> Topic:
    return Topic("doubling", DOUBLING.operations, excuses=[Excuse("on purpose", applies, where)])


def test_an_excuse_holds_for_its_own_path_only(tmp_path: Path) -> None:
    write(
        tmp_path / "doubling" / "a.jsonl",
        [record(0, {"value": 7}), *(record(n, {"value": 2 * n}) for n in range(1, 99))],
    )
    write(tmp_path / "doubling" / "b.jsonl", [record(99, {"value": 198})])
    applies = lambda case: case.input["n"] == 0  # noqa: E731
    assert run(tmp_path, [excused("$.value", applies)]).failures == []
    [failure] = run(tmp_path, [excused("$.other", applies)]).failures
    assert failure.reason == "$.value: expected 7, got 0"


def test_an_excuse_of_cases_that_do_not_differ_any_more_fails(tmp_path: Path) -> None:
    write(tmp_path / "doubling" / "a.jsonl", [record(1, {"value": 2})])
    [failure] = run(tmp_path, [excused("$", lambda case: case.input["n"] == 1)]).failures
    assert failure.reason == "no case differs any more of those excused by: on purpose"


def test_an_excuse_that_fails_on_an_input_fails_the_case_alone(tmp_path: Path) -> None:
    write(tmp_path / "doubling" / "a.jsonl", [record(1, {"value": 2}), record(2, {"value": 4})])
    report = run(tmp_path, [excused("$", lambda case: case.input["n"] == 1 and case.input["absent"])])
    assert [failure.id for failure in report.failures] == ["doubling/a/c1"]
    assert "an excuse cannot be asked" in report.failures[0].reason
    assert report.passed == 1


def test_what_crashed_the_reference_must_not_crash_us(tmp_path: Path) -> None:
    broken = {"id": "x", "op": "math.Double", "input": {}, "expect": {"panic": "boom"}}
    file = write(tmp_path / "doubling" / "a.jsonl", [broken])
    assert [failure.reason[:15] for failure in run(file, [DOUBLING]).failures] == ["raised KeyError"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"volumes": [{"emptyDir": {}}]}, {"volumes": [{}]}),
        ({"ingress": [{}]}, {"ingress": []}),
        ({"podSelector": {}}, {}),
    ],
)
def test_an_empty_object_that_says_something_is_not_left_out(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert first_difference(bare(one), bare(other)) is not None


def test_what_go_fills_in_is_left_out() -> None:
    filled = {"metadata": {"creationTimestamp": None}, "spec": {"resources": {"limits": {}}}, "status": {}}
    assert first_difference(bare(filled), bare({"spec": {}})) is None


def test_a_single_file_in_a_foreign_folder_is_recognised_by_its_operations(tmp_path: Path) -> None:
    file = write(tmp_path / "elsewhere" / "a.jsonl", [record(1, {"value": 2})])
    assert run(file, [DOUBLING]).passed == 1


def test_cases_on_which_the_reference_crashed_are_left_out(tmp_path: Path) -> None:
    file = write(tmp_path / "doubling" / "a.jsonl", [record(1, {"panic": "boom"})])
    report = run(file, [DOUBLING])
    assert (report.passed, report.crashed, report.failures) == (0, 1, [])


@pytest.mark.parametrize(("others", "failures"), [(99, 0), (98, 1)], ids=["one in a hundred", "more than that"])
def test_excuses_are_counted_and_limited_to_a_hundredth(tmp_path: Path, others: int, failures: int) -> None:
    excuse = Excuse("zero is special", lambda case: case.input["n"] == 0)
    topic = Topic("doubling", DOUBLING.operations, excuses=[excuse])
    write(tmp_path / "doubling" / "a.jsonl", [record(0, {"value": 7})])
    write(tmp_path / "doubling" / "b.jsonl", [record(n, {"value": 2 * n}) for n in range(1, others + 1)])
    for path in (tmp_path, tmp_path / "doubling", tmp_path / "doubling" / "a.jsonl"):
        report = run(path, [topic])
        assert report.excused == {("doubling", "zero is special"): 1}
        assert len(report.failures) == failures


def test_any_of_several_recorded_outcomes_is_right(tmp_path: Path) -> None:
    def read(item: dict[str, Any]) -> Case:
        return Case(item["id"], "math.Double", item["input"], tuple(item["anyOf"]))

    topic = Topic("doubling", DOUBLING.operations, read=read)
    file = write(
        tmp_path / "doubling" / "a.jsonl", [{"id": "x", "input": {"n": 1}, "anyOf": [{"value": 1}, {"value": 2}]}]
    )
    assert run(file, [topic]).passed == 1


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ({"a": None}, {}),
        ({}, {"a": []}),
        ({"a": None}, {"a": []}),
        (1, 1.0),
        ("id <uuid>!", "id 0b4f1e6c-8a57-4a44-9f0e-2f3c5f0a1b2c!"),
        ({"t": "<now>"}, {"t": "2026-08-21T10:00:00Z"}),
        ("<uuid>", "<uuid>"),
    ],
)
def test_same_outcomes(expected: object, actual: object) -> None:
    assert first_difference(expected, actual) is None


@pytest.mark.parametrize(
    ("expected", "actual"),
    [(1, True), (0, False), (0, None), ("", None), ("<uuid>", "no"), ([1], [1, 2]), ({"a": {}}, {"a": None}), ("1", 1)],
)
def test_different_outcomes(expected: object, actual: object) -> None:
    assert first_difference(expected, actual) is not None


def test_command_line_ends_with_the_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(Path(__file__).parent / "data")]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith(" passed, 0 failed")


@pytest.mark.parametrize("content", ["not json", "[1]"])
def test_a_file_without_cases_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str) -> None:
    file = tmp_path / "broken.jsonl"
    file.write_text(content)
    assert main([str(file)]) == 2
    assert f"{file}, line 1" in capsys.readouterr().err


def test_command_line_fails_when_nothing_was_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tripling").mkdir()
    assert main([str(tmp_path)]) == 2
    assert main([str(tmp_path / "absent")]) == 2
    assert capsys.readouterr().out.splitlines()[-1] == "0 passed, 0 failed"
