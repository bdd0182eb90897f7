"""The network of a fleet: pods reach each other, Services lead to them, and requests are answered in place.

Every pod reaches every pod, unless members declare networks: then those that share none have no route to each other.

Nothing listens and nothing is copied: a route is looked up in the members' own stores when somebody asks, so pods that
are never asked cost nothing. Pod addresses repeat between members, therefore an EndpointSlice that came from another
member is followed into that member, as its annotation or name says.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple
from urllib.parse import urlsplit

import orjson

from karmada.api import annotations, labels
from karmada.apiserver.watchcache import WatchCache
from karmada.machinery.transport import JSONObject
from karmada.simulator.behaviour import Behaviour
from karmada.simulator.network.names import PodAddress, ServiceName, candidates
from karmada.simulator.network.program import BadArguments, WebReply, WebRequest, program_of, reply
from karmada.simulator.workloads.views import POD, Pod
from karmada.works.networks import Network as Declared
from karmada.works.networks import reach

SLICES = ("discovery.k8s.io", "endpointslices")
SERVICES, PODS = ("", "services"), ("", "pods")
CALLS = 8
"""How many `--call` may follow one another."""


class PodPort(NamedTuple):
    """A port of one pod; a later pod of the same name is another one."""

    cluster: str
    namespace: str
    pod: str
    uid: str
    port: int


class Unreachable(Exception):
    """Nobody answers there; the message says why."""


class UnknownHost(Unreachable):
    """The name means nothing in the cluster."""


@dataclass(slots=True)
class Site:
    """The part of the network that one member is."""

    name: str
    store: WatchCache
    behaviour: Behaviour
    is_cut: Callable[[], bool]
    """Whether its pods are cut off from everybody in other members and outside."""
    network: Declared | None = None
    """The networks its pods are in, where the fleet says."""


@dataclass(slots=True)
class Network:
    """The pods of several members, reachable from each other."""

    sites: dict[str, Site] = field(default_factory=dict)
    _turns: "count[int]" = field(default_factory=count)

    def lookup(self, cluster: str, namespace: str, host: str) -> list[str]:
        """The addresses of a name as DNS in a member gives them; raises `UnknownHost`."""
        store = self.sites[cluster].store
        for meant in candidates(host, namespace):
            if isinstance(meant, PodAddress):
                return [meant.address]
            if (service := _service(store, meant)) is None:
                continue
            cluster_ip = service["spec"].get("clusterIP") or ""
            if cluster_ip != "None" and not meant.hostname:
                return [cluster_ip]
            found = [
                address
                for one in _slices(store, meant)
                for endpoint in one.get("endpoints") or ()
                if _is_ready(endpoint) and meant.hostname in ("", endpoint.get("hostname") or "")
                for address in endpoint.get("addresses") or ()
            ]
            if found:
                return found
        raise UnknownHost(f"{host} is not known in {cluster}")

    def route(self, cluster: str, namespace: str, host: str, port: int, protocol: str = "TCP") -> PodPort:
        """The pod that answers a connection from inside a member; Services take turns. Raises `Unreachable`."""
        site = self.sites[cluster]
        for meant in candidates(host, namespace):
            if isinstance(meant, ServiceName):
                service = _service(site.store, meant)
                if service is not None:
                    return self._through(site, meant, service, port, protocol)
            else:
                service = _with_cluster_ip(site.store, meant.address)
                if service is not None:
                    metadata = service["metadata"]
                    named = ServiceName(metadata["namespace"], metadata["name"])
                    return self._through(site, named, service, port, protocol)
                return self._at(self._with_address(site, meant.address), meant.address, port)
        raise UnknownHost(f"{host} is not known in {cluster}")

    def at(self, cluster: str, namespace: str, pod: str, port: int) -> PodPort:
        """A port of a pod by the pod's name; raises `Unreachable`."""
        found = _pod(self.sites[cluster].store, namespace, pod)
        if found is None:
            raise Unreachable(f"there is no pod {namespace}/{pod} in {cluster}")
        return PodPort(cluster, namespace, pod, found.metadata.uid, port)

    def ask(self, target: PodPort, request: WebRequest, source: str = "", depth: int = 0) -> WebReply:
        """What a pod answers to a request from `source` (a member; outside when empty); raises `Unreachable`."""
        pod = self.listening(target, source)
        try:
            program = program_of(pod)
        except BadArguments as error:
            raise Unreachable(str(error)) from None
        called = None
        if program.call:
            if depth >= CALLS:
                raise Unreachable(f"{program.call}: more than {CALLS} calls follow one another")
            called = self._called(target, program.call, depth + 1)
        return reply(target.cluster, pod, target.port, program, request, called)

    def fetch(self, cluster: str, namespace: str, url: str, request: WebRequest, depth: int = 0) -> WebReply:
        """What a URL answers when it is asked from inside a member; raises `Unreachable`."""
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme != "http":
            raise Unreachable(f"{parts.scheme}://{parts.netloc}: simulated pods speak plain HTTP only")
        try:
            port = parts.port or 80
        except ValueError:
            raise Unreachable(f"{parts.netloc}: the port is not a number between 1 and 65535") from None
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = {"host": parts.netloc, **request.headers}
        target = self.route(cluster, namespace, parts.hostname or "", port)
        return self.ask(target, WebRequest(request.method, path, headers, request.body), cluster, depth)

    def listening(self, target: PodPort, source: str = "") -> Pod:
        """The pod behind a port, if it runs and can be reached from `source`; raises `Unreachable`."""
        site = self.sites.get(target.cluster)
        where = f"{target.namespace}/{target.pod} in {target.cluster}"
        if site is None:
            raise Unreachable(f"there is no route to {target.cluster}")
        if source != target.cluster and (site.is_cut() or (source in self.sites and self.sites[source].is_cut())):
            raise Unreachable(f"the network of {target.cluster if site.is_cut() else source} is cut off")
        if source in self.sites and source != target.cluster:
            networks = {name: self.sites[name].network for name in (source, target.cluster)}
            if None not in networks.values() and (found := reach(source, target.cluster, networks)).status == "False":
                raise Unreachable(found.message)
        pod = _pod(site.store, target.namespace, target.pod)
        if pod is None or pod.metadata.uid != target.uid:
            raise Unreachable(f"pod {where} is gone")
        running = [status for status in pod.status.container_statuses or () if status.state.running is not None]
        if not running or pod.spec.node_name in site.behaviour.dead_nodes:
            raise Unreachable(f"pod {where} does not run")
        try:
            ports = program_of(pod).ports
        except BadArguments as error:
            raise Unreachable(str(error)) from None
        if ports and target.port not in ports:
            raise Unreachable(f"pod {where} does not listen on port {target.port}")
        return pod

    def _called(self, target: PodPort, url: str, depth: int) -> WebReply:
        try:
            return self.fetch(target.cluster, target.namespace, url, WebRequest(), depth)
        except Unreachable as error:
            return WebReply(502, str(error).encode(), "text/plain; charset=utf-8")

    def _through(
        self, site: Site, meant: ServiceName, service: JSONObject, port: int, protocol: str = "TCP"
    ) -> PodPort:
        name = f"service {meant.namespace}/{meant.name}"
        ports = service["spec"].get("ports") or ()
        declared = next((e for e in ports if e["port"] == port and (e.get("protocol") or "TCP") == protocol), None)
        headless = service["spec"].get("clusterIP") == "None"
        if declared is None and not headless:
            raise Unreachable(f"{name} in {site.name} has no {protocol} port {port}")
        found: list[tuple[str, JSONObject, int]] = []
        for one in _slices(site.store, meant):
            target = port if declared is None else _target_port(one, declared)
            if target:
                provider = self.provider_of(one, site.name)
                found += [
                    (provider, endpoint, target) for endpoint in one.get("endpoints") or () if _is_ready(endpoint)
                ]
        if meant.hostname:
            found = [each for each in found if each[1].get("hostname") == meant.hostname]
        if not found:
            raise Unreachable(f"{name} in {site.name} has no ready endpoints for port {port}")
        provider, endpoint, target = found[next(self._turns) % len(found)]
        if provider not in self.sites:
            raise Unreachable(f"there is no route from {site.name} to {provider}")
        reference = endpoint.get("targetRef") or {}
        if reference.get("kind") == "Pod":
            pod = _pod(self.sites[provider].store, reference.get("namespace", meant.namespace), reference["name"])
            if pod is not None:
                return PodPort(provider, pod.metadata.namespace, pod.metadata.name, pod.metadata.uid, target)
        return self._at(self.sites[provider], (endpoint.get("addresses") or [""])[0], target)

    def provider_of(self, one: JSONObject, here: str) -> str:
        """The member whose pods an EndpointSlice names."""
        metadata = one["metadata"]
        provider = (metadata.get("annotations") or {}).get(annotations.ENDPOINT_SLICE_PROVISION_CLUSTER)
        if provider:
            return str(provider)
        manager = (metadata.get("labels") or {}).get(labels.KUBERNETES_ENDPOINT_SLICE_MANAGED_BY)
        if manager != labels.IMPORTED_ENDPOINT_SLICE_CONTROLLER:
            return here
        name: str = metadata["name"]
        named = [site for site in self.sites if name.startswith(f"imported-{site}-")]
        return max(named, key=len, default=here)

    def _with_address(self, here: Site, address: str) -> Site:
        """The member whose pods have an address, seen from one of them: its own, unless another declares it."""
        if here.network is None or not here.network.ranges or here.network.holds(address):
            return here
        others = (site for site in self.sites.values() if site.network is not None and site.network.holds(address))
        return next(others, here)

    def _at(self, site: Site, address: str, port: int) -> PodPort:
        for item in site.store.list(PODS).items:
            if f'"{address}"'.encode() in item.body:
                pod = POD.decode(item.body)
                if pod.status.pod_ip == address and not pod.is_finished:
                    return PodPort(site.name, item.namespace, item.name, pod.metadata.uid, port)
        raise Unreachable(f"nobody in {site.name} has the address {address}")


