"""Service."""

from collections.abc import Sequence

from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.native.load_balancer import Status, has_address, merged
from karmada.interpreter.native.settings import Settings
from karmada.interpreter.shape import Metadata, View, ensure, mapping, text, view, whole

_LOAD_BALANCER = "LoadBalancer"


class Spec(View, frozen=True, kw_only=True):
    """How it is reached."""

    type: str = ""


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
    if port := whole(actual, "healthCheckNodePort"):
        ensure(desired, "spec")["healthCheckNodePort"] = port
    return desired


def reflect(observed: JSONObject) -> JSONObject | None:
    """Only load balancers have a status."""
    if text(mapping(observed, "spec") or {}, "type") != _LOAD_BALANCER:
        return None
    status = mapping(observed, "status")
    if status is None:
        return None
    view(status, Status)
    return {"loadBalancer": status.get("loadBalancer") or {}}


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    if view(template, Service).spec.type != _LOAD_BALANCER:
        return template
    ensure(template, "status", "loadBalancer")["ingress"] = merged(items)
    return template


def is_healthy(observed: JSONObject) -> bool:
    found = view(observed, Service)
    return found.spec.type != _LOAD_BALANCER or has_address(found.status)
