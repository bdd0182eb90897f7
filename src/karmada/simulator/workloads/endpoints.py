"""EndpointSlices and Endpoints: where the pods behind a Service are, and which of them serve."""

import contextlib
from functools import partial

from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, Result, own_key
from karmada.machinery.errors import Forbidden, NotFound
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.machinery.transport import JSONObject
from karmada.simulator.workloads.context import Workloads
from karmada.simulator.workloads.endpoints_object import HEADLESS, Groups, endpoints_of, renewed_endpoints, target_of
from karmada.simulator.workloads.kinds import ENDPOINT_SLICES, ENDPOINTS, SERVICES
from karmada.simulator.workloads.pod_making import owner_reference
from karmada.simulator.workloads.rollout import template_hash
from karmada.simulator.workloads.views import Pod

COMPONENT = "endpointslice-controller"
MANAGED_BY = "endpointslice-controller.k8s.io"
SERVICE_LABEL = "kubernetes.io/service-name"
TRIGGER = "endpoints.kubernetes.io/last-change-trigger-time"
LARGEST = 100
"""Endpoints in one slice."""


class EndpointController:
    """Keeps the EndpointSlices of Services at the pods behind them."""

    def __init__(self, context: Workloads) -> None:
        self._context = context
        self._services = context.trees(SERVICES)
        self._services.add_index("selector", _selector)
        self._slices = context.trees(ENDPOINT_SLICES)
        self._slices.add_index("service", _service)
        context.pods.add_index("label", _labels)
        self._commit = Committer(context.client.resource(ENDPOINT_SLICES), status_subresource=False)
        self._endpoints = context.trees(ENDPOINTS)
        self._commit_endpoints = Committer(context.client.resource(ENDPOINTS), status_subresource=False)
        needs = (self._services, self._slices, self._endpoints, context.pods)
        self.controller = context.controller(COMPONENT, self.reconcile, needs)
        self.controller.watch(self._services, own_key)
        self.controller.watch(context.pods, self._of_pod)
        self.controller.watch(self._slices, _bereft)
        self.controller.watch(self._endpoints, lambda change: [change.key] if change.new is None else [])

    def _of_pod(self, change: Change[Pod]) -> list[Key]:
        """The Services that select a pod, before or after a change that matters to them."""
        old, new = (item.value if item is not None else None for item in (change.old, change.new))
        if not self._services.has_synced or (old is not None and new is not None and _face(old) == _face(new)):
            return []
        found: dict[Key, None] = {}
        for pod in (old, new):
            for name, value in ((pod.metadata.labels or {}) if pod is not None else {}).items():
                mark = f"{change.key.namespace}/{name}={value}"
                found |= dict.fromkeys(item.key for item in self._services.indexed_items("selector", mark))
        return list(found)

    async def reconcile(self, key: Key) -> Result:
        """Write the slices and the Endpoints of one Service."""
        service = self._services.get(key.name, key.namespace)
        present = {item.key.name: item.value for item in self._slices.indexed_items("service", str(key))}
        wanted: dict[str, JSONObject] = {}
        older: JSONObject | None = None
        if service is not None and not service["metadata"].get("deletionTimestamp"):
            selector = service["spec"].get("selector")
            if not selector or service["spec"].get("type") == "ExternalName":
                return DONE
            groups = self._groups(service, selector)
            wanted = {one["metadata"]["name"]: one for one in self._wanted(service, groups)}
            older = endpoints_of(service, groups)
        for name, one in wanted.items():
            # Refused in a namespace that is going away: then nobody needs it.
            with contextlib.suppress(NotFound, Forbidden):
                decide = partial(_renewed, one, self._context.now())
                await self._commit.ensure(name, key.namespace, decide, present.get(name))
        for name, one in present.items():
            if name not in wanted and _is_ours(one):
                await self._commit.remove(one, _is_ours)
        await self._write_endpoints(key, older)
        return DONE

    async def _write_endpoints(self, key: Key, wanted: JSONObject | None) -> None:
        present = self._endpoints.get(key.name, key.namespace)
        if wanted is not None:
            with contextlib.suppress(NotFound, Forbidden):
                decide = partial(renewed_endpoints, wanted, {TRIGGER: self._context.now()})
                await self._commit_endpoints.ensure(key.name, key.namespace, decide, present)
        elif present is not None:
            await self._commit_endpoints.remove(present, lambda seen: True)

    def _groups(self, service: JSONObject, selector: dict[str, str]) -> Groups:
        """The pods of a Service by the ports it has on them."""
        name, value = min(selector.items())
        pods = [
            pod
            for pod in self._context.pods.indexed("label", f"{service['metadata']['namespace']}/{name}={value}")
            if selector.items() <= (pod.metadata.labels or {}).items() and pod.status.pod_ip and not pod.is_finished
        ]
        pods.sort(key=lambda pod: pod.metadata.name)
        groups: dict[str, tuple[list[JSONObject], list[Pod]]] = {}
        for pod in pods:
            ports = ports_of(service, pod)
            groups.setdefault(repr(ports), (ports, []))[1].append(pod)
        return list(groups.values())

    def _wanted(self, service: JSONObject, groups: Groups) -> list[JSONObject]:
        slices: list[JSONObject] = []
        for ports, members in groups or [(ports_of(service, None), [])]:
            for start in range(0, max(1, len(members)), LARGEST):
                slices.append(self._slice(service, ports, members[start : start + LARGEST], len(slices)))
        return slices

    def _slice(self, service: JSONObject, ports: list[JSONObject], pods: list[Pod], number: int) -> JSONObject:
        metadata = service["metadata"]
        mark = template_hash({"uid": metadata["uid"]}, number)[:5]
        labels = dict(metadata.get("labels") or {}) | {
            SERVICE_LABEL: metadata["name"],
            "endpointslice.kubernetes.io/managed-by": MANAGED_BY,
        }
        if service["spec"].get("clusterIP") == "None":
            labels[HEADLESS] = ""
        return {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": f"{metadata['name']}-{mark}",
                "generateName": f"{metadata['name']}-",
                "namespace": metadata["namespace"],
                "labels": labels,
                "ownerReferences": [owner_reference(service)],
            },
            "addressType": "IPv4",
            "endpoints": [self._endpoint(service, pod) for pod in pods],
            "ports": ports,
        }

    def _endpoint(self, service: JSONObject, pod: Pod) -> JSONObject:
        serving = pod.is_ready
        ready = (serving or bool(service["spec"].get("publishNotReadyAddresses"))) and not pod.is_deleted
        endpoint: JSONObject = {
            "addresses": [pod.status.pod_ip],
            "conditions": {"ready": ready, "serving": serving, "terminating": pod.is_deleted},
            "nodeName": pod.spec.node_name,
            "targetRef": target_of(pod),
        }
        node = self._context.nodes.get(pod.spec.node_name or "") if self._context.nodes.has_synced else None
        zone = (node.metadata.labels or {}).get("topology.kubernetes.io/zone") if node is not None else None
        if zone:
            endpoint["zone"] = zone
        if pod.spec.hostname:
            endpoint["hostname"] = pod.spec.hostname
        return endpoint


