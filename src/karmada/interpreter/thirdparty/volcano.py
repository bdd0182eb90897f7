"""Volcano Job."""

import re
from collections.abc import Callable
from typing import Any

from karmada.api.work.v1alpha2 import Component
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.thirdparty import merge, pods, rules
from karmada.interpreter.thirdparty.merge import Reports, Rule, aggregation, filled, totals
from karmada.interpreter.thirdparty.values import Table, before, entries, fields, find, get, number, parsed, union

_COUNTERS = (
    "minAvailable",
    "pending",
    "running",
    "succeeded",
    "failed",
    "terminating",
    "unknown",
    "retryCount",
)
_HEALTHY = (
    "Pending",
    "Aborting",
    "Aborted",
    "Running",
    "Restarting",
    "Completing",
    "Completed",
    "Terminating",
    "Terminated",
)
_FAILURES = ("Failed", "Aborted", "Aborting", "Terminated", "Terminating")
_DURATION = re.compile(r"([\d.]+)(ms|us|µs|ns|h|m|s)")
_SECONDS = {"h": 3600, "m": 60, "s": 1, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


def _components(resource: JSONObject) -> tuple[Component, ...]:
    """One part per task; a gang starts once the least number of each task's pods can run, so that has to fit."""
    return tuple(
        pods.part(
            f"task-{index}" if get(task, "name") in (None, "") else get(task, "name"),
            pods.count(get(task, "minAvailable"), 1),
            pods.given(get(task, "template")),
        )
        for index, task in enumerate(entries(find(resource, "spec", "tasks")))
    )


def _longest(reports: Reports, field: str) -> Any:
    return max((value for value in reports.values(field) if _seconds(value) > 0), key=_seconds, default=None)


def _seconds(duration: Any) -> float:
    if isinstance(duration, str):
        found = sum(float(number(amount)) * _SECONDS[unit] for amount, unit in _DURATION.findall(duration))
        return found or parsed(duration) or 0
    return parsed(duration) or 0


def _tasks(reports: Reports, field: str) -> Any:
    """Pods by task and phase."""
    counts: dict[Any, dict[Any, Any]] = {}
    for value in reports.values(field):
        for task, status in fields(value).items():
            phases = counts.setdefault(task, {})
            for phase, count in fields(get(status, "phase")).items():
                phases[phase] = phases.get(phase, 0) + number(count)
    return {task: {"phase": phases} for task, phases in counts.items()}


def _conditions(reports: Reports, field: str) -> Any:
    """Those of the first cluster that failed, else of each status the one that was entered last."""
    newest = Table()
    failed: Any = None
    for value in reports.values(field):
        has_failed = False
        for condition in entries(value):
            status = get(condition, "status")
            has_failed = has_failed or status in _FAILURES
            if has_failed:
                continue
            known = newest.get(status)
            if known is None or before(known.get("lastTransitionTime"), get(condition, "lastTransitionTime")):
                newest.set(status, condition)
        failed = value if has_failed and failed is None else failed
    return newest.values() if failed is None else failed


def _state(now: Callable[[], str]) -> Rule:
    def rule(reports: Reports, field: str) -> Any:
        phases = {member.cluster: find(member.status, field, "phase") for member in reports.members}
        failed = [cluster for cluster, phase in phases.items() if phase in ("Failed", "Aborted")]
        if failed:
            message = f"Job failed in clusters: {','.join(failed)}"
            return {"phase": "Failed", "reason": "VolcanoJobFailed", "message": message, "lastTransitionTime": now()}
        if phases and all(phase == "Completed" for phase in phases.values()):
            message = "Job completed successfully"
            return {"phase": "Completed", "reason": "Completed", "message": message, "lastTransitionTime": now()}
        return None

    return rule


_reported = rules.reflect(*_COUNTERS, "version", "runningDuration", "state")


def _reflect(observed: JSONObject) -> JSONObject:
    status = observed.get("status")
    if status is None:
        return {}
    parts = {field: union([get(status, field)]) for field in ("taskStatusCount", "controlledResources")}
    conditions = get(status, "conditions")
    return {**_reported(observed), **parts, "conditions": conditions if isinstance(conditions, list) else []}


def job(now: Callable[[], str]) -> KindRules:
    table = {
        **totals(*_COUNTERS, rule=merge.loose_total),
        "version": merge.largest,
        "runningDuration": _longest,
        "taskStatusCount": _tasks,
        "controlledResources": merge.united,
        "conditions": _conditions,
        "state": _state(now),
    }
    return KindRules(
        components=_components,
        reflect=_reflect,
        aggregate=aggregation(table, fresh=True, alone=True, finish=lambda status: filled(status, zeros=False) or {}),
        health=lambda observed: find(observed, "status", "state", "phase") in _HEALTHY,
    )
