"""Service."""

from collections.abc import Sequence
from typing import ClassVar

from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.native.load_balancer import Status, has_address, merged
from karmada.interpreter.native.settings import Settings
from karmada.interpreter.shape import Metadata, View, ensure, mapping, status_map, text, view, whole
from karmada.interpreter.types import known

_LOAD_BALANCER = "LoadBalancer"


class Spec(View, frozen=True, kw_only=True):
    """How it is reached."""

    type: str = ""


class ServiceStatus(Status, frozen=True, kw_only=True):
    """Where its load balancer can be reached."""

    TYPE: ClassVar[str] = "core.ServiceStatus"
    POINTS: ClassVar[str] = "*core.LoadBalancerIngress"


class Service(View, frozen=True, kw_only=True):
    """A Service."""

    metadata: Metadata = Metadata()
    spec: Spec = Spec()
    status: Status = Status()


def rules(_: Settings) -> KindRules:
    return KindRules(retain=retain, reflect=reflect, aggregate=aggregate, health=is_healthy)


def retain(desired: JSONObject, observed: JSONObject) -> JSONObject:
    """Addresses that the member has given out."""
    actual = mapping(observed, "spec") or {}
    if address := text(actual, "clusterIP"):
        ensure(desired, "spec")["clusterIP"] = address
    port = whole(actual, "healthCheckNodePort")
    if port is not None and port > 0:
        ensure(desired, "spec")["healthCheckNodePort"] = port
    return desired


def reflect(observed: JSONObject) -> JSONObject | None:
    """Only load balancers have a status."""
    spec = observed.get("spec")
    if not isinstance(spec, dict) or spec.get("type") != _LOAD_BALANCER:
        return None
    status = status_map(observed)
    if status is None:
        return None
    view(status, Status)
    points = known((status.get("loadBalancer") or {}).get("ingress") or [], "*core.LoadBalancerIngress")
    return {"loadBalancer": {"ingress": [_filled(point) for point in points]}}


def _filled(point: JSONObject) -> JSONObject:
    return {field: value for field, value in (point or {}).items() if value != ""}


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    if view(template, Service).spec.type != _LOAD_BALANCER:
        return template
    template["status"] = {"loadBalancer": {"ingress": merged(items, ServiceStatus)}}
    return template


def is_healthy(observed: JSONObject) -> bool:
    found = view(observed, Service)
    return found.spec.type != _LOAD_BALANCER or has_address(found.status)