def ports_of(service: JSONObject, pod: Pod | None) -> list[JSONObject]:
    """The ports of a Service on a pod; named ones are looked up in its containers and left out where there is none."""
    found = []
    for port in service["spec"].get("ports") or ():
        target = port.get("targetPort", port["port"])
        if isinstance(target, str) and not target.isdecimal():
            named = [p for c in (pod.spec.containers if pod else ()) for p in c.ports or () if p.name == target]
            if not named:
                continue
            target = named[0].container_port
        entry = {"name": port.get("name") or "", "port": int(target), "protocol": port.get("protocol") or "TCP"}
        if port.get("appProtocol"):
            entry["appProtocol"] = port["appProtocol"]
        found.append(entry)
    return found


def _renewed(wanted: JSONObject, now: str, seen: JSONObject | None) -> JSONObject:
    """The slice as it should be, with the time of its last change."""
    metadata = (seen or wanted)["metadata"]
    marked = metadata | {
        "labels": wanted["metadata"]["labels"],
        "annotations": (metadata.get("annotations") or {}) | {TRIGGER: now},
    }
    if seen is None:
        return wanted | {"metadata": marked}
    same = ("endpoints", "ports")
    if metadata.get("labels") == marked["labels"] and all((seen.get(f) or []) == wanted[f] for f in same):
        return seen
    return seen | {"metadata": marked, "endpoints": wanted["endpoints"], "ports": wanted["ports"]}


def _is_ours(one: JSONObject) -> bool:
    labels = one["metadata"].get("labels") or {}
    return bool(labels.get("endpointslice.kubernetes.io/managed-by") == MANAGED_BY)


def _face(pod: Pod) -> tuple[object, ...]:
    """What a Service sees of a pod."""
    return pod.metadata.labels, pod.status.pod_ip, pod.is_ready, pod.is_deleted, pod.is_finished, pod.spec.node_name


def _labels(item: Item[Pod]) -> list[str]:
    return [f"{item.key.namespace}/{name}={value}" for name, value in (item.value.metadata.labels or {}).items()]


def _selector(item: Item[JSONObject]) -> list[str]:
    """One entry of the selector leads from a pod's label to the Service; which one does not matter."""
    selector = item.value["spec"].get("selector") or {}
    first = min(selector.items(), default=None)
    return [f"{item.key.namespace}/{first[0]}={first[1]}"] if first else []


def _bereft(change: Change[JSONObject]) -> list[Key]:
    """The Service whose slice somebody deleted."""
    if change.new is not None or change.old is None or not _is_ours(change.old.value):
        return []
    name = change.old.value["metadata"]["labels"].get(SERVICE_LABEL)
    return [Key(change.key.namespace, name)] if name else []


def _service(item: Item[JSONObject]) -> list[str]:
    name = (item.value["metadata"].get("labels") or {}).get(SERVICE_LABEL)
    return [f"{item.key.namespace}/{name}"] if name else []
