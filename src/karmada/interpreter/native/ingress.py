"""Ingress."""

from collections.abc import Sequence
from typing import ClassVar

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.native.load_balancer import Status, has_address, merged
from karmada.interpreter.native.settings import Settings
from karmada.interpreter.shape import Metadata, View, view


class TLS(View, frozen=True, kw_only=True):
    """A certificate."""

    secret_name: str = ""


class Spec(View, frozen=True, kw_only=True):
    """What it serves."""

    tls: tuple[TLS, ...] = ()


class IngressStatus(Status, frozen=True, kw_only=True):
    """Where its load balancer can be reached."""

    TYPE: ClassVar[str] = "networking.IngressStatus"
    POINTS: ClassVar[str] = "*networking.IngressLoadBalancerIngress"


class Ingress(View, frozen=True, kw_only=True):
    """An Ingress."""

    metadata: Metadata = Metadata()
    spec: Spec = Spec()
    status: Status = Status()


def rules(_: Settings) -> KindRules:
    return KindRules(aggregate=aggregate, health=is_healthy, dependencies=dependencies)


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    view(template, Ingress)
    template["status"] = {"loadBalancer": {"ingress": merged(items, IngressStatus)}}
    return template


def is_healthy(observed: JSONObject) -> bool:
    return has_address(view(observed, Ingress).status)


def dependencies(resource: JSONObject) -> list[DependentObjectReference]:
    """The secrets of its certificates."""
    found = view(resource, Ingress)
    return [
        DependentObjectReference(
            api_version="v1", kind="Secret", namespace=found.metadata.namespace, name=tls.secret_name
        )
        for tls in found.spec.tls
    ]
