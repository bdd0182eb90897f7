"""Addresses of load balancers, as Services and Ingresses report them."""

from collections.abc import Sequence
from typing import Any, ClassVar

from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject
from karmada.interpreter.shape import View, statuses
from karmada.interpreter.types import known


class LoadBalancer(View, frozen=True, kw_only=True):
    """Where it can be reached."""

    ingress: tuple[dict[str, Any], ...] = ()


class Status(View, frozen=True, kw_only=True):
    """The status of a Service or an Ingress."""

    POINTS: ClassVar[str] = ""
    """The type of its addresses."""

    load_balancer: LoadBalancer = LoadBalancer()


def has_address(status: Status) -> bool:
    return any(point.get("ip") or point.get("hostname") for point in status.load_balancer.ingress)


def merged(items: Sequence[AggregatedStatusItem], type_: type[Status]) -> list[JSONObject]:
    """Addresses of all members, each once and with the ports of all that report it; hostnames first."""
    points: dict[_Address, JSONObject] = {}
    ports: dict[_Address, dict[_Port, JSONObject]] = {}
    for status in statuses(items, type_):
        for point in known(list(status.load_balancer.ingress), type_.POINTS):
            address = _address(point)
            points[address] = point
            ports.setdefault(address, {}).update((_port(port), port) for port in point.get("ports") or () if port)
    return [_with_ports(points[address], ports[address]) for address in sorted(points)]


_Address = tuple[bool, str, str, bool, str]
_Port = tuple[int, str, bool, str]


def _address(point: JSONObject) -> _Address:
    hostname, mode = point.get("hostname") or "", point.get("ipMode")
    return not hostname, hostname, point.get("ip") or "", mode is None, mode or ""


def _port(port: JSONObject) -> _Port:
    error = port.get("error")
    return port.get("port") or 0, port.get("protocol") or "", error is not None, error or ""


def _with_ports(point: JSONObject, ports: dict[_Port, JSONObject]) -> JSONObject:
    others = {field: value for field, value in point.items() if field != "ports"}
    return {**others, "ports": [ports[port] for port in sorted(ports)]} if ports else others
