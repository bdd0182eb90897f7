"""Rules of the status of Jobs: what is counted, which indexes are done, and conditions that are final.

Most rules are about what a write changes: a status that became wrong by a change of the spec may be reported further.
"""

from karmada.api.field_errors import FieldError, duplicate, invalid, required
from karmada.apiserver.builtin.strategies.common import Errors, JSONObject
from karmada.apiserver.builtin.strategies.job_indexes import first_common, format_problem
from karmada.apiserver.builtin.strategies.statuses import counts

_counts = counts("active", "succeeded", "failed", "ready", "terminating")
_CONDITIONS = "status.conditions"


class _Conditions:
    """Which conditions of a status are true."""

    def __init__(self, status: JSONObject) -> None:
        conditions = {one.get("type"): one.get("status") for one in status.get("conditions") or ()}
        self.complete = conditions.get("Complete") == "True"
        self.failed = conditions.get("Failed") == "True"
        self.failing = conditions.get("FailureTarget") == "True"
        self.succeeding = conditions.get("SuccessCriteriaMet") == "True"
        self.finished = self.complete or self.failed
        self.suspended = conditions.get("Suspended")


def status_errors(job: JSONObject, old: JSONObject | None) -> Errors:
    """What is wrong with a reported status."""
    status, before = job.get("status") or {}, (old or {}).get("status") or {}
    now, then = _Conditions(status), _Conditions(before)
    changed = {field for field in {*status, *before} if status.get(field) != before.get(field)}
    errors = _counts(job, old) + _uncounted(status.get("uncountedTerminatedPods") or {})
    errors += _contradictions(now, then, "failedIndexes" in changed)
    errors += _times(job["spec"], status, before, now, then, changed)
    errors += _finished(status, now, then, changed)
    errors += _indexes(job["spec"], status, changed)
    if job["spec"].get("successPolicy") is not None and now.complete and not now.succeeding:
        errors.append(_wrong("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"))
    ready = status.get("ready")
    if changed & {"ready", "active"} and ready is not None and ready > (status.get("active") or 0):
        errors.append(invalid("status.ready", ready, "cannot set more ready pods than active"))
    return errors + _backwards(job["spec"], status, before, now, then)


def _uncounted(pods: JSONObject) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for field in ("succeeded", "failed"):
        for index, uid in enumerate(pods.get(field) or ()):
            place = f"status.uncountedTerminatedPods.{field}[{index}]"
            if not uid:
                errors.append(invalid(place, uid, "must not be empty"))
            elif uid in seen:
                errors.append(duplicate(place, uid))
            seen.add(uid)
    return errors


def _wrong(detail: str) -> FieldError:
    return FieldError("FieldValueInvalid", _CONDITIONS, f"Invalid value: {detail}")


