"""The status of a Deployment: counts of its ReplicaSets, and whether the rollout makes progress."""

from karmada.machinery.clock import parse_rfc3339
from karmada.machinery.transport import JSONObject
from karmada.simulator.workloads.conditions import find, with_condition, without_condition
from karmada.simulator.workloads.rollout import limits_of, replicas_of

NO_DEADLINE = 2**31 - 1
_ALWAYS = frozenset({"observedGeneration", "terminatingReplicas"})


def status_of(deployment: JSONObject, new: JSONObject | None, sets: list[JSONObject], stamp: str) -> JSONObject:
    """The status with these ReplicaSets at a moment."""
    old = deployment.get("status") or {}
    counts = _counts(deployment, new, sets)
    status = {name: value for name, value in counts.items() if value or name in _ALWAYS}
    if old.get("collisionCount") is not None:
        status["collisionCount"] = old["collisionCount"]
    conditions = _available(deployment, counts, old.get("conditions") or [], stamp)
    conditions = _failing(sets, conditions)
    conditions = _progressing(deployment, new, counts, old, conditions, stamp)
    status["conditions"] = conditions
    return status


def is_complete(deployment: JSONObject, counts: JSONObject) -> bool:
    """Whether everything is new and serves."""
    replicas = replicas_of(deployment)
    return all(counts.get(name, 0) == replicas for name in ("updatedReplicas", "replicas", "availableReplicas"))


def seconds_left(deployment: JSONObject, now: float) -> float | None:
    """Seconds until the rollout counts as stuck; None when it has no deadline, is complete, or is stuck already."""
    deadline = deployment["spec"].get("progressDeadlineSeconds")
    condition = find((deployment.get("status") or {}).get("conditions"), "Progressing")
    if not deadline or deadline >= NO_DEADLINE or condition is None or deployment["spec"].get("paused"):
        return None
    if condition.get("reason") in ("NewReplicaSetAvailable", "ProgressDeadlineExceeded"):
        return None
    since = condition.get("lastUpdateTime") or condition.get("lastTransitionTime")
    return max(0.0, parse_rfc3339(since) + deadline - now + 0.001) if since else None


def _counts(deployment: JSONObject, new: JSONObject | None, sets: list[JSONObject]) -> JSONObject:
    def total(field: str) -> int:
        return sum((one.get("status") or {}).get(field, 0) for one in sets)

    available = total("availableReplicas")
    wanted = sum(replicas_of(one) for one in sets)
    return {
        "observedGeneration": deployment["metadata"].get("generation", 0),
        "replicas": total("replicas"),
        "updatedReplicas": ((new or {}).get("status") or {}).get("replicas", 0),
        "readyReplicas": total("readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, wanted - available),
        "terminatingReplicas": total("terminatingReplicas"),
    }


def _available(
    deployment: JSONObject, counts: JSONObject, conditions: list[JSONObject], stamp: str
) -> list[JSONObject]:
    enough = counts["availableReplicas"] >= replicas_of(deployment) - limits_of(deployment).unavailable
    status, reason, text = (
        ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
        if enough
        else ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    )
    old = find(conditions, "Available")
    if old is not None and old.get("status") == status and old.get("reason") == reason:
        return conditions
    return with_condition(conditions, "Available", status, reason, text, stamp, lastUpdateTime=stamp)


def _failing(sets: list[JSONObject], conditions: list[JSONObject]) -> list[JSONObject]:
    for one in sets:
        failure = find((one.get("status") or {}).get("conditions"), "ReplicaFailure")
        if failure is not None:
            rest = without_condition(conditions, "ReplicaFailure")
            return [*rest, failure | {"lastUpdateTime": failure.get("lastTransitionTime")}]
    return without_condition(conditions, "ReplicaFailure")


def _progressing(
    deployment: JSONObject,
    new: JSONObject | None,
    counts: JSONObject,
    old: JSONObject,
    conditions: list[JSONObject],
    stamp: str,
) -> list[JSONObject]:
    deadline = deployment["spec"].get("progressDeadlineSeconds")
    if not deadline or deadline >= NO_DEADLINE:
        return without_condition(conditions, "Progressing")
    present = find(conditions, "Progressing")
    reason = (present or {}).get("reason")
    if deployment["spec"].get("paused"):
        return _set(conditions, "Unknown", "DeploymentPaused", "Deployment is paused", stamp, reason)
    if reason == "DeploymentPaused":
        return _set(conditions, "Unknown", "DeploymentResumed", "Deployment is resumed", stamp, reason)
    if new is None:
        return conditions
    name = f'ReplicaSet "{new["metadata"]["name"]}"'
    if is_complete(deployment, counts):
        text = f"{name} has successfully progressed."
        return _set(conditions, "True", "NewReplicaSetAvailable", text, stamp, reason)
    is_rolled_out = reason == "NewReplicaSetAvailable" and name in (present or {}).get("message", "")
    if is_rolled_out and counts["updatedReplicas"] == counts["replicas"]:
        # A completed rollout that lost pods is not a rollout.
        return conditions
    if present is None or (reason == "NewReplicaSetAvailable" and not is_rolled_out):
        text = f'Created new replica set "{new["metadata"]["name"]}"'
        return _set(conditions, "True", "NewReplicaSetCreated", text, stamp, reason)
    if _moved(counts, old):
        text = f"{name} is progressing."
        return with_condition(conditions, "Progressing", "True", "ReplicaSetUpdated", text, stamp, lastUpdateTime=stamp)
    since = present.get("lastUpdateTime") or present.get("lastTransitionTime") or stamp
    if reason != "ProgressDeadlineExceeded" and parse_rfc3339(since) + deadline <= parse_rfc3339(stamp):
        text = f"{name} has timed out progressing."
        return _set(conditions, "False", "ProgressDeadlineExceeded", text, stamp, reason)
    return conditions


def _moved(counts: JSONObject, old: JSONObject) -> bool:
    outdated = counts["replicas"] - counts["updatedReplicas"]
    before = old.get("replicas", 0) - old.get("updatedReplicas", 0)
    return outdated < before or any(
        counts[name] > old.get(name, 0) for name in ("updatedReplicas", "readyReplicas", "availableReplicas")
    )


def _set(
    conditions: list[JSONObject], status: str, reason: str, text: str, stamp: str, before: str | None
) -> list[JSONObject]:
    if before == reason:
        return conditions
    return with_condition(conditions, "Progressing", status, reason, text, stamp, lastUpdateTime=stamp)
