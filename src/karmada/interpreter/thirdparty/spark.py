"""Spark operator SparkApplication."""

import re
from typing import Any

from karmada.api.work.v1alpha2 import Component
from karmada.interpreter.model import InterpretError, JSONObject, KindRules
from karmada.interpreter.thirdparty import pods, rules
from karmada.interpreter.thirdparty.merge import Reports, aggregation, latest_true, loose_total, totals, united, worst
from karmada.interpreter.thirdparty.values import find, get, given, text

_FIELDS = (
    "applicationState",
    "driverInfo",
    "executionAttempts",
    "executorState",
    "lastSubmissionAttemptTime",
    "sparkApplicationId",
    "submissionAttempts",
    "submissionID",
    "terminationTime",
)
_MEMORY = re.compile(r"([0-9]+\.?[0-9]*)([bkmgtp])b?")
_UNITS = "bkmgtp"
"""Each is 1024 of the one before it."""
_SUFFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi")
_LEAST_OVERHEAD = (384.0, _UNITS.index("m"))
_JVM_LANGUAGES = ("java", "scala")
_RANKS = {
    "UNKNOWN": 0,
    "": 0,
    "SUBMITTED": 1,
    "PENDING_RERUN": 1,
    "COMPLETED": 2,
    "SUSPENDING": 3,
    "SUSPENDED": 3,
    "RUNNING": 4,
    "RESUMING": 4,
    "SUCCEEDING": 4,
    "INVALIDATING": 5,
    "FAILING": 6,
    "FAILED": 6,
    "SUBMISSION_FAILED": 6,
}


def _components(resource: JSONObject) -> tuple[Component, ...]:
    """The driver, and executors that are alike."""
    spec = find(resource, "spec")
    language = find(spec, "type")
    if not isinstance(language, str):
        raise InterpretError("spec.type is missing")
    factor = pods.count(find(spec, "memoryOverheadFactor"), 0.1 if language.lower() in _JVM_LANGUAGES else 0.4)
    counts = {"driver": 1, "executor": _executors(spec)}
    return tuple(
        pods.component(name, count, pods.part_needs(find(spec, name), _amounts(find(spec, name), factor)))
        for name, count in counts.items()
    )


def _executors(spec: Any) -> Any:
    wanted = [pods.count(find(spec, "executor", "instances"), 1)]
    enabled = find(spec, "dynamicAllocation", "enabled")
    if enabled is not None and enabled is not False:
        wanted += [
            pods.count(find(spec, "dynamicAllocation", name), 1) for name in ("initialExecutors", "minExecutors")
        ]
    return max(wanted)


def _amounts(part: Any, factor: float) -> dict[Any, Any]:
    cores, memory, overhead, gpu = (find(part, field) for field in ("cores", "memory", "memoryOverhead", "gpu"))
    amounts = {"cpu": given(cores, 1), "memory": _memory(given(memory, "1g"), given(overhead, None), factor)}
    if gpu is not None:
        name, quantity = get(gpu, "name"), pods.count(get(gpu, "quantity"), 0)
        if name not in (None, "") and quantity > 0:
            amounts[name] = quantity
    return amounts


def _memory(memory: Any, overhead: Any, factor: float) -> str:
    """What the JVM takes and an overhead: as given, or in proportion but not below the least."""
    value, unit = _parsed(memory)
    if overhead is not None:
        more, smaller = _parsed(overhead)
    else:
        least, least_unit = _LEAST_OVERHEAD
        smaller = min(unit, least_unit)
        more = max(_converted(value * factor, unit, smaller), _converted(least, least_unit, smaller))
    final = min(unit, smaller)
    return f"{_converted(value, unit, final) + _converted(more, smaller, final):.6f}{_SUFFIXES[final]}"


def _converted(value: float, unit: int, other: int) -> float:
    return value * 1024.0 ** (unit - other)


def _parsed(memory: Any) -> tuple[float, int]:
    """Memory as the JVM takes it, 512m or 1g, as a value and the rank of its unit."""
    found = _MEMORY.fullmatch(text(memory).lower())
    if found is None or text(memory).lower().endswith("bb"):
        raise InterpretError(f"{memory!r} is no amount of memory")
    return float(found[1]), _UNITS.index(found[2])


def _is_healthy(observed: JSONObject) -> bool:
    return find(observed, "status", "applicationState", "state") not in (None, False, "FAILED")


def _worst_state(reports: Reports, field: str) -> Any:
    states = reports.values(field)
    for state in states:
        if not isinstance(get(state, "state"), str) or state["state"] not in _RANKS:
            raise InterpretError(f"application state {get(state, 'state')!r} is not known")
    return worst(_RANKS, states, lambda state: state["state"])


APPLICATION = KindRules(
    components=_components,
    reflect=rules.reflect(*_FIELDS),
    aggregate=aggregation(
        {
            **totals("executionAttempts", "submissionAttempts", rule=loose_total),
            "lastSubmissionAttemptTime": latest_true,
            "terminationTime": latest_true,
            "executorState": united,
            "applicationState": _worst_state,
        },
        alone=True,
    ),
    health=_is_healthy,
)
