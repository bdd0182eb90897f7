"""metrics.k8s.io of a member: what its pods and nodes use, computed when asked."""

from collections.abc import Iterable
from typing import TypeVar

import orjson

from karmada.api import label_selector
from karmada.apiserver.aggregation.model import LocalApi
from karmada.apiserver.failures import not_found
from karmada.apiserver.requests.access import Access, Guarded
from karmada.apiserver.requests.model import Answer, Call, Context
from karmada.apiserver.resources import JSONObject, ResourceType
from karmada.apiserver.schema.model import Schema
from karmada.apiserver.watchcache import WatchCache
from karmada.machinery.clock import rfc3339
from karmada.simulator.usage import Amount, Usage
from karmada.simulator.workloads.views import NODE, POD, Node, Pod

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
_VERBS = ("get", "list")
Measured = TypeVar("Measured", Pod, Node)


class MetricsApi:
    """Serves pod and node metrics."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage
        schema = Schema("object", preserve_unknown=True)
        self.local = LocalApi(
            [
                ResourceType(GROUP, VERSION, "pods", "PodMetrics", True, schema, verbs=_VERBS, has_status=False),
                ResourceType(GROUP, VERSION, "nodes", "NodeMetrics", False, schema, verbs=_VERBS, has_status=False),
            ],
            {
                (GROUP, "pods", ""): Guarded(Access.RESOURCE, self._pods),
                (GROUP, "nodes", ""): Guarded(Access.RESOURCE, self._nodes),
            },
        )

    async def _pods(self, context: Context, call: Call) -> Answer:
        stamp = rfc3339(context.now())
        if call.name:
            item = context.store.get(("", "pods"), call.namespace, call.name)
            if item is None:
                raise not_found("", "pods", call.name)  # a metrics server says so of the pod itself
            if not POD.decode(item.body).is_ready:
                raise not_found(GROUP, "pods", call.name)
            return _answer(self._pod(POD.decode(item.body), stamp))
        pods = (POD.decode(item.body) for item in context.store.list(("", "pods"), call.namespace).items)
        return _list("PodMetricsList", (self._pod(pod, stamp) for pod in _chosen(call, pods) if pod.is_ready))

    async def _nodes(self, context: Context, call: Call) -> Answer:
        stamp = rfc3339(context.now())
        used = self._by_node(context.store)
        nodes = [NODE.decode(item.body) for item in context.store.list(("", "nodes")).items]
        if call.name:
            node = next((one for one in nodes if one.metadata.name == call.name), None)
            if node is None:
                raise not_found("", "nodes", call.name)
            return _answer(self._node(node, used, stamp))
        return _list("NodeMetricsList", (self._node(node, used, stamp) for node in _chosen(call, nodes)))

    def _by_node(self, store: WatchCache) -> dict[str, Amount]:
        total: dict[str, Amount] = {}
        for item in store.list(("", "pods")).items:
            pod = POD.decode(item.body)
            if pod.is_ready and pod.spec.node_name:
                one, before = self._usage.of(pod), total.get(pod.spec.node_name, Amount(0, 0))
                total[pod.spec.node_name] = Amount(before.cpu + one.cpu, before.memory + one.memory)
        return total

    def _pod(self, pod: Pod, stamp: str) -> JSONObject:
        used = self._usage.of(pod)
        share = max(1, len(pod.spec.containers))
        containers = [
            {"name": c.name, "usage": _amounts(Amount(used.cpu // share, used.memory // share))}
            for c in pod.spec.containers
        ]
        name, namespace, labels = pod.metadata.name, pod.metadata.namespace, pod.metadata.labels or {}
        meta = {"name": name, "namespace": namespace, "labels": labels, "creationTimestamp": stamp}
        return _object("PodMetrics", meta, stamp) | {"containers": containers}

    def _node(self, node: Node, used: dict[str, Amount], stamp: str) -> JSONObject:
        meta = {"name": node.metadata.name, "labels": node.metadata.labels or {}, "creationTimestamp": stamp}
        return _object("NodeMetrics", meta, stamp) | {"usage": _amounts(used.get(node.metadata.name, Amount(0, 0)))}


def _chosen(call: Call, found: Iterable[Measured]) -> list[Measured]:
    selector = label_selector.parse(call.params.get("labelSelector", ""))
    return [one for one in found if selector.matches(one.metadata.labels or {})]


def _object(kind: str, metadata: JSONObject, stamp: str) -> JSONObject:
    return {
        "kind": kind,
        "apiVersion": f"{GROUP}/{VERSION}",
        "metadata": metadata,
        "timestamp": stamp,
        "window": "15s",
    }


def _amounts(amount: Amount) -> JSONObject:
    return {"cpu": f"{amount.cpu}m", "memory": f"{amount.memory // 1024}Ki"}


def _answer(obj: JSONObject) -> Answer:
    return Answer(200, orjson.dumps(obj))


def _list(kind: str, items: Iterable[JSONObject]) -> Answer:
    return _answer({"kind": kind, "apiVersion": f"{GROUP}/{VERSION}", "metadata": {}, "items": list(items)})
