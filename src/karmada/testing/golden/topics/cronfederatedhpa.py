"""Topic `cronfederatedhpa`: the next runs of a schedule, and what is remembered of them."""

from typing import Any

from karmada.api import cron, timestamps
from karmada.api.autoscaling.v1alpha1 import CronFederatedHPARule, ExecutionHistory
from karmada.api.codec import from_tree
from karmada.machinery.clock import rfc3339
from karmada.policies.autoscaling import executions
from karmada.testing.golden.case import Failed, Topic

NOW = 1_800_000_000.0


def _next_runs(given: dict[str, Any]) -> dict[str, Any]:
    try:
        schedule = cron.parse(given["schedule"], given.get("timeZone", ""))
    except cron.CronError as error:
        raise Failed(str(error)) from error
    moment = timestamps.parse(given["now"])
    runs = []
    for _ in range(given["count"]):
        run = schedule.next_run(moment)
        if run is None:
            runs.append("never")
            break
        runs.append(timestamps.to_time(run))
        moment = run
    return {"runs": runs}


def _record(given: dict[str, Any]) -> dict[str, Any]:
    rule = from_tree({**given["rule"], "targetReplicas": given.get("appliedReplicas")}, CronFederatedHPARule)
    histories = tuple(from_tree(item, ExecutionHistory) for item in given.get("executionHistories") or ())
    before = executions.history_of(histories, rule.name)
    scheduled = (before.next_execution_time if before else None) or ""
    message = given.get("failedMessage")
    if message is None:
        histories = executions.succeeded(histories, rule, scheduled, NOW, None)
    else:
        histories = executions.failed(histories, rule, scheduled, message, NOW, None)
    return {
        "successful": [
            {
                "appliedReplicas": item.applied_replicas,
                "scheduleTime": item.schedule_time,
                "isNew": item.execution_time == rfc3339(NOW),
            }
            for history in histories
            for item in history.successful_executions
        ],
        "failed": [
            {"message": item.message, "scheduleTime": item.schedule_time, "isNew": item.execution_time == rfc3339(NOW)}
            for history in histories
            for item in history.failed_executions
        ],
    }


TOPIC = Topic(
    "cronfederatedhpa", {"cronfederatedhpa.NextRuns": _next_runs, "cronfederatedhpa.RecordExecution": _record}
)
