"""Putting statuses of several members together, the ways bundled rules do it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from karmada.api import annotations
from karmada.api.codec import DecodeError, tree
from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import InterpretError, JSONObject
from karmada.interpreter.thirdparty.tables import at, entries, find, number


class Member(NamedTuple):
    """What one cluster reports; `status` is None when it reports nothing."""

    cluster: str
    status: JSONObject | None


def members(items: Iterable[AggregatedStatusItem]) -> list[Member]:
    """The reports as trees."""
    return [Member(item.cluster_name, _status(item)) for item in items]


def reported(items: Iterable[AggregatedStatusItem]) -> list[JSONObject]:
    """The statuses of clusters that report one."""
    return [member.status for member in members(items) if member.status is not None]


def _status(item: AggregatedStatusItem) -> JSONObject | None:
    try:
        status = tree(item.status)
    except DecodeError as error:
        raise InterpretError(f"status of {item.cluster_name}: {error}") from error
    return status if isinstance(status, dict) else None


def total(statuses: Iterable[JSONObject], field: str) -> int:
    """Sum of a counter; clusters that do not report it count nothing."""
    return sum(number(status[field], field) for status in statuses if status.get(field) is not None)


def totals(statuses: Sequence[JSONObject], *fields: str) -> dict[str, int]:
    """Sums of counters."""
    return {field: total(statuses, field) for field in fields}


def latest(statuses: Iterable[JSONObject], field: str, default: Any = None) -> Any:
    """The value that the last cluster to report one has."""
    values = [status[field] for status in statuses if status.get(field) is not None]
    return values[-1] if values else default


def present(**values: Any) -> JSONObject:
    """Only what is there."""
    return {name: value for name, value in values.items() if value is not None}


def observed_generation(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> int:
    """The template's generation once every cluster has caught up with it, else what was observed before."""
    generation = at(template, "metadata", "generation") or 0
    caught_up = sum(_has_caught_up(status, generation) for status in reported(items))
    if caught_up == len(items):
        return int(generation)
    return find(template, "status", "observedGeneration") or 0


def _has_caught_up(status: JSONObject, generation: int) -> bool:
    seen, own = status.get("observedGeneration") or 0, status.get("generation") or 0
    return seen == own and (status.get("resourceTemplateGeneration") or 0) == generation


def prefixed_conditions(items: Iterable[AggregatedStatusItem]) -> list[JSONObject]:
    """Conditions that agree are one; its message names each cluster."""
    merged: dict[tuple[Any, ...], JSONObject] = {}
    for member in members(items):
        for condition in entries(find(member.status, "conditions")):
            message = condition.get("message")
            if message is None:
                raise InterpretError("a condition without message cannot be merged")
            prefixed = f"{member.cluster}={message}"
            key = (condition.get("type"), condition.get("status"), condition.get("reason"))
            if key in merged:
                merged[key]["message"] += f", {prefixed}"
            else:
                merged[key] = {**condition, "message": prefixed}
    return list(merged.values())


def with_status(template: JSONObject, status: JSONObject) -> JSONObject:
    template["status"] = status
    return template


def reflect_fields(*fields: str, generations: bool = False) -> Callable[[JSONObject], JSONObject | None]:
    """Report these fields of the status."""

    def reflect(observed: JSONObject) -> JSONObject | None:
        status = observed.get("status")
        if not isinstance(status, dict):
            return {}
        kept = {field: status[field] for field in fields if status.get(field) is not None}
        return {**kept, **_generations(observed)} if generations else kept

    return reflect


def _generations(observed: JSONObject) -> JSONObject:
    template = find(observed, "metadata", "annotations", annotations.TEMPLATE_GENERATION)
    digits = str(template)
    return present(
        generation=find(observed, "metadata", "generation"),
        resourceTemplateGeneration=int(digits) if digits.isdecimal() else None,
    )
