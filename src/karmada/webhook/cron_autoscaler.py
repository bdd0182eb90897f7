"""Judges CronFederatedHPAs: a target that can be scaled and rules that say how."""

from datetime import UTC, datetime

from karmada.api import cron
from karmada.api.autoscaling.v1alpha1 import CronFederatedHPA, CronFederatedHPARule
from karmada.api.field_errors import FieldError, duplicate, invalid, too_many
from karmada.api.name_rules import dns_subdomain
from karmada.webhook.autoscaler import reference_errors
from karmada.webhook.metadata import name_errors
from karmada.webhook.model import Review, decoded, refuse_if_any

_SOME_DAY = datetime(2024, 1, 1, tzinfo=UTC)
"""Schedules are tried from here on; the years after it hold a leap day."""
MOST_RULES = 100
"""Every rule is looked at whenever one of them fires, and each fire writes the status of all."""
_AUTOSCALING = "autoscaling.karmada.io/v1alpha1"


async def validate_cron_autoscaler(review: Review) -> None:
    """Judge a CronFederatedHPA."""
    autoscaler = decoded(review.object, CronFederatedHPA)
    spec, target = autoscaler.spec, autoscaler.spec.scale_target_ref
    errors = name_errors(autoscaler.metadata, dns_subdomain)
    scales_autoscaler = target.api_version == _AUTOSCALING
    if scales_autoscaler and target.kind != "FederatedHPA":
        detail = f"invalid scaleTargetRef kind: {target.kind}, only support FederatedHPA"
        refuse_if_any([*errors, invalid("spec.scaleTargetRef.kind", target.kind, detail)])
    errors += reference_errors(target, "spec.scaleTargetRef")
    if len(spec.rules) > MOST_RULES:
        refuse_if_any([*errors, too_many("spec.rules", len(spec.rules), MOST_RULES)])
    seen: set[str] = set()
    for index, rule in enumerate(spec.rules):
        path = f"spec.rules[{index}]"
        if rule.name in seen:
            errors.append(duplicate(f"{path}.name", rule.name))
        seen.add(rule.name)
        errors += _schedule_errors(review, rule, path)
        errors += _bounds_errors(rule, path) if scales_autoscaler else _replicas_errors(rule, target.kind, path)
    refuse_if_any(errors)


def _schedule_errors(review: Review, rule: CronFederatedHPARule, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    try:
        if cron.parse(rule.schedule).next_run(_SOME_DAY) is None:
            review.warnings.append(f"{path}.schedule: the rule never fires: there is no such day")
    except cron.CronError as error:
        if _is_known_elsewhere(rule.schedule):
            review.warnings.append(f"{path}.schedule: the rule never fires: {error}")
        else:
            errors.append(invalid(f"{path}.schedule", rule.schedule, "invalid cron format"))
    if rule.time_zone is not None:
        try:
            cron.load_zone(rule.time_zone)
        except cron.CronError:
            errors.append(invalid(f"{path}.timeZone", rule.time_zone, f"unknown time zone {rule.time_zone}"))
    return errors


_MINUTES = ("5", "10", "15", "30")
_PERIODS = ("hourly", "daily", "weekly", "monthly", "yearly", "annually")
_WORDS = frozenset(("@always", *(f"@{number}minutes" for number in _MINUTES), *(f"@{period}" for period in _PERIODS)))


def _is_known_elsewhere(schedule: str) -> bool:
    """Whether Karmada lets a schedule in that its controller cannot read either: a leading field of seconds, `L` for
    the last day, or a word of its own. Such objects exist, so they are let in here as well, with a warning."""
    fields = schedule.split()
    if schedule.strip().lower() in _WORDS:
        return True
    if len(fields) == 6:
        fields = fields[1:]
    try:
        cron.parse(" ".join("28" if field == "L" else field for field in fields))
    except cron.CronError:
        return False
    return True


def _replicas_errors(rule: CronFederatedHPARule, kind: str, path: str) -> list[FieldError]:
    field = f"{path}.targetReplicas"
    if rule.target_replicas is None:
        return [invalid(field, "", f"targetReplicas cannot be nil if you want to scale {kind}")]
    if rule.target_replicas < 0:
        return [invalid(field, "", "targetReplicas should be larger than or equal to 0")]
    return []


def _bounds_errors(rule: CronFederatedHPARule, path: str) -> list[FieldError]:
    low, high = rule.target_min_replicas, rule.target_max_replicas
    if low is None and high is None:
        detail = (
            "targetMinReplicas and targetMaxReplicas cannot be nil at the same time if you want to scale FederatedHPA"
        )
        return [invalid(f"{path}.targetMaxReplicas", "", detail)]
    errors: list[FieldError] = []
    if low is not None and low <= 0:
        errors.append(invalid(f"{path}.targetMinReplicas", "", "targetMinReplicas should be larger than 0"))
    if high is not None and high <= 0:
        errors.append(invalid(f"{path}.targetMaxReplicas", "", "targetMaxReplicas should be larger than 0"))
    if high is not None and high < (1 if low is None else low):
        detail = "targetMaxReplicas should be larger than or equal to targetMinReplicas"
        errors.append(invalid(f"{path}.targetMinReplicas", "", detail))
    return errors
