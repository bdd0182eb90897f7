"""Rules of Jobs and CronJobs."""

import re
from zoneinfo import available_timezones

from karmada.api import name_rules
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
from karmada.apiserver.builtin.strategies.devices import too_long
from karmada.apiserver.builtin.strategies.job_policies import failure_policy, success_policy
from karmada.apiserver.builtin.strategies.job_status import status_errors
from karmada.apiserver.builtin.strategies.job_updates import generated_selector_errors, update_errors
from karmada.apiserver.builtin.strategies.pod_validation import template_errors
from karmada.apiserver.builtin.strategies.pod_warnings import of_template
from karmada.apiserver.builtin.strategies.pods import default_template
from karmada.apiserver.builtin.strategies.tables import choice, fields
from karmada.apiserver.selectable import ValueAt

_CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
_MAX_INT32 = 2**31 - 1
_MOST_INDEXES = 100_000
_MOST_OF_MANY = 10_000
_LONGEST_MANAGER = 63
_COUNTS = fields(
    (
        "parallelism completions activeDeadlineSeconds backoffLimit ttlSecondsAfterFinished backoffLimitPerIndex "
        "maxFailedIndexes",
        non_negative,
    ),
)


def _default_spec(spec: JSONObject) -> None:
    """Defaults of a job; templates of cron jobs get only those of the pod template and of nested lists."""
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = spec["parallelism"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", _MAX_INT32 if "backoffLimitPerIndex" in spec else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    spec.setdefault("manualSelector", False)
    _default_patterns(spec)


def _default_patterns(spec: JSONObject) -> None:
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
    errors = _COUNTS(path, spec)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        errors.append(required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if (manager := spec.get("managedBy")) is not None:
        errors += domain_prefixed_path(f"{path}.managedBy", manager)
        errors += too_long(f"{path}.managedBy", manager, _LONGEST_MANAGER)
    if spec.get("completionMode") is not None:
        errors += choice("NonIndexed", "Indexed")(f"{path}.completionMode", spec["completionMode"])
    errors += _indexed(spec, path) if spec.get("completionMode") == "Indexed" else _not_indexed(spec, path)
    if (failures := spec.get("podFailurePolicy")) is not None:
        errors += failure_policy(failures, f"{path}.podFailurePolicy", spec)
    if (success := spec.get("successPolicy")) is not None:
        errors += success_policy(success, f"{path}.successPolicy", spec)
    if (policy := spec.get("podReplacementPolicy")) is not None:
        choices = ("Failed",) if failures is not None else ("Failed", "TerminatingOrFailed")
        errors += one_of(f"{path}.podReplacementPolicy", policy, choices)
    errors += template_errors(spec["template"], f"{path}.template")
    return errors + _restart_policy(spec, f"{path}.template.spec.restartPolicy")


def _restart_policy(spec: JSONObject, path: str) -> Errors:
    restart = spec["template"]["spec"].get("restartPolicy")
    if restart == "Always":
        return [required(path, 'valid values: "OnFailure", "Never"')]
    if restart not in ("OnFailure", "Never"):
        return [unsupported(path, restart, ("OnFailure", "Never"))]
    if restart != "Never" and spec.get("podFailurePolicy") is not None:
        return [invalid(path, restart, 'only "Never" is supported when podFailurePolicy is specified')]
    return []


def _not_indexed(spec: JSONObject, path: str) -> Errors:
    if spec.get("completionMode") not in (None, "NonIndexed"):
        return []
    return [
        invalid(f"{path}.{field}", spec[field], "requires indexed completion mode")
        for field in ("backoffLimitPerIndex", "maxFailedIndexes")
        if spec.get(field) is not None
    ]


def _indexed(spec: JSONObject, path: str) -> Errors:
    """Indexed jobs are limited: the indexes that are done or failed are listed in the status."""
    completions, most = spec.get("completions"), spec.get("maxFailedIndexes")
    parallelism, limit = spec.get("parallelism") or 0, f"must be less than or equal to {_MOST_INDEXES}"
    errors: Errors = []
    if completions is None:
        errors.append(required(f"{path}.completions", "when completion mode is Indexed"))
    if parallelism > _MOST_INDEXES:
        errors.append(invalid(f"{path}.parallelism", parallelism, f"{limit} when completion mode is Indexed"))
    if completions is not None and most is not None and most > completions:
        errors.append(invalid(f"{path}.maxFailedIndexes", most, "must be less than or equal to completions"))
    if (most or 0) > _MOST_INDEXES:
        errors.append(invalid(f"{path}.maxFailedIndexes", most, limit))
    if (completions or 0) <= _MOST_INDEXES or spec.get("backoffLimitPerIndex") is None:
        return errors
    if most is None:
        text = f"must be specified when completions is above {_MOST_INDEXES}"
        errors.append(required(f"{path}.maxFailedIndexes", text))
    text = (
        f"must be less than or equal to {_MOST_OF_MANY} when completions are above {_MOST_INDEXES} "
        "and used with backoff limit per index"
    )
    return errors + [
        invalid(f"{path}.{field}", spec[field], text)
        for field in ("parallelism", "maxFailedIndexes")
        if (spec.get(field) or 0) > _MOST_OF_MANY
    ]


def _validate_job(obj: JSONObject, old: JSONObject | None) -> Errors:
    """Updates are judged as objects and as changes: what is wrong with the spec is said twice."""
    spec = obj["spec"]
    found = _whole_spec(spec) + _host_names(obj)
    if old is None:
        return found
    return generated_selector_errors(obj, old) + found + found + update_errors(spec, old)


def _host_names(job: JSONObject) -> Errors:
    """Pods of an indexed job are called after it and their index."""
    spec, name = job["spec"], job["metadata"].get("name") or ""
    if spec.get("completionMode") != "Indexed" or (spec.get("completions") or 0) <= 0:
        return []
    longest = f"{name}-{spec['completions'] - 1}"
    text = f"will not able to create pod with invalid DNS label: {longest}"
    return [invalid("metadata.name", name, text)] if name_rules.dns_label(longest) else []


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
    _default_patterns(spec["jobTemplate"]["spec"])


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


def _crowded(spec: JSONObject, path: str) -> list[str]:
    crowded = (spec.get("completions") or 0) > _MOST_INDEXES and (spec.get("parallelism") or 0) > _MOST_OF_MANY
    if spec.get("completionMode") != "Indexed" or not crowded:
        return []
    text = (
        "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "
        "Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
    )
    return [f"{path}: {text}"]


JOB = strategy(
    _default_job,
    _validate_job,
    generation=True,
    prepare_create=_prepare_create,
    prepare_update=_label_job,
    prepare_status=_label_job,
    validate_status=status_errors,
    selectable={"status.successful": ValueAt("status.succeeded", "0")},
    warnings=of_template("spec", "template", named=True, more=lambda obj, old: _crowded(obj["spec"], "spec")),
)
CRON_JOB = strategy(
    _default_cron_job,
    _validate_cron_job,
    generation=True,
    warnings=of_template(
        *("spec", "jobTemplate", "spec", "template"),
        named=True,
        more=lambda obj, old: _crowded(obj["spec"]["jobTemplate"]["spec"], "spec.jobTemplate.spec"),
    ),
)
