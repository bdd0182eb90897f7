"""What a CronFederatedHPA says its rules did and will do: executions, newest first, and the next fire."""

from collections.abc import Sequence
from datetime import UTC, datetime

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
Histories = tuple[ExecutionHistory, ...]


def next_fire(rule: CronFederatedHPARule, now: float) -> str | None:
    """When a rule fires next after `now`; None while it is suspended, and for one that never does.

    Raises `CronError` for a schedule or a time zone that makes no sense.
    """
    if rule.suspend:
        return None
    run = cron.parse(rule.schedule, rule.time_zone or "").next_run(datetime.fromtimestamp(now, UTC))
    return None if run is None else rfc3339(run.timestamp())


def is_due(history: ExecutionHistory, now: float) -> bool:
    """Whether the fire that was announced has come."""
    return history.next_execution_time is not None and parse_rfc3339(history.next_execution_time) <= now


def history_of(histories: Sequence[ExecutionHistory], rule: str) -> ExecutionHistory | None:
    """The history of a rule."""
    return next((item for item in histories if item.rule_name == rule), None)


def succeeded(
    histories: Histories, rule: CronFederatedHPARule, scheduled: str, now: float, next_: str | None
) -> Histories:
    """The histories after a rule did what it says; unchanged when the rule has none."""
    limit = DEFAULT_LIMIT if rule.successful_history_limit is None else rule.successful_history_limit

    def add(history: ExecutionHistory) -> ExecutionHistory:
        execution = SuccessfulExecution(
            schedule_time=scheduled,
            execution_time=rfc3339(now),
            applied_replicas=rule.target_replicas,
            applied_min_replicas=rule.target_min_replicas,
            applied_max_replicas=rule.target_max_replicas,
        )
        kept = (execution, *history.successful_executions)[:limit]
        return msgspec.structs.replace(history, next_execution_time=next_, successful_executions=kept)

    return tuple(add(item) if item.rule_name == rule.name else item for item in histories)


def failed(
    histories: Histories, rule: CronFederatedHPARule, scheduled: str, message: str, now: float, next_: str | None
) -> Histories:
    """The histories after a rule could not do what it says; unchanged when the rule has none."""
    limit = DEFAULT_LIMIT if rule.failed_history_limit is None else rule.failed_history_limit

    def add(history: ExecutionHistory) -> ExecutionHistory:
        execution = FailedExecution(schedule_time=scheduled, execution_time=rfc3339(now), message=message)
        kept = (execution, *history.failed_executions)[:limit]
        return msgspec.structs.replace(history, next_execution_time=next_, failed_executions=kept)

    return tuple(add(item) if item.rule_name == rule.name else item for item in histories)
