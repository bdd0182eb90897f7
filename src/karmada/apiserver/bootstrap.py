"""What every cluster has from the start: namespaces, default roles, the kubernetes service, priority classes."""

import asyncio
from collections.abc import Coroutine, Iterator
from ipaddress import ip_address, ip_network

import orjson

from karmada.apiserver.auth import defaults
from karmada.apiserver.auth.rbac import GROUP as RBAC
from karmada.apiserver.controllers.writing import Writer
from karmada.apiserver.requests.model import Context
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.watchcache import Kind

AGENT = "kube-apiserver"
NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_PRIORITIES = (
    ("system-cluster-critical", 2000000000, "Used for system critical pods that must run in the cluster."),
    ("system-node-critical", 2000001000, "Used for system critical pods that must not be moved from their node."),
)


async def bootstrap(context: Context) -> None:
    """Create what is missing; existing objects stay as they are, default roles are brought up to date."""
    writer = Writer(context, "apiserver", AGENT)
    namespaces = (_ensure(context, writer, ("", "namespaces"), "", {"metadata": {"name": name}}) for name in NAMESPACES)
    await asyncio.gather(*namespaces)
    # Together, so that a durable store commits them together.
    await asyncio.gather(*_priorities(context, writer), *_roles(context, writer))


async def publish(context: Context, host: str, port: int, service_range: str, trust: dict[str, str]) -> None:
    """The service `kubernetes`, by which the cluster finds its API server, and what others need to believe it; the
    addresses of services."""
    writer = Writer(context, "apiserver", AGENT)
    await _publish_trust(context, writer, trust)
    labels = {"component": "apiserver", "provider": "kubernetes"}
    ports = [{"name": "https", "port": 443, "targetPort": port}]
    address = str(ip_network(service_range, strict=False)[1])
    spec = {"clusterIP": address, "ports": ports}
    service: JSONObject = {"metadata": {"name": "kubernetes", "labels": labels}, "spec": spec}
    addresses: JSONObject = {"metadata": {"name": "kubernetes"}, "spec": {"cidrs": [service_range]}}
    await _ensure(context, writer, ("networking.k8s.io", "servicecidrs"), "", addresses)
    await _ensure(context, writer, ("", "services"), "default", service)
    try:
        ip_address(host)
    except ValueError:
        return
    found = {"name": "https", "port": port, "protocol": "TCP"}
    endpoints: JSONObject = {
        "metadata": {"name": "kubernetes", "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
        "subsets": [{"addresses": [{"ip": host}], "ports": [found]}],
    }
    await _publish(context, writer, ("", "endpoints"), endpoints)
    endpoint_slice: JSONObject = {
        "metadata": {"name": "kubernetes", "labels": {"kubernetes.io/service-name": "kubernetes"}},
        "addressType": "IPv6" if ":" in host else "IPv4",
        "endpoints": [{"addresses": [host], "conditions": {"ready": True}}],
        "ports": [found],
    }
    await _publish(context, writer, ("discovery.k8s.io", "endpointslices"), endpoint_slice)


async def _publish_trust(context: Context, writer: Writer, trust: dict[str, str]) -> None:
    """Whom servers beside this one may believe, in place of what was said before: no CA counts for longer."""
    kind, name = ("", "configmaps"), "extension-apiserver-authentication"
    known = context.store.get(kind, "kube-system", name)
    if known is None:
        await writer.create(kind, "kube-system", {"metadata": {"name": name}, "data": trust})
    elif orjson.loads(known.body).get("data") != trust:
        await writer.change(kind, "kube-system", name, lambda current: current.update(data=trust))


async def _publish(context: Context, writer: Writer, kind: Kind, obj: JSONObject) -> None:
    """Where the server is, in place of where it was."""
    name = obj["metadata"]["name"]
    if context.store.get(kind, "default", name) is None:
        await writer.create(kind, "default", obj)
    else:
        await writer.change(kind, "default", name, lambda current: current.update(_payload(obj)))


def _payload(obj: JSONObject) -> JSONObject:
    return {key: value for key, value in obj.items() if key not in ("metadata", "apiVersion", "kind")}


async def _ensure(context: Context, writer: Writer, kind: Kind, namespace: str, obj: JSONObject) -> None:
    if context.store.get(kind, namespace, obj["metadata"]["name"]) is None:
        await writer.create(kind, namespace, obj)


def _priorities(context: Context, writer: Writer) -> Iterator[Coroutine[None, None, None]]:
    for name, value, text in _PRIORITIES:
        body: JSONObject = {"metadata": {"name": name}, "value": value, "description": text}
        yield _ensure(context, writer, ("scheduling.k8s.io", "priorityclasses"), "", body)


def _roles(context: Context, writer: Writer) -> Iterator[Coroutine[None, None, None]]:
    def lookup(resource: str, namespace: str, name: str) -> JSONObject | None:
        item = context.store.get((RBAC, resource), namespace, name)
        if item is None:
            return None
        found: JSONObject = orjson.loads(item.body)
        return found

    for write in defaults.plan(lookup):
        metadata = write.obj["metadata"]
        namespace = metadata.get("namespace", "")
        kind = (RBAC, write.resource)
        if write.old is None:
            yield _create(writer, kind, namespace, write.obj)
        else:
            yield writer.replace(kind, namespace, write.obj)


async def _create(writer: Writer, kind: Kind, namespace: str, obj: JSONObject) -> None:
    await writer.create(kind, namespace, obj)
