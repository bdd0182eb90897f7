"""Conditions of statuses, as trees."""

from typing import Any

from karmada.machinery.transport import JSONObject


def find(conditions: list[JSONObject] | None, type_: str) -> JSONObject | None:
    """One condition."""
    return next((condition for condition in conditions or () if condition.get("type") == type_), None)


def with_condition(
    conditions: list[JSONObject] | None, type_: str, status: str, reason: str, message: str, now: str, **more: Any
) -> list[JSONObject]:
    """The conditions with one set; its transition time moves only when its status does."""
    old = find(conditions, type_)
    since = old.get("lastTransitionTime") if old is not None and old.get("status") == status else None
    new: JSONObject = {"type": type_, "status": status, "lastTransitionTime": since or now}
    if reason:
        new["reason"] = reason
    if message:
        new["message"] = message
    new |= more
    if old is None:
        return [*(conditions or ()), new]
    return [new if condition is old else condition for condition in conditions or ()]


def without_condition(conditions: list[JSONObject] | None, type_: str) -> list[JSONObject]:
    """The conditions without one."""
    return [condition for condition in conditions or () if condition.get("type") != type_]
