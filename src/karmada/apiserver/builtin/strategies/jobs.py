"""Rules of Jobs and CronJobs."""

import re
from zoneinfo import available_timezones

from karmada.api.field_errors import FieldError, invalid, required
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    domain_prefixed_path,
    matches,
    non_negative,
    one_of,
    selector,
    strategy,
    unsupported,
)
from karmada.apiserver.builtin.strategies.cron import schedule_problem
from karmada.apiserver.builtin.strategies.job_status import status_errors
from karmada.apiserver.builtin.strategies.job_updates import generated_selector_errors, update_errors
from karmada.apiserver.builtin.strategies.pod_validation import template_errors
from karmada.apiserver.builtin.strategies.pods import default_template
from karmada.apiserver.selectable import ValueAt

_CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
_MAX_INT32 = 2**31 - 1


def _default_spec(spec: JSONObject) -> None:
    """Defaults of a job; templates of cron jobs get only those of the pod template."""
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = spec["parallelism"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", _MAX_INT32 if "backoffLimitPerIndex" in spec else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    spec.setdefault("manualSelector", False)
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            pattern["status"] = pattern.get("status") or "True"


def _default_job(obj: JSONObject) -> None:
    default_template(obj["spec"]["template"])
    _default_spec(obj["spec"])


def _prepare_create(obj: JSONObject) -> None:
    """Unless the user selects by hand, a job selects its pods by its own uid."""
    spec, metadata = obj["spec"], obj["metadata"]
    if not spec.get("manualSelector"):
        uid, name = metadata.get("uid") or "", metadata.get("name") or ""
        own = {_CONTROLLER_UID: uid, "batch.kubernetes.io/job-name": name, "controller-uid": uid, "job-name": name}
        template = spec["template"]["metadata"]
        template["labels"] = {**(template.get("labels") or {}), **own}
        wanted = spec.setdefault("selector", {})
        wanted["matchLabels"] = {**(wanted.get("matchLabels") or {}), _CONTROLLER_UID: uid}
    _label_job(obj, obj)


def _label_job(obj: JSONObject, old: JSONObject) -> None:
    """A job without labels has those of its pods."""
    metadata, template = obj["metadata"], obj["spec"]["template"]["metadata"]
    if not metadata.get("labels") and template.get("labels"):
        metadata["labels"] = {**template["labels"]}


def _job_spec(spec: JSONObject, path: str) -> Errors:
    errors: Errors = []
    for field in ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"):
        errors += non_negative(f"{path}.{field}", spec.get(field))
    if spec.get("completionMode") is not None:
        errors += one_of(f"{path}.completionMode", spec["completionMode"], ("Indexed", "NonIndexed"))
        if spec["completionMode"] == "Indexed" and spec.get("completions") is None:
            errors.append(required(f"{path}.completions", "when completion mode is Indexed"))
    errors += _job_modes(spec, path)
    errors += template_errors(spec["template"], f"{path}.template")
    restart = spec["template"]["spec"].get("restartPolicy")
    place = f"{path}.template.spec.restartPolicy"
    if restart == "Always":
        errors.append(required(place, 'valid values: "OnFailure", "Never"'))
    elif restart not in ("OnFailure", "Never"):
        errors.append(unsupported(place, restart, ("OnFailure", "Never")))
    return errors


def _job_modes(spec: JSONObject, path: str) -> Errors:
    """What belongs to indexed jobs only, and what goes with what."""
    errors: Errors = []
    indexed = spec.get("completionMode") == "Indexed"
    per_index, most = spec.get("backoffLimitPerIndex"), spec.get("maxFailedIndexes")
    errors += non_negative(f"{path}.backoffLimitPerIndex", per_index)
    errors += non_negative(f"{path}.maxFailedIndexes", most)
    if per_index is not None and not indexed:
        errors.append(invalid(f"{path}.backoffLimitPerIndex", per_index, "requires indexed completion mode"))
    if most is not None and not indexed:
        errors.append(invalid(f"{path}.maxFailedIndexes", most, "requires indexed completion mode"))
    completions = spec.get("completions")
    if indexed and most is not None and completions is not None and most > completions:
        errors.append(invalid(f"{path}.maxFailedIndexes", most, "must be less than or equal to completions"))
    if most is not None and per_index is None:
        errors.append(required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if spec.get("managedBy") is not None:
        errors += domain_prefixed_path(f"{path}.managedBy", spec["managedBy"])
    if (success := spec.get("successPolicy")) is not None:
        errors += _success_policy(success, f"{path}.successPolicy", indexed)
    if (policy := spec.get("podReplacementPolicy")) is not None:
        choices = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
        errors += one_of(f"{path}.podReplacementPolicy", policy, choices)
    return errors


def _success_policy(policy: JSONObject, path: str, indexed: bool) -> Errors:
    rules = policy.get("rules") or []
    if not indexed:
        shown = [
            {"SucceededIndexes": rule.get("succeededIndexes"), "SucceededCount": rule.get("succeededCount")}
            for rule in rules
        ]
        return [invalid(path, {"Rules": shown or None}, "requires indexed completion mode")]
    if not rules:
        return [required(f"{path}.rules", "at least one rules must be specified when the successPolicy is specified")]
    errors: Errors = []
    for index, rule in enumerate(rules):
        place = f"{path}.rules[{index}]"
        if rule.get("succeededIndexes") is None and rule.get("succeededCount") is None:
            text = "at least one of succeededCount or succeededIndexes must be specified"
            errors.append(required(place, text))
        errors += non_negative(f"{place}.succeededCount", rule.get("succeededCount"))
    return errors


def _validate_job(obj: JSONObject, old: JSONObject | None) -> Errors:
    """Updates are judged as objects and as changes: what is wrong with the spec is said twice."""
    spec = obj["spec"]
    found = _whole_spec(spec)
    if old is None:
        return found
    return generated_selector_errors(obj, old) + found + found + update_errors(spec, old)


def _whole_spec(spec: JSONObject) -> Errors:
    errors = _job_spec(spec, "spec")
    labels = spec["template"]["metadata"].get("labels")
    wanted = spec.get("selector")
    if wanted is None:
        errors.append(required("spec.selector"))
    else:
        wrong = selector("spec.selector", wanted)
        errors += wrong
        if wrong:
            return errors
    if wanted is None or not matches(wanted, labels):
        text = "`selector` does not match template `labels`"
        errors.append(invalid("spec.template.metadata.labels", labels, text))
    return errors


def _default_cron_job(obj: JSONObject) -> None:
    spec = obj["spec"]
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    default_template(spec["jobTemplate"]["spec"]["template"])


def _validate_cron_job(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    schedule = spec.get("schedule") or ""
    errors: Errors = []
    if not schedule:
        errors.append(required("spec.schedule"))
    elif "TZ" in schedule:
        text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        errors.append(invalid("spec.schedule", schedule, text))
    elif problem := schedule_problem(schedule):
        errors.append(invalid("spec.schedule", schedule, problem))
    policy = spec["concurrencyPolicy"]
    if policy not in ("Allow", "Forbid", "Replace"):
        errors.append(unsupported("spec.concurrencyPolicy", policy, ("Allow", "Forbid", "Replace")))
    errors += non_negative("spec.startingDeadlineSeconds", spec.get("startingDeadlineSeconds"))
    errors += _time_zone(spec.get("timeZone"))
    for field in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        errors += non_negative(f"spec.{field}", spec.get(field))
    job = spec["jobTemplate"]["spec"]
    errors += _job_spec(job, "spec.jobTemplate.spec")
    if job.get("selector") is not None:
        text = "`selector` will be auto-generated"
        errors.append(invalid("spec.jobTemplate.spec.selector", job["selector"], text))
    if job.get("manualSelector"):
        errors.append(unsupported("spec.jobTemplate.spec.manualSelector", True, ("nil", "false")))
    name = obj["metadata"].get("name") or ""
    if old is None and len(name) > 52:
        errors.append(invalid("metadata.name", name, "must be no more than 52 characters"))
    return errors


def _time_zone(zone: str | None) -> list[FieldError]:
    if zone is None:
        return []
    if not zone:
        return [invalid("spec.timeZone", zone, "timeZone must be nil or non-empty string")]
    if zone.lower() == "local":
        return [
            invalid(
                "spec.timeZone",
                zone,
                "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones",
            )
        ]
    if not re.fullmatch(r"[A-Za-z0-9+_/-]+", zone) or zone not in available_timezones():
        return [invalid("spec.timeZone", zone, f"unknown time zone {zone}")]
    return []


JOB = strategy(
    _default_job,
    _validate_job,
    generation=True,
    prepare_create=_prepare_create,
    prepare_update=_label_job,
    prepare_status=_label_job,
    validate_status=status_errors,
    selectable={"status.successful": ValueAt("status.succeeded", "0")},
)
CRON_JOB = strategy(_default_cron_job, _validate_cron_job, generation=True)
