"""Whether a Deployment is available, from what all members report together: the conditions its template shows.

Tools wait for these conditions (`kubectl wait --for=condition=Available`, Flux, Helm 4). They are ours as long as the
reason of `Available` is one of ours; an interpreter that writes them itself is left alone.
"""

from collections.abc import Iterable, Sequence
from typing import Any

JSONObject = dict[str, Any]
_AVAILABLE, _PROGRESSING = "Available", "Progressing"
_ENOUGH, _TOO_FEW = "MinimumReplicasAvailable", "MinimumReplicasUnavailable"
_DONE, _UNDER_WAY = "NewReplicaSetAvailable", "ReplicaSetUpdated"
_MESSAGES = {
    _ENOUGH: "The members have enough replicas available.",
    _TOO_FEW: "The members have too few replicas available.",
    _DONE: "All replicas are up to date and available.",
    _UNDER_WAY: "Not all replicas are up to date and available.",
}
_DEFAULT_MAX_UNAVAILABLE = "25%"


def is_judged(template: JSONObject) -> bool:
    """Whether a template is of the kind that has these conditions."""
    return template.get("apiVersion") == "apps/v1" and template.get("kind") == "Deployment"


def without_ours(template: JSONObject) -> JSONObject:
    """The template as interpreters get it: without conditions that were written here."""
    status = template.get("status") or {}
    kept = [one for one in _conditions(status) if one.get("type") not in (_AVAILABLE, _PROGRESSING)]
    if not _is_ours(status):
        return template
    rest = {name: value for name, value in status.items() if name != "conditions"}
    return {**template, "status": {**rest, "conditions": kept} if kept else rest}


def with_conditions(status: JSONObject, template: JSONObject, replicas: Sequence[int], now: str) -> JSONObject:
    """An aggregated status with the conditions; `replicas` is how many each cluster was given.

    A status that says nothing yet stays as it is, so that the conditions never cost a write of their own.
    """
    given = _conditions(status)
    if not status or any(one.get("type") == _AVAILABLE for one in given):
        return status
    spec = template.get("spec") or {}
    wanted = list(replicas) or [_number(spec, "replicas", 1)]
    available, updated = _number(status, "availableReplicas"), _number(status, "updatedReplicas")
    enough = available >= sum(count - _spare(spec.get("strategy") or {}, count) for count in wanted)
    generation = (template.get("metadata") or {}).get("generation", 0)
    done = _number(status, "observedGeneration") >= generation and min(updated, available) >= sum(wanted)
    before = _conditions(template.get("status") or {})
    return {
        **status,
        "conditions": [
            *given,
            _condition(before, _AVAILABLE, "True" if enough else "False", _ENOUGH if enough else _TOO_FEW, now),
            _condition(before, _PROGRESSING, "True", _DONE if done else _UNDER_WAY, now),
        ],
    }


def _spare(strategy: JSONObject, replicas: int) -> int:
    """How many replicas of a copy may be missing during a rollout; a percentage is rounded down."""
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return 0
    limits = strategy.get("rollingUpdate") or {}
    down = _share(limits.get("maxUnavailable", _DEFAULT_MAX_UNAVAILABLE), replicas)
    no_surge = limits.get("maxSurge") in (0, "0%")
    return min(replicas, max(down, 1) if no_surge else down)


def _share(limit: Any, replicas: int) -> int:
    if isinstance(limit, int):
        return limit
    digits = str(limit).removesuffix("%")
    return replicas * int(digits) // 100 if digits.isdecimal() else 0


def _condition(before: Iterable[JSONObject], type_: str, status: str, reason: str, now: str) -> JSONObject:
    """A condition; its times stay as long as what they are about does."""
    old = next((one for one in before if one.get("type") == type_), {})
    moved = old.get("lastTransitionTime") if old.get("status") == status else None
    since = old.get("lastUpdateTime") if old.get("reason") == reason else None
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": _MESSAGES[reason],
        "lastUpdateTime": since or now,
        "lastTransitionTime": moved or now,
    }


def _is_ours(status: JSONObject) -> bool:
    return any(one.get("type") == _AVAILABLE and one.get("reason") in _MESSAGES for one in _conditions(status))


def _conditions(status: JSONObject) -> list[JSONObject]:
    found = status.get("conditions")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _number(tree: JSONObject, name: str, default: int = 0) -> int:
    value = tree.get(name)
    return value if isinstance(value, int) else default
