"""Spark operator SparkApplication."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from karmada.api.quantity import Format, Quantity
from karmada.api.work.v1alpha2 import AggregatedStatusItem, Component, ComponentReplicaRequirements
from karmada.interpreter.model import InterpretError, JSONObject, KindRules
from karmada.interpreter.pods.requirements import node_claim
from karmada.interpreter.thirdparty import pods
from karmada.interpreter.thirdparty.statuses import members, reflect_fields, reported, total, with_status
from karmada.interpreter.thirdparty.tables import find

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
_UNITS = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_LEAST_OVERHEAD = 384 * 2**20
_JVM_LANGUAGES = ("java", "scala")
_STATES = ("FAILED", "RUNNING", "COMPLETED")
"""The first of these that a cluster reports is the state of all."""


def components(resource: JSONObject) -> tuple[Component, ...]:
    spec = resource.get("spec") or {}
    language = spec.get("type")
    if not isinstance(language, str):
        raise InterpretError("spec.type is missing")
    factor = Fraction(1, 10) if language.lower() in _JVM_LANGUAGES else Fraction(4, 10)
    driver, executor = spec.get("driver") or {}, spec.get("executor") or {}
    return (
        Component(name="driver", replicas=1, replica_requirements=_requirements(driver, factor)),
        Component(name="executor", replicas=_executors(spec), replica_requirements=_requirements(executor, factor)),
    )


def _executors(spec: JSONObject) -> int:
    count = find(spec, "executor", "instances")
    wanted = [1 if count is None else int(count)]
    allocation = spec.get("dynamicAllocation") or {}
    if allocation.get("enabled"):
        wanted += [int(allocation.get(name) or 0) for name in ("initialExecutors", "minExecutors")]
    return max(wanted)


def _requirements(part: JSONObject, factor: Fraction) -> ComponentReplicaRequirements:
    memory = Fraction(_bytes(part.get("memory") or "1g"))
    given = part.get("memoryOverhead")
    overhead = Fraction(_bytes(given)) if given is not None else max(memory * factor, Fraction(_LEAST_OVERHEAD))
    amounts: dict[str, int | str] = {"cpu": str(part.get("cores") or 1), "memory": _spell(memory + overhead)}
    gpu = part.get("gpu") or {}
    if gpu.get("name") and gpu.get("quantity"):
        amounts[gpu["name"]] = str(gpu["quantity"])
    claim = {field: part.get(field) for field in ("nodeSelector", "tolerations", "affinity")}
    claim["tolerations"] = [toleration for toleration in claim["tolerations"] or () if toleration]
    return ComponentReplicaRequirements(
        node_claim=node_claim(pods.template_of({"spec": claim}).spec), resource_request=amounts
    )


def _bytes(memory: Any) -> int:
    """Memory as the JVM takes it: 512m, 1g."""
    text = str(memory).lower()
    digits, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "")
    if not digits.isdecimal():
        raise InterpretError(f"{memory!r} is no amount of memory")
    return int(digits) * _UNITS.get(unit, 1)


def _spell(amount: Fraction) -> str:
    if amount.denominator == 1:
        return str(Quantity(int(amount), 0, Format.BINARY_SI))
    return str(Quantity(round(amount * 1000), -3))


def is_healthy(observed: JSONObject) -> bool:
    state = find(observed, "status", "applicationState", "state")
    return state is not None and state != "FAILED"


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    found = reported(items)
    if len(items) == 1:
        template["status"] = members(items)[0].status
        return template
    executors = {name: state for status in found for name, state in (status.get("executorState") or {}).items()}
    status: JSONObject = {
        "executionAttempts": total(found, "executionAttempts"),
        "submissionAttempts": total(found, "submissionAttempts"),
        "lastSubmissionAttemptTime": _last(found, "lastSubmissionAttemptTime"),
        "terminationTime": _last(found, "terminationTime"),
    }
    if executors:
        status["executorState"] = executors
    if state := _state(found):
        status["applicationState"] = {"state": state}
    return with_status(template, status)


def _last(found: Sequence[JSONObject], field: str) -> str:
    return max((status[field] for status in found if isinstance(status.get(field), str)), default="")


def _state(found: Sequence[JSONObject]) -> str:
    states = [
        find(status, "applicationState", "state") for status in found if status.get("applicationState") is not None
    ]
    for state in states:
        if state not in _STATES:
            raise InterpretError(f"application state {state!r} cannot be merged")
    return min(states, key=_STATES.index, default="")


RULES = KindRules(components=components, reflect=reflect_fields(*_FIELDS), aggregate=aggregate, health=is_healthy)
