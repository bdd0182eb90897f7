"""What the rules of a CronFederatedHPA did and will do, as its status says: the one memory of fires.

The status announces the next fire of every rule. A fire is claimed before it is executed, by announcing the one after
it: whoever finds it no longer announced does not execute it, so no fire is executed twice, whatever dies in between. A
claim leaves an entry among the failures that its outcome replaces.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec

from karmada.api import cron
from karmada.api.autoscaling.v1alpha1 import (
    CronFederatedHPARule,
    ExecutionHistory,
    FailedExecution,
    SuccessfulExecution,
)
from karmada.machinery.clock import parse_rfc3339, rfc3339

DEFAULT_LIMIT = 3
DEADLINE = 3600.0
"""Seconds after which a fire that nobody executed is missed: it is recorded as a failure and not made up for."""
INTERRUPTED = "the execution was interrupted: it is not known whether the target was scaled"
_SECOND = timedelta(seconds=1)
Histories = tuple[ExecutionHistory, ...]


@dataclass(frozen=True, slots=True)
class Fire:
    """A rule whose time has come."""

    rule: CronFederatedHPARule
    announced: str
    """The fire that the status announced."""
    scheduled: str
    """The last fire of the rule until now; earlier ones that were missed are made up for by it."""
    next: str | None
    lateness: float

    @property
    def is_missed(self) -> bool:
        """Whether it is too late to execute it."""
        return self.lateness > DEADLINE


def next_fire(rule: CronFederatedHPARule, now: float) -> str | None:
    """When a rule fires next after `now`; None while it is suspended, and for one that never does.

    Raises `CronError` for a schedule or a time zone that makes no sense.
    """
    if rule.suspend:
        return None
    run = _schedule(rule).next_run(datetime.fromtimestamp(now, UTC))
    return None if run is None else rfc3339(run.timestamp())


def announced(histories: Histories, rules: Iterable[CronFederatedHPARule], now: float) -> Histories:
    """One history per rule with its next fire; histories of rules that are gone are dropped.

    An announced fire stays until it is claimed, unless the rule does not fire then (any more).
    """
    known = {history.rule_name: history for history in reversed(histories)}
    kept: dict[str, ExecutionHistory] = {}
    for rule in rules:
        history = known.get(rule.name) or ExecutionHistory(rule_name=rule.name)
        kept.setdefault(rule.name, msgspec.structs.replace(history, next_execution_time=_next(rule, history, now)))
    return tuple(kept.values())


def due(histories: Histories, rules: Iterable[CronFederatedHPARule], now: float) -> list[Fire]:
    """The fires whose time has come, in the order of their times."""
    fires = []
    known = {history.rule_name: history for history in reversed(histories)}
    for rule in rules:
        history = known.get(rule.name)
        first = history.next_execution_time if history else None
        if first is not None and parse_rfc3339(first) <= now:
            last = _last_fire(_schedule(rule), first, now)
            fires.append(Fire(rule, first, rfc3339(last), next_fire(rule, now), now - last))
    return sorted(fires, key=lambda fire: fire.scheduled)


def history_of(histories: Sequence[ExecutionHistory], rule: str) -> ExecutionHistory | None:
    """The history of a rule."""
    return next((item for item in histories if item.rule_name == rule), None)


def claimed(histories: Histories, fire: Fire, now: float) -> Histories:
    """The histories once a fire is about to be executed; the very same ones when it is not announced (any more)."""
    history = history_of(histories, fire.rule.name)
    if history is None or history.next_execution_time != fire.announced:
        return histories
    # One more than the limit, so that a success does not cost an earlier failure its place.
    failures = (_failure(fire.scheduled, INTERRUPTED, now), *history.failed_executions)[: _failures(fire.rule) + 1]
    claim = msgspec.structs.replace(history, next_execution_time=fire.next, failed_executions=failures)
    return tuple(claim if item is history else item for item in histories)


def ended(histories: Histories, fire: Fire, failure: str, now: float) -> Histories:
    """The histories with the outcome of a claimed fire in place of the claim; `failure` is empty for a success."""
    history = history_of(histories, fire.rule.name)
    if history is None:
        return histories
    claim = (fire.scheduled, INTERRUPTED)
    kept = tuple(item for item in history.failed_executions if (item.schedule_time, item.message) != claim)
    freed = msgspec.structs.replace(history, failed_executions=kept)
    histories = tuple(freed if item is history else item for item in histories)
    if failure:
        return failed(histories, fire.rule, fire.scheduled, failure, now, history.next_execution_time)
    return succeeded(histories, fire.rule, fire.scheduled, now, history.next_execution_time)


def succeeded(
    histories: Histories, rule: CronFederatedHPARule, scheduled: str, now: float, next_: str | None
) -> Histories:
    """The histories after a rule did what it says; unchanged when the rule has none."""
    limit = DEFAULT_LIMIT if rule.successful_history_limit is None else rule.successful_history_limit
    execution = SuccessfulExecution(
        schedule_time=scheduled,
        execution_time=rfc3339(now),
        applied_replicas=rule.target_replicas,
        applied_min_replicas=rule.target_min_replicas,
        applied_max_replicas=rule.target_max_replicas,
    )
    return tuple(
        msgspec.structs.replace(
            item,
            next_execution_time=next_,
            successful_executions=(execution, *item.successful_executions)[:limit],
        )
        if item.rule_name == rule.name
        else item
        for item in histories
    )


def failed(
    histories: Histories, rule: CronFederatedHPARule, scheduled: str, message: str, now: float, next_: str | None
) -> Histories:
    """The histories after a rule could not do what it says; unchanged when the rule has none."""
    limit = _failures(rule)
    execution = _failure(scheduled, message, now)
    return tuple(
        msgspec.structs.replace(
            item, next_execution_time=next_, failed_executions=(execution, *item.failed_executions)[:limit]
        )
        if item.rule_name == rule.name
        else item
        for item in histories
    )


def _failures(rule: CronFederatedHPARule) -> int:
    """How many failures of a rule are remembered."""
    return DEFAULT_LIMIT if rule.failed_history_limit is None else rule.failed_history_limit


def _failure(scheduled: str, message: str, now: float) -> FailedExecution:
    return FailedExecution(schedule_time=scheduled, execution_time=rfc3339(now), message=message)


def _schedule(rule: CronFederatedHPARule) -> cron.Schedule:
    return cron.parse(rule.schedule, rule.time_zone or "")


def _next(rule: CronFederatedHPARule, history: ExecutionHistory, now: float) -> str | None:
    present = history.next_execution_time
    try:
        if present is not None and not rule.suspend and _fires_at(_schedule(rule), present, now):
            return present
        return next_fire(rule, now)
    except cron.CronError:
        return None


def _fires_at(schedule: cron.Schedule, text: str, now: float) -> bool:
    """Whether a fire is one of the schedule: the next one, or one that was not executed."""
    fire, present = datetime.fromtimestamp(parse_rfc3339(text), UTC), datetime.fromtimestamp(now, UTC)
    if isinstance(schedule, cron.Every):
        return fire <= present + timedelta(seconds=schedule.seconds)
    return schedule.next_run(min(present, fire - _SECOND)) == fire


def _last_fire(schedule: cron.Schedule, first: str, now: float) -> float:
    """The last fire until now, given one of them; those missed by more than the deadline are not looked for."""
    last = parse_rfc3339(first)
    if isinstance(schedule, cron.Every):
        return last + (now - last) // schedule.seconds * schedule.seconds
    run = schedule.next_run(datetime.fromtimestamp(max(last, now - DEADLINE), UTC))
    while run is not None and run.timestamp() <= now:
        last = run.timestamp()
        run = schedule.next_run(run)
    return last
