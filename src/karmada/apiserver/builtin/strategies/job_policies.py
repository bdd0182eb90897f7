"""Rules of the policies of Jobs: which failed pods count, and which successes are enough."""

from karmada.api.field_errors import FieldError, duplicate, invalid, required
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    non_negative,
    qualified_name,
    repeated,
    unsupported,
)
from karmada.apiserver.builtin.strategies.devices import too_long, too_many
from karmada.apiserver.builtin.strategies.job_indexes import count, format_problem
from karmada.apiserver.builtin.strategies.tables import Check, each, fields

_MOST_RULES = _MOST_PATTERNS = 20
_MOST_CODES = 255
_LONGEST_INDEXES = 64 * 1024


def _word(*choices: str) -> Check:
    """One of some words; an absent one is missed in other words than a wrong one."""
    listed = " ".join(f'"{choice}"' for choice in choices)

    def check(path: str, value: str | None) -> Errors:
        if not value:
            return [required(path, f"valid values: [{listed}]")]
        return [] if value in choices else [unsupported(path, value, choices)]

    return check


_ACTION = _word("Count", "FailIndex", "FailJob", "Ignore")
_PATTERNS = each(fields(("type", qualified_name), ("status", _word("False", "True", "Unknown"))))
_OPERATOR = fields(("operator", _word("In", "NotIn")))


def failure_policy(policy: JSONObject, path: str, job: JSONObject) -> Errors:
    """What is wrong with the policy for failed pods of a job with this spec."""
    rules = policy.get("rules") or []
    pod = job["template"]["spec"]
    names = {one.get("name") or "" for sort in ("containers", "initContainers") for one in pod.get(sort) or ()}
    errors = too_many(f"{path}.rules", rules, _MOST_RULES)
    for index, rule in enumerate(rules):
        errors += _failure_rule(rule, f"{path}.rules[{index}]", job.get("backoffLimitPerIndex") is not None, names)
    return errors


def _failure_rule(rule: JSONObject, path: str, per_index: bool, names: set[str]) -> Errors:
    errors = _ACTION(f"{path}.action", rule.get("action"))
    if rule.get("action") == "FailIndex" and not per_index:
        errors.append(invalid(f"{path}.action", "FailIndex", "requires the backoffLimitPerIndex to be set"))
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or []
    if codes is not None:
        errors += _exit_codes(codes, f"{path}.onExitCodes", names)
    errors += too_many(f"{path}.onPodConditions", conditions, _MOST_PATTERNS)
    errors += _PATTERNS(f"{path}.onPodConditions", conditions)
    if codes is not None and conditions:
        errors.append(_valueless(path, "specifying both OnExitCodes and OnPodConditions is not supported"))
    if codes is None and not conditions:
        errors.append(_valueless(path, "specifying one of OnExitCodes and OnPodConditions is required"))
    return errors


def _valueless(path: str, detail: str) -> FieldError:
    """A complaint that does not quote what it is about."""
    return FieldError("FieldValueInvalid", path, f"Invalid value: {detail}")


def _exit_codes(codes: JSONObject, path: str, names: set[str]) -> Errors:
    errors = _OPERATOR(path, codes)
    container, values = codes.get("containerName"), codes.get("values") or []
    if container is not None and container not in names:
        text = "must be one of the container or initContainer names in the pod template"
        errors.append(invalid(f"{path}.containerName", container, text))
    place = f"{path}.values"
    if not values:
        errors.append(invalid(place, codes.get("values"), "at least one value is required"))
    errors += too_many(place, values, _MOST_CODES)
    again = repeated(values)
    for index, value in enumerate(values):
        if value == 0 and codes.get("operator") == "In":
            errors.append(invalid(f"{place}[{index}]", value, "must not be 0 for the In operator"))
        if index in again:
            errors.append(duplicate(f"{place}[{index}]", value))
    return errors if values == sorted(values) else [*errors, invalid(place, values, "must be ordered")]


def success_policy(policy: JSONObject, path: str, job: JSONObject) -> Errors:
    """What is wrong with the policy for successes of a job with this spec."""
    rules = policy.get("rules") or []
    if job.get("completionMode") != "Indexed":
        shown = [
            {"SucceededIndexes": rule.get("succeededIndexes"), "SucceededCount": rule.get("succeededCount")}
            for rule in rules
        ]
        return [invalid(path, {"Rules": shown or None}, "requires indexed completion mode")]
    if not rules:
        return [required(f"{path}.rules", "at least one rules must be specified when the successPolicy is specified")]
    errors = too_many(f"{path}.rules", rules, _MOST_RULES)
    for index, rule in enumerate(rules):
        errors += _success_rule(rule, f"{path}.rules[{index}]", job.get("completions") or 0)
    return errors


def _success_rule(rule: JSONObject, path: str, completions: int) -> Errors:
    indexes, enough = rule.get("succeededIndexes"), rule.get("succeededCount")
    errors: Errors = []
    if indexes is None and enough is None:
        errors.append(required(path, "at least one of succeededCount or succeededIndexes must be specified"))
    if indexes:
        place = f"{path}.succeededIndexes"
        errors += too_long(place, indexes, _LONGEST_INDEXES)
        if problem := format_problem(indexes, completions):
            errors.append(invalid(place, indexes, f"error parsing succeededIndexes: {problem}"))
    if enough is None:
        return errors
    place = f"{path}.succeededCount"
    errors += non_negative(place, enough)
    if enough > completions:
        text = f"must be less than or equal to {completions} (the number of specified completions)"
        errors.append(invalid(place, enough, text))
    if indexes is not None and enough > (most := count(indexes, completions)):
        text = f"must be less than or equal to {most} (the number of indexes in the specified succeededIndexes field)"
        errors.append(invalid(place, enough, text))
    return errors
