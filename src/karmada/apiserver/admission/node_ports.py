"""Node ports of services, and of the health checks of load balancers."""

from random import Random
from typing import Any

import orjson

from karmada.apiserver.admission.model import AdmissionRequest
from karmada.apiserver.failures import internal, invalid
from karmada.apiserver.resources import FieldError, JSONObject
from karmada.machinery.httpserver.failure import Failure

_RANGE = range(30000, 32768)
_OUTSIDE = ("NodePort", "LoadBalancer")
Owner = tuple[str, str]
"""Namespace and name of the service that has a port or address."""


class NodePorts:
    """The ports that one request allocates; a dry run allocates nothing, and ports out of range pass there."""

    def __init__(self, request: AdmissionRequest, allocated: dict[int, Owner], random: Random) -> None:
        self._request = request
        self._allocated = allocated
        self._random = random
        self._taken: set[int] = set()

    def give(self, spec: JSONObject, old: JSONObject | None) -> None:
        """Give a service, which was another before or none, the ports it needs and does not have."""
        ports: list[JSONObject] = spec.get("ports") or []
        if spec.get("type") in _OUTSIDE:
            if old is None:
                self._new(spec, ports)
            else:
                _keep(ports, spec, old)
                before = {port["nodePort"] for port in old.get("ports") or () if port.get("nodePort")}
                self._changed(spec, ports, before)
        if _checks_health(spec) and not (old is not None and _checks_health(old)):
            self._health_check(spec)

    def _new(self, spec: JSONObject, ports: list[JSONObject]) -> None:
        """Entries of the same port for several protocols share a node port."""
        of_port: dict[int, int] = {}
        asked: dict[int, int] = {}
        for port in ports:
            if port.get("nodePort"):
                asked.setdefault(port["port"], port["nodePort"])
        for index, port in enumerate(ports):
            number = port.get("nodePort") or 0
            if not number and not _allocates(spec):
                continue
            shared = of_port.get(port["port"])
            if shared is None:
                wanted = asked.get(port["port"], 0)
                port["nodePort"] = of_port[port["port"]] = self._take(wanted, index) if wanted else self._free()
            elif not number:
                port["nodePort"] = shared
            elif number != shared:
                self._take(number, index)

    def _changed(self, spec: JSONObject, ports: list[JSONObject], before: set[int]) -> None:
        seen: set[tuple[str, int]] = set()
        for index, port in enumerate(ports):
            number = port.get("nodePort") or 0
            if number:
                pair = (port.get("protocol") or "TCP", number)
                if pair in seen:
                    raise Failure(500, "", f"duplicate nodePort: {{{pair[0]} {number}}}")
                seen.add(pair)
                if number not in before and number not in self._taken:
                    self._take(number, index)
            elif _allocates(spec):
                port["nodePort"] = self._free()

    def _health_check(self, spec: JSONObject) -> None:
        number = spec.get("healthCheckNodePort") or 0
        if not number:
            spec["healthCheckNodePort"] = self._free()
        elif problem := self._problem(number):
            raise internal(f"failed to allocate requested HealthCheck NodePort {number}: {problem}")

    def _take(self, number: int, index: int) -> int:
        if problem := self._problem(number):
            raise refused(self._request, f"spec.ports[{index}].nodePort", number, problem)
        self._taken.add(number)
        return number

    def _problem(self, number: int) -> str:
        if number not in _RANGE and not self._request.dry_run:
            return "provided port is not in the valid range. The range of valid ports is 30000-32767"
        if number in self._allocated or number in self._taken:
            return "provided port is already allocated"
        return ""

    def _free(self) -> int:
        start = self._random.randrange(len(_RANGE))
        for number in (*_RANGE[start:], *_RANGE[:start]):
            if number not in self._allocated and number not in self._taken:
                self._taken.add(number)
                return int(number)
        raise internal("failed to allocate a nodePort: range is full")


def _allocates(spec: JSONObject) -> bool:
    return spec.get("type") == "NodePort" or spec.get("allocateLoadBalancerNodePorts") is not False


def _checks_health(spec: JSONObject) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _keep(ports: list[JSONObject], spec: JSONObject, old: JSONObject) -> None:
    """An update that leaves ports out keeps those of the entries with the same name."""
    if old.get("type") in _OUTSIDE:
        before = {port.get("name") or "": port.get("nodePort") or 0 for port in old.get("ports") or ()}
        used = {port["nodePort"] for port in ports if port.get("nodePort")} & set(before.values())
        for port in ports:
            number = before.get(port.get("name") or "", 0)
            if not port.get("nodePort") and number and number not in used:
                port["nodePort"] = number
    if _checks_health(spec) and _checks_health(old) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = old.get("healthCheckNodePort")


def refused(request: AdmissionRequest, field: str, value: Any, why: str) -> Failure:
    """The refusal of a service for one of its fields."""
    shown = orjson.dumps(value).decode()
    error = FieldError("FieldValueInvalid", field, f"Invalid value: {shown}: {why}")
    return invalid("", "Service", request.name, [error])
