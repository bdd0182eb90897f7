"""Rules of the status of workloads and budgets: counts that cannot be negative or exceed others."""

from karmada.api.field_errors import duplicate, invalid, required
from karmada.apiserver.builtin.strategies.common import Errors, JSONObject, Validate, non_negative

_MORE = "cannot be greater than status.replicas"


def counts(*fields: str, within: tuple[str, ...] = (), ready: str = "") -> Validate:
    """A check that fields are not negative, that those of `within` do not exceed the replicas, and that no more are
    available than ready; `ready` is what the latter is called."""

    def validate(obj: JSONObject, old: JSONObject | None) -> Errors:
        status = obj.get("status") or {}
        errors: Errors = []
        for field in fields:
            errors += non_negative(f"status.{field}", status.get(field))
        for field in within:
            if (count := status.get(field) or 0) > (status.get("replicas") or 0):
                errors.append(invalid(f"status.{field}", count, _MORE))
        available = status.get("availableReplicas") or 0
        if ready and available > (status.get("readyReplicas") or 0):
            errors.append(invalid("status.availableReplicas", available, f"cannot be greater than {ready}"))
        before = ((old or {}).get("status") or {}).get("collisionCount")
        collisions = status.get("collisionCount")
        if "collisionCount" in fields and before is not None and (collisions is None or collisions < before):
            shown = 0 if collisions is None else collisions
            errors.append(invalid("status.collisionCount", shown, "cannot be decremented"))
        return errors

    return validate


def typed_conditions(obj: JSONObject, old: JSONObject | None) -> Errors:
    """Every condition has a type, and each type comes once."""
    errors: Errors = []
    seen: set[str] = set()
    for index, condition in enumerate((obj.get("status") or {}).get("conditions") or ()):
        kind, place = condition.get("type") or "", f"status.conditions[{index}].type"
        if kind in seen:
            errors.append(duplicate(place, kind))
        seen.add(kind)
        if not kind:
            errors.append(required(place))
    return errors


_REPLICAS = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration")
REPLICA_SET = counts(*_REPLICAS, "terminatingReplicas", within=_REPLICAS[1:4], ready="readyReplicas")
DEPLOYMENT = counts(
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "terminatingReplicas",
    "collisionCount",
    within=("updatedReplicas", "readyReplicas", "availableReplicas"),
    ready="readyReplicas",
)
STATEFUL_SET = counts(
    "replicas",
    "readyReplicas",
    "currentReplicas",
    "updatedReplicas",
    "availableReplicas",
    "observedGeneration",
    "collisionCount",
    within=("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
    ready="status.readyReplicas",
)
DAEMON_SET = counts(
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
)
BUDGET = counts("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
