"""Ray RayCluster."""

from collections.abc import Sequence

from karmada.api.quantity import Quantity, QuantityError
from karmada.api.work.v1alpha2 import AggregatedStatusItem, Component
from karmada.interpreter.model import InterpretError, JSONObject, KindRules
from karmada.interpreter.thirdparty import ray
from karmada.interpreter.thirdparty.statuses import members, reported, totals, with_status
from karmada.interpreter.thirdparty.tables import entries, find

_COUNTERS = (
    "availableWorkerReplicas",
    "desiredWorkerReplicas",
    "maxWorkerReplicas",
    "minWorkerReplicas",
    "readyWorkerReplicas",
)
_AMOUNTS = ("desiredCPU", "desiredGPU", "desiredMemory", "desiredTPU")


def components(resource: JSONObject) -> tuple[Component, ...]:
    return ray.parts(resource.get("spec"))


def is_healthy(observed: JSONObject) -> bool:
    holds = {
        condition.get("type"): condition.get("status") == "True"
        for condition in entries(find(observed, "status", "conditions"))
    }
    provisioned = holds.get("HeadPodReady", False) and holds.get("RayClusterProvisioned", False)
    return provisioned and not holds.get("RayClusterReplicaFailure", False)


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    if len(items) == 1:
        template["status"] = members(items)[0].status
        return template
    found = reported(items)
    status: JSONObject = {**totals(found, *_COUNTERS)}
    status["conditions"] = [condition for member in found for condition in entries(member.get("conditions"))]
    for name in _AMOUNTS:
        status[name] = _sum(found, name)
    for name in ("endpoints", "head", "state"):
        values = [member[name] for member in found if member.get(name) is not None]
        if values:
            status[name] = values[0]
    if times := [member["lastUpdateTime"] for member in found if member.get("lastUpdateTime") is not None]:
        status["lastUpdateTime"] = max(times)
    times_of_state = next((member for member in found if member.get("state") is not None), {})
    if "stateTransitionTimes" in times_of_state:
        status["stateTransitionTimes"] = times_of_state["stateTransitionTimes"]
    return with_status(template, status)


def _sum(found: Sequence[JSONObject], name: str) -> str:
    total = Quantity(0)
    for member in found:
        try:
            total = total + Quantity.parse(member.get(name) or "0")
        except QuantityError as error:
            raise InterpretError(f"{name}: {error}") from error
    return str(total)


RULES = KindRules(components=components, aggregate=aggregate, health=is_healthy)
