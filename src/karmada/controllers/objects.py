"""What controllers change in objects of any kind, as committers take it: finalizers and conditions."""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from karmada.api.meta import Condition, set_condition
from karmada.machinery.clock import rfc3339

Change = Callable[[Any], Any]
"""From an object to the object as it should be."""


def with_finalizer(finalizer: str) -> Change:
    """Have a finalizer hold the object back."""

    def decide(current: Any) -> Any:
        held = current.metadata.finalizers
        if finalizer in held:
            return current
        return replace(current, metadata=replace(current.metadata, finalizers=(*held, finalizer)))

    return decide


def without_finalizer(finalizer: str) -> Change:
    """Have a finalizer hold the object back no longer."""

    def decide(current: Any) -> Any:
        kept = tuple(held for held in current.metadata.finalizers if held != finalizer)
        return replace(current, metadata=replace(current.metadata, finalizers=kept))

    return decide


def with_status_condition(type_: str, status: bool, reason: str, message: str, now: float) -> Change:
    """Set a condition in the status."""

    def decide(current: Any) -> Any:
        found = with_condition(current.status.conditions, type_, status, reason, message, now)
        return replace(current, status=replace(current.status, conditions=found))

    return decide


def with_condition(
    conditions: tuple[Condition, ...], type_: str, status: bool, reason: str, message: str, now: float
) -> tuple[Condition, ...]:
    """Set a condition; its transition time moves only when its status changes."""
    new = Condition(
        type=type_,
        status="True" if status else "False",
        reason=reason,
        message=message,
        last_transition_time=rfc3339(now),
    )
    return set_condition(conditions, new)
