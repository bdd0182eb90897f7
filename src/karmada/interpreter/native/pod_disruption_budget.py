"""PodDisruptionBudget."""

from collections.abc import Sequence
from typing import Any, ClassVar

from msgspec import field

from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.native.counters import int32, total
from karmada.interpreter.native.settings import Settings
from karmada.interpreter.shape import Metadata, View, status_map, status_of, view

_COUNTERS = ("disruptions_allowed", "expected_pods", "desired_healthy", "current_healthy")


class Status(View, frozen=True, kw_only=True):
    """How many pods may be missing."""

    TYPE: ClassVar[str] = "policy.PodDisruptionBudgetStatus"

    disruptions_allowed: int = 0
    expected_pods: int = 0
    desired_healthy: int = 0
    current_healthy: int = 0
    disrupted_pods: dict[str, str | None] = field(default_factory=dict)


class PodDisruptionBudget(View, frozen=True, kw_only=True):
    """A PodDisruptionBudget."""

    metadata: Metadata = Metadata()
    spec: dict[str, Any] = field(default_factory=dict)
    status: Status = Status()


def rules(_: Settings) -> KindRules:
    return KindRules(reflect=reflect, aggregate=aggregate, health=is_healthy)


def reflect(observed: JSONObject) -> JSONObject | None:
    status = status_map(observed)
    if status is None:
        return None
    found = view(status, Status)
    return _status([found], dict(found.disrupted_pods))


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    """Pods are distinguished by their cluster."""
    view(template, PodDisruptionBudget)
    found = {item.cluster_name: member for item in items if (member := status_of(item, Status)) is not None}
    disrupted = {
        f"{cluster}/{pod}": moment for cluster, member in found.items() for pod, moment in member.disrupted_pods.items()
    }
    template["status"] = _status(list(found.values()), disrupted)
    return template


def is_healthy(observed: JSONObject) -> bool:
    status = view(observed, PodDisruptionBudget).status
    return int32(status.current_healthy) >= int32(status.desired_healthy)


def _status(members: Sequence[Status], disrupted: dict[str, str | None]) -> JSONObject:
    status: JSONObject = {**total(members, *_COUNTERS)}
    if disrupted:
        status["disruptedPods"] = disrupted
    return status
