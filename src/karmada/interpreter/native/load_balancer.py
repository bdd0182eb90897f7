"""Addresses of load balancers, as Services and Ingresses report them."""

from collections.abc import Sequence
from typing import Any

from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject
from karmada.interpreter.shape import View, statuses


class LoadBalancer(View, frozen=True, kw_only=True):
    """Where it can be reached."""

    ingress: tuple[dict[str, Any], ...] = ()


class Status(View, frozen=True, kw_only=True):
    """The status of a Service or an Ingress."""

    load_balancer: LoadBalancer = LoadBalancer()


def has_address(status: Status) -> bool:
    return any(point.get("ip") or point.get("hostname") for point in status.load_balancer.ingress)


def merged(items: Sequence[AggregatedStatusItem]) -> list[JSONObject]:
    """Addresses of all members, each once: hostnames first. Of two reports of an address the later one counts."""
    points = {_address(point): point for status in statuses(items, Status) for point in status.load_balancer.ingress}
    return [points[address] for address in sorted(points)]


def _address(point: JSONObject) -> tuple[bool, str, str]:
    hostname = point.get("hostname") or ""
    return not hostname, hostname, point.get("ip") or ""
