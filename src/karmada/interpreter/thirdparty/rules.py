"""What several bundled kinds have in common besides merging: reporting, retaining, counting, being healthy."""

from collections.abc import Callable, Sequence
from typing import Any

from karmada.api import annotations
from karmada.interpreter.model import InterpretError, JSONObject, ReplicaNeeds
from karmada.interpreter.thirdparty import pods
from karmada.interpreter.thirdparty.values import before, entries, find, get, parsed, same, truncated


def reflect(*fields: str, generations: bool = False) -> Callable[[JSONObject], JSONObject]:
    """Report these fields of the status, and where `generations` are asked for which template they belong to."""

    def rule(observed: JSONObject) -> JSONObject:
        status = observed.get("status")
        if status is None:
            return {}
        kept = {field: value for field in fields if (value := get(status, field)) is not None}
        return {**kept, **_generations(observed)} if generations else kept

    return rule


def _generations(observed: JSONObject) -> JSONObject:
    given = find(observed, "metadata", "annotations", annotations.TEMPLATE_GENERATION)
    found = {"generation": find(observed, "metadata", "generation"), "resourceTemplateGeneration": parsed(given)}
    return {name: value for name, value in found.items() if value is not None}


def put(resource: JSONObject, value: Any, *path: str) -> JSONObject:
    """The resource with a value at a path, whose sections have to be there."""
    *sections, field = path
    holder: Any = resource
    for index, section in enumerate(sections):
        inner = get(holder, section)
        if inner == [] and isinstance(inner, list):
            inner = holder[section] = {}
        if not isinstance(inner, dict):
            raise InterpretError(f"{'.'.join(path[: index + 1])} is {inner!r}, not an object")
        holder = inner
    holder[field] = value
    return resource


def retain(*paths: Sequence[str]) -> Callable[[JSONObject, JSONObject], JSONObject]:
    """Take over from the member what it has at these paths."""

    def rule(desired: JSONObject, observed: JSONObject) -> JSONObject:
        for path in paths:
            value = get(observed, *path)
            if value is not None:
                put(desired, value, *path)
        return desired

    return rule


SUSPENDED = ("spec", "suspend")
"""Whoever suspends a resource in a cluster decides about it."""


def revise(field: str) -> Callable[[JSONObject, int], JSONObject]:
    """The number is a field of the spec."""
    return lambda resource, count: put(resource, count, "spec", field)


def replicas(field: str, default: int | None = None) -> Callable[[JSONObject], ReplicaNeeds]:
    """The number is a field of the spec, and one replica is a pod made from its template."""

    def rule(resource: JSONObject) -> ReplicaNeeds:
        count = get(resource, "spec", field)
        return ReplicaNeeds(
            truncated(default if count is None else count), pods.requirements(get(resource, "spec", "template"))
        )

    return rule


def is_condition(condition: Any, type_: str) -> bool:
    return bool(get(condition, "type") == type_ and get(condition, "status") == "True")


def ready(*reasons: str) -> Callable[[JSONObject], bool]:
    """Healthy once the condition Ready is true, for one of these reasons if any are named."""

    def rule(observed: JSONObject) -> bool:
        return any(
            is_condition(condition, "Ready") and (not reasons or get(condition, "reason") in reasons)
            for condition in entries(find(observed, "status", "conditions"))
        )

    return rule


def rolled_out(wanted: Sequence[str], updated: str, available: str) -> Callable[[JSONObject], bool]:
    """Healthy once the newest generation is observed, updated everywhere and available."""

    def rule(observed: JSONObject) -> bool:
        status = get(observed, "status")
        if not same(get(status, "observedGeneration"), get(observed, "metadata", "generation")):
            return False
        count = get(observed, *wanted)
        if count is None and wanted[0] == "spec":
            return not before(get(status, available), get(status, updated))
        return not before(get(status, updated), count) and not before(get(status, available), get(status, updated))

    return rule
