"""Cluster IPs and node ports of services: allocated on create and update, unique in the cluster.

What is allocated is known from the services themselves, so nothing can leak and nothing has to be repaired.
"""

import ipaddress
from random import Random, SystemRandom

import orjson

from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.admission.node_ports import NodePorts, Owner, refused
from karmada.apiserver.builtin.strategies.service_families import keep_addresses, link_addresses, settle
from karmada.apiserver.failures import invalid
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.watchcache import Item, Kind, StoreEvent, WatchCache
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.transport import EventType

_KIND: Kind = ("", "services")
DEFAULT_RANGE = "10.96.0.0/16"


class ServiceAddresses:
    """The admission plugin that gives services their addresses."""

    kinds = (_KIND,)

    def __init__(self, store: WatchCache, network: str = DEFAULT_RANGE, random: Random | None = None) -> None:
        self._store = store
        self._network = ipaddress.ip_network(network, strict=False)
        self._random = random or SystemRandom()
        self._ips: dict[str, Owner] = {}
        self._ports: dict[int, Owner] = {}
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
        old: JSONObject | None = None if request.old is None else request.old.get("spec") or {}
        if old is None:
            link_addresses(spec)
        else:
            keep_addresses(spec, old)
        if spec.get("type") == "ExternalName":
            return
        if errors := settle(spec, old, f"IPv{self._network.version}"):
            raise invalid("", "Service", request.name, errors)
        if old is None or old.get("type") == "ExternalName":
            self._give_ip(request, spec)
        NodePorts(request, self._ports, self._random).give(spec, old)

    async def validate(self, request: AdmissionRequest) -> None:
        """All is done in `mutate`."""

    def _give_ip(self, request: AdmissionRequest, spec: JSONObject) -> None:
        addresses: list[str] = spec.get("clusterIPs") or [""]
        if addresses[0] == "None":
            return
        if addresses[0]:
            self._check_ip(request, addresses)
            return
        wanted = self._free_ip()
        for letter in "/%":
            if letter in request.name:
                text = f"spec.parentRef.name: Invalid value: \"{request.name}\": may not contain '{letter}'"
                why = f'failed to allocate IP: IPAddress.networking.k8s.io "{wanted}" is invalid: {text}'
                raise refused(request, "spec.clusterIPs", [""], why)
        spec["clusterIP"], spec["clusterIPs"] = wanted, [wanted]

    def _check_ip(self, request: AdmissionRequest, addresses: list[str]) -> None:
        address = ipaddress.ip_address(addresses[0])
        owner = (request.namespace, request.name)
        ends = (self._network.network_address, self._network.broadcast_address)
        if address not in self._network or address in ends:
            why = "the provided network does not match the current range"
            if request.dry_run:
                whole = f"The range of valid IPs is {self._network}"
                why = f"the provided IP ({address}) is not in the valid range. {whole}"
        elif not request.dry_run and self._ips.get(str(address), owner) != owner:
            why = "provided IP is already allocated"
        else:
            return
        raise refused(request, "spec.clusterIPs", addresses, f"failed to allocate IP {addresses[0]}: {why}")

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