def _contradictions(now: _Conditions, then: _Conditions, indexed: bool) -> Errors:
    completed, failed = now.complete != then.complete, now.failed != then.failed
    rules = (
        (
            (completed or failed) and now.complete and now.failed,
            "cannot set Complete=True and Failed=true conditions",
        ),
        (
            (completed or now.failing != then.failing) and now.complete and now.failing,
            "cannot set Complete=True and FailureTarget=true conditions",
        ),
        (
            (failed or indexed) and now.failed and not now.failing,
            "cannot set Failed=True condition without the FailureTarget=true condition",
        ),
        (
            (completed or now.succeeding != then.succeeding) and now.complete and not now.succeeding,
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
        ),
        (now.succeeding and now.failed, "cannot set SuccessCriteriaMet=True and Failed=true conditions"),
        (now.succeeding and now.failing, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"),
    )
    return [_wrong(text) for broken, text in rules if broken]


def _times(
    spec: JSONObject, status: JSONObject, before: JSONObject, now: _Conditions, then: _Conditions, changed: set[str]
) -> Errors:
    start, end = status.get("startTime"), status.get("completionTime")
    errors: Errors = []
    if now.complete != then.complete or "completionTime" in changed:
        if end and not now.complete:
            text = "cannot set completionTime when there is no Complete=True condition"
            errors.append(invalid("status.completionTime", end, text))
        if now.complete and not end:
            errors.append(required("status.completionTime", "completionTime is required for Complete jobs"))
    if changed & {"startTime", "completionTime"} and start and end and end < start:
        errors.append(invalid("status.completionTime", end, "must be equal to or after `startTime`"))
    idle = spec.get("suspend") is True and spec.get("completions") == 0
    if (now.finished != then.finished or "startTime" in changed) and not idle and now.finished and not start:
        errors.append(required("status.startTime", "startTime is required for finished job"))
    if end and before.get("completionTime") and end != before["completionTime"]:
        errors.append(invalid("status.completionTime", end, "field is immutable"))
    resumed = then.suspended == "True" and now.suspended == "False"
    if "startTime" in changed and before.get("startTime") and not resumed and not spec.get("suspend"):
        errors.append(invalid("status.startTime", start, "field is immutable for unsuspended job once set"))
    return errors


def _finished(status: JSONObject, now: _Conditions, then: _Conditions, changed: set[str]) -> Errors:
    """Nothing of a finished job runs, ends or waits to be counted."""
    if not now.finished:
        return []
    errors: Errors = []
    turned = not then.finished
    for field in ("active", "terminating"):
        count = status.get(field) or 0
        if (turned or field in changed) and count > 0:
            errors.append(invalid(f"status.{field}", count, f"{field}>0 is invalid for finished job"))
    pods = status.get("uncountedTerminatedPods") or {}
    if (turned or "uncountedTerminatedPods" in changed) and (pods.get("failed") or pods.get("succeeded")):
        shown = {"Succeeded": pods.get("succeeded"), "Failed": pods.get("failed")}
        errors.append(invalid("status.uncountedTerminatedPods", shown, "must be empty for finished job"))
    return errors


def _indexes(spec: JSONObject, status: JSONObject, changed: set[str]) -> Errors:
    completions = spec.get("completions")
    completed, failed = status.get("completedIndexes") or "", status.get("failedIndexes")
    per_index = spec.get("backoffLimitPerIndex") is not None
    errors: Errors = []
    if "completedIndexes" in changed:
        if completions is not None and (problem := format_problem(completed, completions)):
            text = f"error parsing completedIndexes: {problem}"
            errors.append(invalid("status.completedIndexes", completed, text))
        if completed and spec.get("completionMode") != "Indexed":
            text = "cannot set non-empty completedIndexes when non-indexed completion mode"
            errors.append(invalid("status.completedIndexes", completed, text))
    if "failedIndexes" in changed and failed is not None:
        if completions is not None and per_index and (problem := format_problem(failed, completions)):
            errors.append(invalid("status.failedIndexes", failed, f"error parsing failedIndexes: {problem}"))
        if not per_index:
            text = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
            errors.append(invalid("status.failedIndexes", failed, text))
    if changed & {"completedIndexes", "failedIndexes"} and completions is not None and failed:
        common = first_common(completed, failed, completions)
        if common is not None:
            text = f"failedIndexes and completedIndexes overlap at index: {common}"
            errors.append(invalid("status.failedIndexes", failed, text))
    return errors


def _backwards(spec: JSONObject, status: JSONObject, before: JSONObject, now: _Conditions, then: _Conditions) -> Errors:
    """What is final stays, and counts only grow; an indexed job that can be scaled down may lose successes."""
    lost = (
        ("Failed", then.failed and not now.failed),
        ("Complete", then.complete and not now.complete),
        ("FailureTarget", then.failing and not now.failing),
    )
    errors: Errors = [_wrong(f"cannot disable the terminal {kind}=True condition") for kind, gone in lost if gone]
    elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    for field in ("failed", "succeeded"):
        count = status.get(field) or 0
        if count < (before.get(field) or 0) and not (field == "succeeded" and elastic):
            errors.append(invalid(f"status.{field}", count, f"cannot decrease the {field} counter"))
    if then.succeeding and not now.succeeding:
        errors.append(_wrong("cannot disable the SuccessCriteriaMet=True condition"))
    if then.complete and not then.succeeding and now.succeeding:
        text = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        errors.append(_wrong(text))
    return errors
