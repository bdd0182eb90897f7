"""Fires of a CronFederatedHPA as its status remembers them: announced, due, claimed and ended."""

from typing import Any

import pytest
from tests.growth import Work, excess, grows, work

from karmada.api.autoscaling.v1alpha1 import CronFederatedHPARule, ExecutionHistory
from karmada.machinery.clock import parse_rfc3339, rfc3339
from karmada.policies.autoscaling.executions import (
    DEADLINE,
    INTERRUPTED,
    Histories,
    announced,
    claimed,
    due,
    ended,
    history_of,
    next_fire,
)

NOON = parse_rfc3339("2026-01-01T12:00:00Z")
HOUR = 3600.0


def rule(name: str = "up", schedule: str = "0 * * * *", **fields: Any) -> CronFederatedHPARule:
    return CronFederatedHPARule(name=name, schedule=schedule, **fields)


def announcing(seconds: float, name: str = "up") -> Histories:
    return (ExecutionHistory(rule_name=name, next_execution_time=rfc3339(NOON + seconds)),)


def next_of(histories: Histories, *rules: CronFederatedHPARule, now: float = NOON) -> list[float | None]:
    """What is announced for each rule, in seconds after noon."""
    times = [history.next_execution_time for history in announced(histories, rules, now)]
    return [None if text is None else parse_rfc3339(text) - NOON for text in times]


def test_the_next_fire_of_a_rule_is_announced() -> None:
    assert next_of((), rule(), rule("half", "30 * * * *")) == [HOUR, HOUR / 2]
    assert next_of((), rule(suspend=True), rule("bad", "nonsense")) == [None, None]
    assert next_fire(rule(time_zone="Asia/Kolkata"), NOON) == rfc3339(NOON + HOUR / 2)
    assert [one.rule_name for one in announced(announcing(HOUR, "gone"), [rule()], NOON)] == ["up"]


@pytest.mark.parametrize("seconds", [-2 * HOUR, 0, HOUR], ids=["missed", "now", "next"])
def test_an_announced_fire_of_the_schedule_stays_until_it_is_claimed(seconds: float) -> None:
    assert next_of(announcing(seconds), rule()) == [seconds]


@pytest.mark.parametrize("seconds", [-HOUR / 2, -1, 1, 2 * HOUR], ids=["before", "just before", "just after", "later"])
def test_a_fire_that_is_not_of_the_schedule_is_announced_anew(seconds: float) -> None:
    assert next_of(announcing(seconds), rule()) == [HOUR]


def test_a_fire_of_a_rule_that_is_suspended_since_is_announced_no_more() -> None:
    assert next_of(announcing(HOUR), rule(suspend=True)) == [None]


@pytest.mark.parametrize(("seconds", "kept"), [(-HOUR, True), (60, True), (90, True), (91, False)])
def test_a_fire_at_fixed_distances_stays_unless_it_is_further_away_than_one_distance(
    seconds: float, kept: bool
) -> None:
    assert next_of(announcing(seconds), rule(schedule="@every 90s")) == [seconds if kept else 90]


def test_fires_are_due_at_their_time_and_in_the_order_of_their_times() -> None:
    early, late = rule("early", "30 * * * *"), rule("late")
    histories = announcing(0, "late") + announcing(-HOUR / 2, "early")
    assert due(histories, [late, early], NOON - HOUR) == []
    assert [fire.rule.name for fire in due(histories, [late, early, rule("new")], NOON)] == ["early", "late"]


def test_missed_fires_are_made_up_for_by_the_last_one() -> None:
    assert [fire.scheduled for fire in due(announcing(-HOUR), [rule()], NOON)] == [rfc3339(NOON)]
    [fire] = due(announcing(-2 * HOUR), [rule()], NOON + 60)
    assert (fire.announced, fire.scheduled) == (rfc3339(NOON - 2 * HOUR), rfc3339(NOON))
    assert (fire.next, fire.lateness, fire.is_missed) == (rfc3339(NOON + HOUR), 60, False)


def test_what_is_due_costs_each_rule_the_same_however_many_there_are_and_however_often_they_fire() -> None:
    def measured(count: int) -> Work:
        rules = [rule(str(number), "@every 1s") for number in range(count)]
        histories = announced((), rules, NOON - DEADLINE)
        return work(lambda: len(due(histories, rules, NOON)))

    assert not grows(excess(measured) or Work(0, 0, 0))
    assert measured(10).calls < 2_000


@pytest.mark.parametrize(("late", "missed"), [(DEADLINE, False), (DEADLINE + 1, True)])
def test_a_fire_that_is_an_hour_late_is_missed(late: float, missed: bool) -> None:
    assert DEADLINE == HOUR
    [fire] = due(announcing(0), [rule(schedule="0 12 * * *")], NOON + late)
    assert fire.is_missed is missed


def test_a_fire_is_claimed_once_by_announcing_the_one_after_it() -> None:
    histories = announcing(0)
    [fire] = due(histories, [rule()], NOON)
    claim = claimed(histories, fire, NOON)
    [history] = claim
    assert history.next_execution_time == rfc3339(NOON + HOUR)
    assert [(one.schedule_time, one.message) for one in history.failed_executions] == [(rfc3339(NOON), INTERRUPTED)]
    assert claimed(claim, fire, NOON) is claim
    assert claimed((), fire, NOON) == ()


def test_the_outcome_takes_the_place_of_the_claim() -> None:
    histories = announcing(0) + announcing(HOUR, "other")
    [fire] = due(histories, [rule(target_replicas=3)], NOON)
    claim = claimed(histories, fire, NOON)
    done, other = ended(claim, fire, "", NOON + 1)
    assert done.failed_executions == ()
    [success] = done.successful_executions
    assert (success.schedule_time, success.execution_time) == (rfc3339(NOON), rfc3339(NOON + 1))
    assert success.applied_replicas == 3
    assert other is claim[1]
    broken = history_of(ended(claim, fire, "no such target", NOON + 1), "up")
    assert broken is not None
    assert [one.message for one in broken.failed_executions] == ["no such target"]
    assert broken.next_execution_time == done.next_execution_time == rfc3339(NOON + HOUR)
    assert ended((), fire, "", NOON) == ()


@pytest.mark.parametrize("failure", ["", "no such target"])
@pytest.mark.parametrize(("limit", "remembered"), [(None, 3), (1, 1), (0, 0)])
def test_so_many_outcomes_are_remembered_the_last_first(failure: str, limit: int | None, remembered: int) -> None:
    given = rule(failed_history_limit=limit, successful_history_limit=limit)
    histories = announcing(0)
    for hour in range(5):
        now = NOON + hour * HOUR
        [fire] = due(histories, [given], now)
        histories = ended(claimed(histories, fire, now), fire, failure, now)
    [history] = histories
    kept = history.failed_executions if failure else history.successful_executions
    assert [one.schedule_time for one in kept] == [rfc3339(NOON + hour * HOUR) for hour in (4, 3, 2)][:remembered]
    assert not (history.successful_executions if failure else history.failed_executions)


def test_a_success_does_not_cost_an_earlier_failure_its_place() -> None:
    given = rule(failed_history_limit=1)
    histories = announcing(0)
    for hour, failure in enumerate(["broken", ""]):
        now = NOON + hour * HOUR
        [fire] = due(histories, [given], now)
        histories = ended(claimed(histories, fire, now), fire, failure, now)
    assert [one.message for one in histories[0].failed_executions] == ["broken"]
