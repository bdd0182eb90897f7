"""The rules by which fields of statuses are merged."""

from typing import Any

import pytest

from karmada.api.codec import raw
from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import InterpretError
from karmada.interpreter.thirdparty import merge
from karmada.interpreter.thirdparty.merge import KEPT, Rule, aggregation


def merged(rule: Rule, *values: Any, present: Any = None, **options: Any) -> Any:
    """What a field becomes when the clusters report these values; None is a cluster without the field."""
    items = [
        AggregatedStatusItem(cluster_name=f"m{index}", status=raw({} if value is None else {"x": value}))
        for index, value in enumerate(values, 1)
    ]
    template = {"metadata": {"generation": 3}, "status": {} if present is None else {"x": present}}
    return aggregation({"x": rule}, **options)(template, items)["status"].get("x")


@pytest.mark.parametrize(
    ("rule", "values", "found"),
    [
        (merge.total, (1, None, 2), 3),
        (merge.total, (), 0),
        (merge.total, ("2", 1), 3),
        (merge.last("none"), (1, 2, None), 2),
        (merge.last("none"), (None,), "none"),
        (merge.last_filled(""), ("a", ""), "a"),
        (merge.first(), (None, 1, 2), 1),
        (merge.latest, ("2024-01-02", "2024-01-03", "2024-01-01"), "2024-01-03"),
        (merge.earliest, ("2024-01-02", "2024-01-01"), "2024-01-01"),
        (merge.earliest_filled, ("", "2024-01-01"), "2024-01-01"),
        (merge.largest, (None, 2, 1), 2),
        (merge.joined, ([1], None, [2, 3]), [1, 2, 3]),
        (merge.united, ({"a": 1, "b": 1}, {"b": 2}), {"a": 1, "b": 2}),
        (merge.quantity, ("1", "500m"), "1500m"),
        (merge.spelled_total, ("1", "2"), "3"),
        (merge.ranked({"bad": 2, "good": 1}, "x"), ("good", "bad", "odd"), "bad"),
    ],
)
def test_rules(rule: Rule, values: tuple[Any, ...], found: Any) -> None:
    assert merged(rule, *values) == found


def test_a_field_that_nobody_reports_can_keep_what_the_template_has() -> None:
    assert merged(merge.last_filled(KEPT), "", present="old") == "old"
    assert merged(merge.last_filled(KEPT), "new", present="old") == "new"


def test_a_fresh_status_has_nothing_of_the_old_one() -> None:
    assert merged(merge.last(KEPT), None, present="old", fresh=True) is None


def test_the_status_of_a_single_cluster_can_be_taken_as_it_is() -> None:
    assert merged(merge.total, "text", alone=True) == "text"


@pytest.mark.parametrize("value", ["text", True, {}, [1]])
def test_what_cannot_be_added_fails(value: Any) -> None:
    with pytest.raises(InterpretError):
        merged(merge.total, value)


def test_conditions_that_agree_are_one_and_name_their_clusters() -> None:
    conditions = [[{"type": "Ready", "status": status, "message": "m"}] for status in ("True", "True", "False")]
    assert [condition["message"] for condition in merged(merge.named_conditions, *conditions)] == ["m1=m, m2=m", "m3=m"]


def test_a_condition_without_message_cannot_be_named() -> None:
    with pytest.raises(InterpretError):
        merged(merge.named_conditions, [{"type": "Ready"}])


def test_empty_parts_are_left_out_and_zeros_where_they_are_not_wanted() -> None:
    status = {"a": 0, "b": {"c": "", "d": []}, "e": [{"f": 1}]}
    assert merge.filled(status, zeros=False) == {"e": [{"f": 1}]}
    assert merge.filled(status, zeros=True) == {"a": 0, "b": {"c": ""}, "e": [{"f": 1}]}
    assert merge.filled({"a": {}}, zeros=True) is None


def test_a_list_with_an_empty_entry_in_front_of_another_fails() -> None:
    with pytest.raises(InterpretError):
        merge.filled([{}, {"a": 1}], zeros=False)
