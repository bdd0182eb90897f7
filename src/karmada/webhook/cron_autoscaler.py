"""Judges CronFederatedHPAs: a target that can be scaled and rules that say how."""

from karmada.api import cron
from karmada.api.autoscaling.v1alpha1 import CronFederatedHPA, CronFederatedHPARule, CrossVersionObjectReference
from karmada.api.field_errors import FieldError, duplicate, invalid, required
from karmada.webhook.model import Review, decoded, refuse_if_any

_AUTOSCALING = "autoscaling.karmada.io"


async def validate_cron_autoscaler(review: Review) -> None:
    """Judge a CronFederatedHPA."""
    spec = decoded(review.object, CronFederatedHPA).spec
    errors = _target_errors(spec.scale_target_ref, "spec.scaleTargetRef")
    seen: set[str] = set()
    for index, rule in enumerate(spec.rules):
        path = f"spec.rules[{index}]"
        if rule.name in seen:
            errors.append(duplicate(f"{path}.name", rule.name))
        seen.add(rule.name)
        errors += _rule_errors(rule, spec.scale_target_ref, path)
    refuse_if_any(errors)


def _target_errors(target: CrossVersionObjectReference, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if target.api_version.partition("/")[0] == _AUTOSCALING and target.kind != "FederatedHPA":
        errors.append(invalid(f"{path}.kind", target.kind, "invalid scaleTargetRef kind, only support FederatedHPA"))
    if not target.kind:
        errors.append(required(f"{path}.kind"))
    if not target.name:
        errors.append(required(f"{path}.name"))
    return errors


def _rule_errors(rule: CronFederatedHPARule, target: CrossVersionObjectReference, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if not _is_schedule(rule.schedule):
        errors.append(invalid(f"{path}.schedule", rule.schedule, "invalid cron format"))
    if rule.time_zone is not None:
        try:
            cron.load_zone(rule.time_zone)
        except cron.CronError:
            errors.append(invalid(f"{path}.timeZone", rule.time_zone, "unknown time zone"))
    if target.kind == "FederatedHPA":
        return errors + _bounds_errors(rule, path)
    field = f"{path}.targetReplicas"
    if rule.target_replicas is None:
        errors.append(invalid(field, "", f"targetReplicas cannot be nil if you want to scale {target.kind}"))
    elif rule.target_replicas < 0:
        errors.append(invalid(field, "", "targetReplicas should be larger than or equal to 0"))
    return errors


def _is_schedule(text: str) -> bool:
    """Whether a schedule is written correctly. A leading field of seconds and `L` for the last day are known words."""
    fields = text.split()
    if len(fields) == 6:
        fields = fields[1:]
    try:
        cron.parse(" ".join("28" if field == "L" else field for field in fields))
    except ValueError:
        return False
    return True


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
    if low is not None and high is not None and low > high:
        detail = "targetMaxReplicas should be larger than or equal to targetMinReplicas"
        errors.append(invalid(f"{path}.targetMinReplicas", "", detail))
    return errors
