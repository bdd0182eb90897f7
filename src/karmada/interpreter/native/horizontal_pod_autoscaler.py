"""HorizontalPodAutoscaler."""

from collections.abc import Sequence
from typing import Any, ClassVar

from msgspec import field

from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.native.counters import nonzero, total
from karmada.interpreter.native.settings import Settings
from karmada.interpreter.shape import Metadata, View, status_map, statuses, view


class Status(View, frozen=True, kw_only=True):
    """Replicas there are and should be."""

    TYPE: ClassVar[str] = "autoscaling.HorizontalPodAutoscalerStatus"

    current_replicas: int = 0
    desired_replicas: int = 0


class HorizontalPodAutoscaler(View, frozen=True, kw_only=True):
    """A HorizontalPodAutoscaler."""

    metadata: Metadata = Metadata()
    spec: dict[str, Any] = field(default_factory=dict)
    status: Status = Status()


def rules(_: Settings) -> KindRules:
    return KindRules(reflect=reflect, aggregate=aggregate)


def reflect(observed: JSONObject) -> JSONObject | None:
    status = status_map(observed)
    return None if status is None else _status([view(status, Status)])


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    view(template, HorizontalPodAutoscaler)
    template["status"] = _status(statuses(items, Status))
    return template


def _status(members: Sequence[Status]) -> JSONObject:
    counters = total(members, "current_replicas", "desired_replicas")
    return {**nonzero(counters), "desiredReplicas": counters["desiredReplicas"]}
