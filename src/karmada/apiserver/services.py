"""Where a Service of the cluster can be reached from the server itself.

There is no kube-proxy here: an ExternalName is dialled as it is, other services by the first ready address of their
endpoints, and failing that by their cluster IP.
"""

from typing import NamedTuple

import orjson

from karmada.apiserver.resources import JSONObject
from karmada.apiserver.watchcache import WatchCache


class Address(NamedTuple):
    """A host and port to dial."""

    host: str
    port: int


class Unreachable(Exception):
    """The service does not exist or has no address; `reason` is a condition reason."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def address_of(store: WatchCache, namespace: str, name: str, port: int) -> Address:
    """The address of a service port; raises `Unreachable`."""
    item = store.get(("", "services"), namespace, name)
    if item is None:
        raise Unreachable("ServiceNotFound", f'service/{name} in "{namespace}" is not present')
    spec: JSONObject = orjson.loads(item.body).get("spec") or {}
    if spec.get("type") == "ExternalName":
        return Address(spec.get("externalName") or "", port)
    declared = next((entry for entry in spec.get("ports") or () if entry.get("port") == port), None)
    if declared is None:
        message = f'service/{name} in "{namespace}" is not listening on port {port}'
        raise Unreachable("ServicePortError", message)
    endpoint = _endpoint(store, namespace, name, declared)
    if endpoint is not None:
        return endpoint
    cluster_ip = spec.get("clusterIP") or ""
    if not cluster_ip or cluster_ip == "None" or spec.get("selector"):
        where = f'with port name "{declared.get("name", "")}"'
        message = f'endpoints for service/{name} in "{namespace}" have no addresses {where}'
        raise Unreachable("MissingEndpoints", message)
    return Address(cluster_ip, port)


def _endpoint(store: WatchCache, namespace: str, name: str, port: JSONObject) -> Address | None:
    slices = store.list(
        ("discovery.k8s.io", "endpointslices"),
        namespace,
        lambda item: item.index.labels.get("kubernetes.io/service-name") == name,
    )
    for item in slices.items:
        found = _from_slice(orjson.loads(item.body), port)
        if found is not None:
            return found
    endpoints = store.get(("", "endpoints"), namespace, name)
    if endpoints is None:
        return None
    for subset in orjson.loads(endpoints.body).get("subsets") or ():
        ports = [p for p in subset.get("ports") or () if p.get("name", "") == port.get("name", "")]
        addresses = subset.get("addresses") or ()
        if ports and addresses:
            return Address(addresses[0]["ip"], ports[0]["port"])
    return None


def _from_slice(body: JSONObject, port: JSONObject) -> Address | None:
    ports = [p for p in body.get("ports") or () if (p.get("name") or "") == port.get("name", "")]
    for endpoint in body.get("endpoints") or ():
        ready = (endpoint.get("conditions") or {}).get("ready")
        if ports and ready is not False and endpoint.get("addresses"):
            return Address(endpoint["addresses"][0], ports[0]["port"])
    return None
