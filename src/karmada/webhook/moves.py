"""Judges how a policy limits moves: failback, disruption budget, fencing and reschedule triggers."""

import re

from karmada.api.field_errors import FieldError, invalid, not_supported
from karmada.api.policy.v1alpha1 import FailoverBehavior, PropagationSpec, RescheduleTrigger

PATH = "spec.failover"
_SHARE = re.compile(r"(100|[0-9]{1,2})%")
_AT_ONCE = ("Directly", "Immediately")


def move_errors(spec: PropagationSpec) -> list[FieldError]:
    """What is wrong with the limits of a policy."""
    failover = spec.failover
    if failover is None:
        return []
    return [*_number_errors(failover), *_budget_errors(failover), *_fence_errors(spec), *_trigger_errors(failover)]


def _number_errors(failover: FailoverBehavior) -> list[FieldError]:
    back, fence = failover.failback, failover.fencing
    numbers = (
        (f"{PATH}.failback.windowSeconds", back.window_seconds if back else None, 1),
        (f"{PATH}.failback.hysteresisSeconds", back.hysteresis_seconds if back else None, 0),
        (f"{PATH}.failback.maxMoves", back.max_moves if back else None, 1),
        (f"{PATH}.fencing.timeoutSeconds", fence.timeout_seconds if fence else None, 1),
    )
    return [
        invalid(field, number, f"must be greater than or equal to {least}")
        for field, number, least in numbers
        if number is not None and number < least
    ]


def _budget_errors(failover: FailoverBehavior) -> list[FieldError]:
    if failover.disruption_budget is None:
        return []
    limit = failover.disruption_budget.max_unavailable
    field = f"{PATH}.disruptionBudget.maxUnavailable"
    errors: list[FieldError] = []
    if isinstance(limit, int) and limit < 0:
        errors.append(invalid(field, limit, "must be greater than or equal to 0"))
    if isinstance(limit, str) and not _SHARE.fullmatch(limit):
        errors.append(invalid(field, limit, "must be a number of replicas or a share between 0% and 100%"))
    if failover.fencing is not None:
        detail = "cannot co-exist with fencing, which stops a copy before the next one starts"
        errors.append(invalid(f"{PATH}.disruptionBudget", limit, detail))
    purges = (
        ("application.purgeMode", failover.application.purge_mode if failover.application else ""),
        ("cluster.purgeMode", failover.cluster.purge_mode if failover.cluster else ""),
        (
            "applicationMigrationPolicy.purgePolicy",
            failover.application_migration_policy.purge_policy if failover.application_migration_policy else "",
        ),
    )
    detail = "cannot co-exist with disruptionBudget: it removes copies before they are replaced"
    return errors + [invalid(f"{PATH}.{name}", mode, detail) for name, mode in purges if mode in _AT_ONCE]


def _fence_errors(spec: PropagationSpec) -> list[FieldError]:
    failover = spec.failover
    if failover is None or failover.fencing is None:
        return []
    errors: list[FieldError] = []
    if failover.application is not None and failover.application.purge_mode == "Never":
        detail = "cannot co-exist with fencing: the copy that stays would keep the new one from starting"
        errors.append(invalid(f"{PATH}.application.purgeMode", "Never", detail))
    if spec.preserve_resources_on_deletion:
        detail = "cannot co-exist with failover.fencing: copies that are left would go on running"
        errors.append(invalid("spec.preserveResourcesOnDeletion", True, detail))
    return errors


def _trigger_errors(failover: FailoverBehavior) -> list[FieldError]:
    known = [trigger.value for trigger in RescheduleTrigger]
    triggers = failover.reschedule_triggers or ()
    field = f"{PATH}.rescheduleTriggers"
    errors = [not_supported(f"{field}[{n}]", one, known) for n, one in enumerate(triggers) if one not in known]
    first = {one: n for n, one in reversed([*enumerate(triggers)])}
    return errors + [
        invalid(f"{field}[{n}]", one, "is named twice") for n, one in enumerate(triggers) if first[one] < n
    ]
