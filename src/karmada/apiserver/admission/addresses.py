"""Cluster IPs and node ports of services: allocated on create and update, unique in the cluster.

What is allocated is known from the services themselves, so nothing can leak and nothing has to be repaired.
"""

import ipaddress
from random import Random, SystemRandom
from typing import Any

import orjson

from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.failures import invalid
from karmada.apiserver.resources import FieldError, JSONObject
from karmada.apiserver.watchcache import Item, Kind, StoreEvent, WatchCache
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.transport import EventType

_KIND: Kind = ("", "services")
_PORTS = range(30000, 32768)
DEFAULT_RANGE = "10.96.0.0/16"
_Owner = tuple[str, str]


class ServiceAddresses:
    """The admission plugin that gives services their addresses."""

    kinds = (_KIND,)

    def __init__(self, store: WatchCache, network: str = DEFAULT_RANGE, random: Random | None = None) -> None:
        self._store = store
        self._network = ipaddress.ip_network(network, strict=False)
        self._random = random or SystemRandom()
        self._ips: dict[str, _Owner] = {}
        self._ports: dict[int, _Owner] = {}
        self._loaded = False
        store.subscribe(self._changed, _KIND)

    def applies(self, request: AdmissionRequest) -> bool:
        """Writes of services of the resource itself."""
        return request.type.stored_as == _KIND and not request.subresource and request.operation is not Operation.DELETE

    async def mutate(self, request: AdmissionRequest) -> None:
        """Allocate what the service needs and does not have."""
        self._load()
        assert request.object is not None
        spec: JSONObject = request.object.setdefault("spec", {})
        old: JSONObject = (request.old or {}).get("spec") or {}
        owner = (request.namespace, request.name)
        if spec.get("type") == "ExternalName":
            return
        self._give_ip(request, spec, old, owner)
        self._give_ports(request, spec, old, owner)

    async def validate(self, request: AdmissionRequest) -> None:
        """All is done in `mutate`."""

    def _give_ip(self, request: AdmissionRequest, spec: JSONObject, old: JSONObject, owner: _Owner) -> None:
        wanted = spec.get("clusterIP") or (spec.get("clusterIPs") or [""])[0]
        if wanted == "None" or (old.get("clusterIP") and old.get("type") != "ExternalName"):
            return
        if wanted:
            self._check_ip(request, wanted, owner)
        else:
            wanted = self._free_ip()
            for letter in "/%":
                if letter in request.name:
                    text = f"spec.parentRef.name: Invalid value: \"{request.name}\": may not contain '{letter}'"
                    why = f'failed to allocate IP: IPAddress.networking.k8s.io "{wanted}" is invalid: {text}'
                    raise _refused(request, "spec.clusterIPs", [""], why)
        spec["clusterIP"], spec["clusterIPs"] = wanted, [wanted]

    def _check_ip(self, request: AdmissionRequest, wanted: str, owner: _Owner) -> None:
        try:
            address = ipaddress.ip_address(wanted)
        except ValueError:
            return
        if address not in self._network:
            why = f"failed to allocate IP {wanted}: the provided network does not match the current range"
            raise _refused(request, "spec.clusterIPs", [wanted], why)
        if self._ips.get(wanted, owner) != owner:
            why = f"failed to allocate IP {wanted}: provided IP is already allocated"
            raise _refused(request, "spec.clusterIPs", [wanted], why)

    def _free_ip(self) -> str:
        size = self._network.num_addresses
        first = int(self._network.network_address)
        for _ in range(64):
            offset = self._random.randrange(257, size - 1) if size > 512 else 1
            candidate = str(ipaddress.ip_address(first + offset))
            if candidate not in self._ips:
                return candidate
        for offset in range(1, size - 1):
            candidate = str(ipaddress.ip_address(first + offset))
            if candidate not in self._ips:
                return candidate
        raise Failure(500, "InternalError", "Internal error occurred: failed to allocate a serviceIP: range is full")

    def _give_ports(self, request: AdmissionRequest, spec: JSONObject, old: JSONObject, owner: _Owner) -> None:
        kind = spec.get("type")
        needs = kind == "NodePort" or (
            kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False
        )
        taken: dict[int, set[str]] = {}
        for index, port in enumerate(spec.get("ports") or ()):
            number = port.get("nodePort")
            if number:
                self._check_port(request, index, number, owner, taken, port.get("protocol", "TCP"))
        before = {(p.get("port"), p.get("protocol")): p.get("nodePort") for p in old.get("ports") or ()}
        for port in spec.get("ports") or ():
            if needs and not port.get("nodePort"):
                kept = before.get((port.get("port"), port.get("protocol")))
                port["nodePort"] = kept if kept and kept not in taken else self._free_port(taken)
                taken.setdefault(port["nodePort"], set()).add(port.get("protocol", "TCP"))
        local = kind == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"
        if local and not spec.get("healthCheckNodePort"):
            spec["healthCheckNodePort"] = old.get("healthCheckNodePort") or self._free_port(taken)

    def _check_port(
        self,
        request: AdmissionRequest,
        index: int,
        number: int,
        owner: _Owner,
        taken: dict[int, set[str]],
        protocol: str,
    ) -> None:
        field = f"spec.ports[{index}].nodePort"
        if number not in _PORTS:
            why = "provided port is not in the valid range. The range of valid ports is 30000-32767"
            raise _refused(request, field, number, why)
        if self._ports.get(number, owner) != owner or protocol in taken.get(number, ()):
            raise _refused(request, field, number, "provided port is already allocated")
        taken.setdefault(number, set()).add(protocol)

    def _free_port(self, taken: dict[int, set[str]]) -> int:
        start = self._random.randrange(len(_PORTS))
        for number in (*_PORTS[start:], *_PORTS[:start]):
            if number not in self._ports and number not in taken:
                return int(number)
        raise Failure(500, "InternalError", "Internal error occurred: failed to allocate a nodePort: range is full")

    def _load(self) -> None:
        if not self._loaded:
            self._loaded = True
            for item in self._store.list(_KIND).items:
                self._learn(item)

    def _changed(self, kind: Kind, event: StoreEvent) -> None:
        if kind != _KIND or not self._loaded:
            return
        owner = (event.item.namespace, event.item.name)
        if event.type is not EventType.ADDED:
            self._ips = {ip: other for ip, other in self._ips.items() if other != owner}
            self._ports = {port: other for port, other in self._ports.items() if other != owner}
        if event.type is not EventType.DELETED:
            self._learn(event.item)

    def _learn(self, item: Item) -> None:
        owner = (item.namespace, item.name)
        spec = orjson.loads(item.body).get("spec") or {}
        for ip in spec.get("clusterIPs") or ():
            if ip != "None":
                self._ips[ip] = owner
        for port in spec.get("ports") or ():
            if port.get("nodePort"):
                self._ports[port["nodePort"]] = owner
        if spec.get("healthCheckNodePort"):
            self._ports[spec["healthCheckNodePort"]] = owner


def _refused(request: AdmissionRequest, field: str, value: Any, why: str) -> Failure:
    shown = orjson.dumps(value).decode()
    error = FieldError("FieldValueInvalid", field, f"Invalid value: {shown}: {why}")
    return invalid("", "Service", request.name, [error])