def _pod(store: WatchCache, namespace: str, name: str) -> Pod | None:
    item = store.get(PODS, namespace, name)
    return None if item is None else POD.decode(item.body)


def _service(store: WatchCache, meant: ServiceName) -> JSONObject | None:
    item = store.get(SERVICES, meant.namespace, meant.name)
    found: JSONObject | None = None if item is None else orjson.loads(item.body)
    return None if found is None or found["spec"].get("type") == "ExternalName" else found


def _with_cluster_ip(store: WatchCache, address: str) -> JSONObject | None:
    for item in store.list(SERVICES).items:
        if f'"{address}"'.encode() in item.body:
            service: JSONObject = orjson.loads(item.body)
            if address in (service["spec"].get("clusterIPs") or [service["spec"].get("clusterIP")]):
                return service
    return None


def _slices(store: WatchCache, meant: ServiceName) -> list[JSONObject]:
    of_service = store.list(
        SLICES, meant.namespace, lambda item: item.index.labels.get(labels.KUBERNETES_SERVICE_NAME) == meant.name
    )
    return [orjson.loads(item.body) for item in of_service.items]


def _target_port(one: JSONObject, declared: JSONObject) -> int:
    name = declared.get("name") or ""
    for port in one.get("ports") or ():
        if (port.get("name") or "") == name and (port.get("protocol") or "TCP") == (declared.get("protocol") or "TCP"):
            return int(port.get("port") or 0)
    return 0


def _is_ready(endpoint: JSONObject) -> bool:
    return (endpoint.get("conditions") or {}).get("ready") is not False
